package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
	"fibchurn/vm/vmtest"
)

// documents are the README and everything under docs.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	return append([]string{"../../README.md"}, files...)
}

// A documented command, and its output where the document shows it directly below.
type documented struct{ line, output string }

// commands are the lines of a document's fences marked sh, continued lines joined. A
// fence marked text directly below one is the output of its last command.
func commands(text string) []documented {
	var found []documented
	fence := regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		joined := strings.ReplaceAll(m[1], "\\\n", " ")
		for line := range strings.Lines(joined) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				found = append(found, documented{line: line})
			}
		}
		found[len(found)-1].output = m[2]
	}
	return found
}

// tableShape is what stays of an output's tables from one execution to the next: the
// headings, and the words that their rows begin with. Rows that begin with one word, as
// those of functions in a profile, are chance.
func tableShape(output string) []string {
	var shape []string
	figure := regexp.MustCompile(`^([-+<]?\d[\d.,]*|[~-])$`)
	digits := regexp.MustCompile(`\d+`)
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if !strings.Contains(line, "  ") || strings.HasPrefix(line, "warning:") {
			continue
		}
		words := strings.Fields(line)
		for i, w := range words[1:] {
			if figure.MatchString(w) && (i+2 == len(words) || words[i+2] != "%") { // "95 % interval" is a heading
				words = words[:i+1]
				break
			}
		}
		if len(words) > 1 {
			shape = append(shape, digits.ReplaceAllString(strings.Join(words, " "), "#"))
		}
	}
	return shape
}

// Every command that README and docs show is executed, in the order of the
// document and in one directory, so that later ones find the files of earlier ones. The
// tables shown below one are those that it prints.
func TestDocumentedCommands(t *testing.T) {
	netnstest.Root(t)
	// What continuous integration executes itself, or needs another machine for.
	elsewhere := []string{"make run", "make test", "make bench", "make install"}
	path := filepath.Dir(binary(t)) + ":" + os.Getenv("PATH")
	for _, document := range documents(t) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if filepath.Base(document) == "tour.md" {
			fromClone(t, dir)
		}
		for i, c := range commands(string(text)) {
			line := c.line
			if slices.Contains(elsewhere, line) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(document), i+1), func(t *testing.T) {
				cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", `sudo() { "$@"; }; `+line)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+path)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s\n%v\n%s", line, err, out)
				}
				got := tableShape(string(out))
				for _, want := range tableShape(c.output) {
					if !slices.Contains(got, want) {
						t.Errorf("%s: the document shows a line %q, which is not printed:\n%s", line, want, out)
					}
				}
			})
		}
	}
}

// fromClone makes a directory one in which the tour's commands find what they name: the
// documents, and the place where the kernels are built.
func fromClone(t *testing.T, dir string) {
	t.Helper()
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := vmtest.Tour()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"docs": docs, "kernels": kernels} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Every flag and command of the program is written about in README or docs.
func TestEverythingIsDocumented(t *testing.T) {
	var text strings.Builder
	for _, document := range documents(t) {
		b, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	app := (&program{}).app()
	for _, command := range app.Commands {
		if !strings.Contains(text.String(), "fibchurn "+command.Name) {
			t.Errorf("fibchurn %s is not documented", command.Name)
		}
		for _, flag := range command.Flags {
			name := flag.Names()[0]
			if len(name) == 1 {
				name = "-" + name
			} else {
				name = "--" + name
			}
			if !strings.Contains(text.String(), "`"+name) && !strings.Contains(text.String(), " "+name) {
				t.Errorf("fibchurn %s: %s is not documented", command.Name, name)
			}
		}
	}
}
