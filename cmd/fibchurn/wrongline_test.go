package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/urfave/cli/v2"
)

// wrongLines are command lines that cannot be meant: to every flag of every command no
// value, one of the wrong kind and one out of every range, a flag misspelt, an argument
// too many.
func wrongLines() (lines [][]string) {
	for _, command := range (&program{}).app().Commands {
		add := func(args ...string) { lines = append(lines, append([]string{command.Name}, args...)) }
		for _, f := range command.Flags {
			name := "--" + f.Names()[0]
			if len(f.Names()[0]) == 1 {
				name = "-" + f.Names()[0]
			}
			add("--"+f.Names()[0]+"zz", "1")
			switch f := f.(type) {
			case *cli.BoolFlag:
				add(name + "=perhaps")
				continue
			case *cli.GenericFlag:
				if n, number := f.Value.(*whole); number {
					for _, wrong := range []string{"x", "-1", "+1", "1.5", "1_0", "0x", "0x1_0", "0b1", "1k", " 8", "18446744073709551616"} {
						add(name, wrong)
					}
					if !n.hex {
						add(name, "0x10")
					}
				}
				if _, number := f.Value.(*count); number {
					for _, wrong := range []string{"x", "-1", "1.5", "0x10", "1e3", "8kk", " 8", "99999999999999999999", "3G"} {
						add(name, wrong)
					}
				}
			case *cli.IntFlag, *cli.UintFlag, *cli.Uint64Flag:
				panic(name + ": reads octal numbers and underscores; a whole does not")
			case *cli.Float64Flag:
				for _, wrong := range []string{"x", "NaN", "Inf", "-1", "1e999"} {
					add(name, wrong)
				}
			case *cli.DurationFlag:
				for _, wrong := range []string{"x", "5", "-1s", "9999999h", "NaNs"} {
					add(name, wrong)
				}
			}
			add(name)     // no value
			add(name, "") // an empty one, or no number
		}
		if measures(command) || command.Name == "doctor" || command.Name == "man" {
			add("stray")
			add("--", "stray")
		}
	}
	for _, line := range []string{
		"suite", "suite no-such-suite", "suite quick quick", "suite quick --runs 1", "suite /dev/zero", "completion", "completion tcsh",
		"completion bash zsh", "man page", "doctor 1", "compare", "compare x", "compare /nonexistent /nonexistent", "compare --by nonsense /dev/null",
		"compare --by environment. /dev/null /dev/null", "compare --alpha 0 a b", "compare --alpha 1 a b", "compare --fail-above -5% a b",
		"compare --fail-above NaN a b", "compare --fail-above Inf a b", "compare --fail-above 1e7 a b", "compare --metric nonsense a b",
		"report", "report /nonexistent", "report /dev/null", "report --format nonsense /dev/null", "report --color pink /dev/null", "report -o - /dev/null",
		"routes --prefixes /nonexistent", "routes --prefixes /dev/null", "routes --layout nonsense", "routes --order nonsense", "routes --ack nonsense",
		"flap --rate 0", "flap --rate -1", "flap --rate 1.5", "flap --rate fast", "flap --duration 0s", "lookup --rate 0", "lookup --churn-rate x",
		"lookup --probe nonsense", "lookup --keys nonsense", "lookup --under nonsense", "resize --pattern nonsense", "netns --as nonsense",
		"delete-iface --profile --profile-hz 0", "delete-iface --profile --profile-scope galaxy", "delete-iface --profile-out x",
		"delete-iface --sync-mem 1M", "delete-iface --sync-mem 1 --allow-host-sysctl", "delete-iface --sync-mem 1G --allow-host-sysctl",
		"delete-iface --format", "delete-iface --format nonsense", "delete-iface -j --format text", "--4 --5", "-", "-x", "---", "=",
		"delete-iface\x1b[31m", "delete-iface --as \x1b[31m", "report \x1b]0;x\x07", "compare a\u009b b\u202e", "delete-iface --as a\nb",
		"vm -- suite none", "vm --kernel /dev/null -- doctor", "vm --kernel /etc/passwd=x -- doctor", "vm --kernel /proc/self/exe=x -- doctor",
	} {
		lines = append(lines, strings.Split(line, " "))
	}
	return lines
}

// Of command lines that cannot be meant all get one line, on stderr, and exit 2, and
// none starts work: no file is made, no namespace entered, no process left.
func TestWrongCommandLines(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", temporary)
	before := threadNamespaces(t)
	lines := wrongLines()
	for i, args := range lines {
		tries := [][]string{args}
		if i%8 == 0 {
			tries = append(tries, append([]string{"-o", "out.jsonl", "-q"}, args...))
		}
		for _, line := range tries {
			code, stdout, stderr := call(line...)
			if code != exitUsage || stdout != "" {
				t.Errorf("%q: exit %d, stdout %.80q, stderr %q", line, code, stdout, stderr)
			}
			mustBeOneLine(t, line, stderr)
		}
	}
	for _, place := range []string{dir, temporary} {
		if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	for namespace := range threadNamespaces(t) {
		if !before[namespace] {
			t.Errorf("a thread is in %s", namespace)
		}
	}
	if len(lines) < 200 {
		t.Errorf("only %d command lines", len(lines))
	}
	t.Logf("%d command lines", len(lines))
}

func mustBeOneLine(t *testing.T, args []string, stderr string) {
	t.Helper()
	text, ended := strings.CutSuffix(stderr, "\n")
	if !ended || !strings.HasPrefix(text, "fibchurn: ") || len(text) > 1000 ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		t.Errorf("%q: stderr %q is not one line", args, stderr)
	}
}

// threadNamespaces are the network namespaces that threads of this process are in.
func threadNamespaces(t *testing.T) map[string]bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			found[target] = true
		}
	}
	return found
}

// FuzzCommandLine checks whatever command line: what is refused is refused in one line,
// and nothing is made.
func FuzzCommandLine(f *testing.F) {
	for i, args := range wrongLines() {
		if i%20 == 0 {
			f.Add(strings.Join(args, "\x00"))
		}
	}
	for _, line := range []string{
		"delete-iface --subnets 8k -6 --as routes,empty", "lookup --rate 1k --duration 1s --probe bpf", "-4r 3 flap --rate max", "suite quick",
		"resize --runs 2", "netns --as bare", "nexthops --routes 8Ki", "routes --count 1M --layout dfz",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		for _, arg := range args { // files of this machine are no part of it
			if strings.ContainsAny(arg, "/.") {
				return
			}
		}
		_, _, err := checkCommand(args, func(c *cli.Context) error {
			if !measures(c.Command) {
				return usageErrorf("not here")
			}
			return nil
		})
		var stderr bytes.Buffer
		if code := exitCode(err, &stderr); code == exitFailed {
			t.Errorf("%q: %s", args, &stderr)
		} else if code != exitOK {
			mustBeOneLine(t, args, truncated(stderr.String()))
		}
	})
}

// truncated: an error quotes what was given, however long that is.
func truncated(line string) string {
	if len(line) > 900 {
		return line[:400] + fmt.Sprint(len(line)) + line[len(line)-400:]
	}
	return line
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb é µs\u00a0표": "a\tb é µs\u00a0표", "\x1b[31m": `\x1b[31m`, "\u009b": `\u009b`, "a\nb\r": `a\nb\r`, "\u202e": `\u202e`, "\x00\x7f": `\x00\x7f`,
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		var out bytes.Buffer
		if n, err := (&harmlessWriter{&out}).Write([]byte(text + "\n")); n != len(text)+1 || err != nil || out.String() != want+"\n" {
			t.Errorf("%q is written as %q: %d, %v", text, &out, n, err)
		}
	}
}
