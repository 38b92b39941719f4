package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fibchurn/internal/usage"
)

// tool is a program that the Makefile's target tools installs.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; make tools installs it", err)
	}
	return path
}

func manualPage(t testing.TB) (file, text string) {
	t.Helper()
	code, stdout, stderr := call("man")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	file = filepath.Join(t.TempDir(), "fibchurn.1")
	writeFile(t, file, stdout)
	return file, stdout
}

// Neither of the two formatters complains of the page.
func TestManualIsClean(t *testing.T) {
	file, _ := manualPage(t)
	for _, command := range [][]string{
		{tool(t, "mandoc"), "-Tlint", "-Wwarning", file},
		{tool(t, "groff"), "-man", "-ww", "-Tutf8", "-z", file},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", command[0], err, out)
		}
	}
}

// What a reader sees has every section, and every command, flag and exit status.
func TestManualIsComplete(t *testing.T) {
	file, _ := manualPage(t)
	out, err := exec.Command(tool(t, "mandoc"), "-Tascii", "-Owidth=78", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(".\b").ReplaceAllString(string(out), "") // bold and underlined
	for _, section := range []string{
		"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
	} {
		if !strings.Contains(text, "\n"+section+"\n") {
			t.Errorf("no section %s", section)
		}
	}
	_, statuses, _ := strings.Cut(text, "\nEXIT STATUS\n")
	statuses, _, _ = strings.Cut(statuses, "\nENVIRONMENT\n")
	for _, status := range []string{"0", "1", "2", "4", "130"} {
		if !regexp.MustCompile(`(?m)^ +` + status + `\b`).MatchString(statuses) {
			t.Errorf("no exit status %s in %s", status, statuses)
		}
	}
	for _, c := range described((&program{}).app()).Commands {
		if !regexp.MustCompile(`(?m)^ {1,4}`+c.Name+`$`).MatchString(text) || !strings.Contains(text, "fibchurn "+c.Name) {
			t.Errorf("no subsection of %s", c.Name)
		}
		for _, o := range c.Options {
			for _, name := range o.Names {
				if dashed := dashed(name); !regexp.MustCompile(`(?m)(^|[ ,])` + dashed + `([ ,.]|$)`).MatchString(text) {
					t.Errorf("%s: nothing of %s", c.Name, dashed)
				}
			}
		}
	}
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// No line of any help text is wider than a terminal of 80 columns, and every flag is
// in it, once.
func TestHelpFitsTerminals(t *testing.T) {
	p := described((&program{}).app())
	texts := map[string][]usage.Option{"": p.Options}
	for _, c := range p.Commands {
		if c.Name != "help" {
			texts[c.Name] = c.Options
		}
	}
	for command, options := range texts {
		code, stdout, stderr := call(append(strings.Fields(command), "--help")...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s --help: exit %d, %s", command, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s --help: wider than 80 columns: %s", command, line)
			}
		}
		for _, o := range options {
			in := regexp.MustCompile(`(?m)^  (-., )*(--\S+, )*` + dashed(o.Names[0]) + `( |,|$)`)
			if found := in.FindAllString(stdout, -1); len(found) != 1 {
				t.Errorf("%s --help: %s is there %d times", command, dashed(o.Names[0]), len(found))
			}
		}
		if _, again, _ := call(append([]string{"help"}, strings.Fields(command)...)...); again != stdout {
			t.Errorf("help %s differs from %s --help", command, command)
		}
	}
}
