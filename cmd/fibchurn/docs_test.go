package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
// those of functions in a profile, are chance, and so is the unit of a time.
func tableShape(output string) []string {
	var shape []string
	figure := regexp.MustCompile(`^([-+<]?\d[\d.,]*|[~-])$`)
	digits := regexp.MustCompile(`\d+`)
	unit := regexp.MustCompile(`\b[num]?s\b`)
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
			line = digits.ReplaceAllString(strings.Join(words, " "), "#")
			shape = append(shape, unit.ReplaceAllString(line, "s"))
		}
	}
	return shape
}

// Every command that README and docs show is executed, those of one document in its
// order and in one directory, so that later ones find the files of earlier ones. The
// tables shown below one are those that it prints. Documents do not wait for each other:
// nothing here depends on how long a command takes.
func TestDocumentedCommands(t *testing.T) {
	netnstest.Root(t)
	t.Parallel()
	path := filepath.Dir(binary(t)) + ":" + os.Getenv("PATH")
	for _, document := range longestFirst(documents(t)) {
		b, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		t.Run(filepath.Base(document), func(t *testing.T) {
			all := commands(text)
			if !slices.ContainsFunc(all, func(c documented) bool { return strings.Contains(c.line, "--allow-host-sysctl") }) {
				t.Parallel() // the host's sysctl would be in the records of others
			}
			dir := t.TempDir()
			if filepath.Base(document) == "tour.md" {
				fromClone(t, dir)
			}
			for i, c := range all {
				if !slices.Contains(elsewhere, c.line) {
					t.Run(strconv.Itoa(i+1), func(t *testing.T) { c.mustDo(t, dir, path) })
				}
			}
		})
	}
}

// elsewhere is what continuous integration executes itself, or needs another machine for.
var elsewhere = []string{"make run", "make test", "make bench", "make install"}

// longestFirst has the tour, which builds kernels, begin before the others.
func longestFirst(documents []string) []string {
	i := slices.IndexFunc(documents, func(d string) bool { return filepath.Base(d) == "tour.md" })
	return slices.Concat(documents[i:i+1], documents[:i], documents[i+1:])
}

// mustDo executes the command, and compares the tables that it prints with those that
// the document shows.
func (c documented) mustDo(t *testing.T, dir, path string) {
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", `sudo() { "$@"; }; `+c.line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s\n%v\n%s", c.line, err, out)
	}
	got := tableShape(string(out))
	for _, want := range tableShape(c.output) {
		if !slices.Contains(got, want) {
			t.Errorf("%s: the document shows a line %q, which is not printed:\n%s", c.line, want, out)
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
