package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// writeSuite writes a suite and returns its path.
func writeSuite(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my.suite")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestParseSuite(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want [][]string // nil: no line
	}{
		"comments and blanks":   {"# one\n\n  \t\n routes --count 5 # two\n#routes\n", [][]string{nil, nil, nil, {"routes", "--count", "5"}, nil}},
		"no newline at the end": {"routes\ndelete-iface", [][]string{{"routes"}, {"delete-iface"}}},
		"CRLF":                  {"# c\r\nroutes --count 5\r\n\r\n", [][]string{nil, {"routes", "--count", "5"}, nil}},
		"byte order mark":       {"\ufeffroutes\n", [][]string{{"routes"}}},
		"quotes":                {`routes "a b" 'c "d" #e' f\ g ''` + "\n", [][]string{{"routes", "a b", `c "d" #e`, "f g", ""}}},
		"a hash in a word":      {"routes a#b\n", [][]string{{"routes", "a#b"}}},
		"nothing is expanded":   {"routes $HOME ~ * `id`\n", [][]string{{"routes", "$HOME", "~", "*", "`id`"}}},
		"tabs":                  {"routes\t--count\t5\n", [][]string{{"routes", "--count", "5"}}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := parseSuite("x", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got := make([][]string, len(test.want))
			for _, l := range lines {
				got[l.number-1] = l.args
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A bad suite gives one line that names the file and its line, exit 2, and no work.
func TestSuiteUsageErrors(t *testing.T) {
	const good = "delete-iface --subnets 8 --runs 1\n"
	for name, test := range map[string]struct {
		text string
		want string // part of the message; a leading ":N:" follows the file's name
	}{
		"empty":                    {"", ":1: the suite ends without a command"},
		"only comments":            {"# a\n\n  # b\n", ":3: the suite ends without a command"},
		"not UTF-8":                {good + "routes --count \xff5\n", ":2: the line is not UTF-8 text"},
		"NUL":                      {good + "routes \x00\n", ":2: the line has a control character"},
		"escape":                   {good + "routes \x1b[31m\n", ":2: the line has a control character"},
		"CR inside":                {good + "routes\r--count 5\n", ":2: the line has a control character"},
		"very long":                {good + "routes " + strings.Repeat("x", longestSuiteLine) + "\n", ":2: the line is longer than 65536 bytes"},
		"newline by escape":        {good + `routes a\nb` + "\n", ":2: an argument has a tab or"},
		"quoted tab":               {good + "routes 'a\tb'\n", ":2: an argument has a tab or"},
		"open quote":               {good + "routes 'a\nb'\n", ":2: a quote, a bracket or a backslash is left open"},
		"continued":                {good + "routes \\\n--count 5\n", ":2: a quote, a bracket or a backslash is left open"},
		"semicolon":                {good + "routes --count 5; id\n", ":2: ';': no shell reads a suite"},
		"redirection":              {good + "routes --count 5 >/etc/passwd\n", ":2: '>': no shell reads a suite"},
		"pipe":                     {good + "routes|id\n", ":2: '|': no shell reads a suite"},
		"substitution":             {good + "routes $(id)\n", `:2: routes: unexpected argument "$(id)"`},
		"backticks":                {good + "routes `id`\n", ":2: routes: unexpected argument \"`id`\""},
		"unknown command":          {good + "\nfrobnicate\n", `:3: unknown command "frobnicate"`},
		"the program's own name":   {"fibchurn routes\n", `:1: unknown command "fibchurn"`},
		"flags alone":              {good + "--runs 3\n", ":2: no command in --runs 3"},
		"help":                     {good + "help\n", ":2: no command in help"},
		"help of a command":        {good + "routes --help\n", ":2: no command in routes --help"},
		"unknown flag":             {good + "routes --cout 5\n", ":2: unknown flag -cout"},
		"bad value":                {good + "delete-iface --subnets 0\n", ":2: --subnets 0: must be at least 1"},
		"stray argument":           {good + "delete-iface stray\n", `:2: delete-iface: unexpected argument "stray"`},
		"empty argument":           {good + "delete-iface ''\n", `:2: delete-iface: unexpected argument ""`},
		"vm":                       {good + "vm --kernel x -- doctor\n", ":2: vm measures nothing"},
		"suite":                    {good + "suite quick\n", ":2: suite measures nothing"},
		"compare":                  {good + "compare a b\n", ":2: compare measures nothing"},
		"doctor":                   {good + "doctor\n", ":2: doctor measures nothing"},
		"-o":                       {good + "routes -o x\n", ":2: --output: a line of a suite has none of its own"},
		"-o before the command":    {good + "-o x routes\n", ":2: --output: a line of a suite has none of its own"},
		"-o of nothing":            {good + "routes --output=\n", ":2: --output: a line of a suite has none of its own"},
		"-j":                       {good + "routes -qj\n", ":2: --json: a line of a suite has none of its own"},
		"a file that is not there": {good + "routes --prefixes /no/such/list\n", ":2: --prefixes: /no/such/list: open: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path, out := writeSuite(t, test.text), filepath.Join(t.TempDir(), "out.jsonl")
			mustBeRefused(t, path+test.want, "suite", "-o", out, path)
			if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
				t.Error("a suite that was refused left its output file behind")
			}
		})
	}
}

func mustBeRefused(t *testing.T, want string, args ...string) {
	t.Helper()
	code, stdout, stderr := call(args...)
	if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: ") || !strings.Contains(stderr, want) {
		t.Errorf("%q: exit %d, stdout %q, stderr %q; want exit 2 and one line with %q", args, code, stdout, stderr, want)
	}
}

func TestSuiteCommandLineErrors(t *testing.T) {
	good := writeSuite(t, "delete-iface --subnets 8 --runs 1\n")
	huge := writeSuite(t, strings.Repeat("# a comment\n", longestSuite/12+1))
	for args, want := range map[string]string{
		"suite":                             "suite: no file given; built in are quick, nightly, reference",
		"suite /no/such/file":               "suite: stat /no/such/file: no such file or directory; built in are quick",
		"suite " + filepath.Dir(good):       "not a regular file",
		"suite /dev/zero":                   "not a regular file",
		"suite " + huge:                     "longer than 1048576 bytes",
		"suite quick nightly":               `unexpected argument "nightly"`,
		"suite quick --frobnicate":          "unknown flag -frobnicate",
		"suite --runs 3 quick":              "unknown flag -runs",
		"--runs 3 suite quick":              "--runs is for the lines of a suite",
		"suite quick --color red":           "--color red: must be",
		"suite -o /no/such/dir/x " + good:   "--output",
		"suite --list nothing":              "suite --list nothing: built in are quick",
		"suite --list quick nightly":        `unexpected argument "nightly"`,
		"suite quick -o":                    "flag needs an argument: -o",
		"vm --kernel x -- suite":            "in the guest: suite: no file given",
		"vm --kernel x -- suite -o y quick": "a guest keeps no files",
		"vm --kernel x -- suite /no/such/z": "in the guest: suite: stat /no/such/z",
	} {
		t.Run(args, func(t *testing.T) { mustBeRefused(t, want, strings.Fields(args)...) })
	}
}

func TestBuiltinSuites(t *testing.T) {
	for _, name := range builtinNames() {
		s, err := loadSuite(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !s.builtin || len(s.files) > 0 {
			t.Errorf("%s needs the files %q", name, s.files)
		}
		code, stdout, stderr := call("suite", "--list", name)
		if text, _ := builtinText(name); code != 0 || stdout != string(text) || stderr != "" {
			t.Errorf("--list %s: exit %d, %s", name, code, stderr)
		}
	}
	if files, err := builtinSuites.ReadDir("suites"); err != nil || len(files) != len(builtinNames()) {
		t.Errorf("%d files, %v", len(files), err)
	}
	if code, stdout, _ := call("suite", "--list"); code != 0 || strings.Count(stdout, "\n") != len(builtinNames()) || !strings.HasPrefix(stdout, "quick ") {
		t.Errorf("--list: exit %d, %s", code, stdout)
	}
}

// What a guest needs: the suite's file, and those that its lines name.
func TestSuiteFilesForGuests(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("192.0.2.0/24\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := writeSuite(t, "routes --count 1 --prefixes "+list+"\nroutes --count 5\n")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"suite", path, "--ktap"}, []string{path, list}},
		{[]string{"suite", "--force", "quick"}, nil},
		{[]string{"routes", "--prefixes", list}, []string{list}},
	} {
		files, err := guestCommand(test.args)
		if diff := cmp.Diff(test.want, files); err != nil || diff != "" {
			t.Errorf("%q: %v %s", test.args, err, diff)
		}
	}
}

// Whatever is read, lines are what they promise to be, and splitting them again after
// quoting gives the same.
func FuzzParseSuite(f *testing.F) {
	for _, seed := range []string{"", "# c\nroutes --count 5\n", "a 'b c' \"d\\\"e\" f\\ g", "a\r\nb\r\n", "a;b", "a $(b) `c`", "\ufeffa", "a\\", "\xff", "a ''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := parseSuite("x", text)
		var usage *usageError
		if err != nil && !errors.As(err, &usage) || err == nil && len(lines) == 0 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		for i, l := range lines {
			if l.number < 1 || i > 0 && l.number <= lines[i-1].number || len(l.args) == 0 {
				t.Fatalf("line %+v", l)
			}
			var quoted []string
			for _, arg := range l.args {
				if strings.ContainsFunc(arg, unicode.IsControl) {
					t.Fatalf("a control character in %q", arg)
				}
				quoted = append(quoted, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
			}
			again, err := parseSuiteLine([]byte(strings.Join(quoted, " ")))
			if err != nil && len(strings.Join(quoted, " ")) <= longestSuiteLine || err == nil && !cmp.Equal(again.args, l.args) {
				t.Fatalf("%q became %v, %v", l.args, again, err)
			}
		}
	})
}
