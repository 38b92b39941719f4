package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/ns"
)

// call runs the program in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(append([]string{"fibchurn"}, args...), &out, &err)
	return code, out.String(), err.String()
}

// Bad input gives one line on stderr, nothing on stdout, exit 2, and no work.
func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.jsonl")
	for _, test := range []struct {
		args string // split at spaces
		want string // part of the line
	}{
		{"delete-iface --subnets 0", "--subnets 0: must be at least 1"},
		{"delete-iface --subnets -5", `"-5" is no count`},
		{"delete-iface --subnets 81x92", `"81x92" is no count`},
		{"delete-iface --subnets 8.5k", `"8.5k" is no count`},
		{"delete-iface --subnets k", `"k" is no count`},
		{"delete-iface --subnets 8kk", `"8kk" is no count`},
		{"delete-iface --subnets 1ik", `"1ik" is no count`},
		{"delete-iface --subnets 99999999999999999999", "is no count"},
		{"delete-iface --subnets 9G", "is more than 2147483647"},
		{"delete-iface --subnets 8M", "there are 7667712 IPv4 /24 subnets"},
		{"delete-iface --subnets", "flag needs an argument"},
		{"delete-iface --subnets= ", "is no count"},
		{"addrs --count=", "--count: the value is empty"},
		{"delete-iface --subnet 8192", "unknown flag -subnet"},
		{"delete-iface --prefix-len 33", "--prefix-len 33: must be 8 to 32"},
		{"delete-iface --prefix-len 0", "--prefix-len 0"},
		{"delete-iface --prefix-len -1", "for flag -prefix-len: must be a number"},
		{"delete-iface --prefix-len x", "invalid value"},
		{"delete-iface -6 --prefix-len 129", "must be 32 to 128 for IPv6"},
		{"delete-iface -4 -6 --prefix-len 64", "must be 8 to 32 for IPv4"},
		{"delete-iface --as secondaries --subnets 255 --prefix-len 24", "an IPv4 /24 holds 254 addresses"},
		{"delete-iface --as routs", "--as routs: must be one of"},
		{"delete-iface --as routes --as routes", "given twice"},
		{"delete-iface --as routes,empty,routes", "given twice"},
		{"delete-iface --as=", "--as: the value is empty"},
		{"delete-iface --link-kind dumy", "--link-kind dumy: must be auto, dummy"},
		{"delete-iface --setup sideways", "--setup sideways"},
		{"delete-iface --ifaces 0", "--ifaces 0: must be 1 to"},
		{"delete-iface --ifaces 1G", "--ifaces 1000000000: must be 1 to"},
		{"delete-iface --runs 0", "--runs 0: must be 1 to"},
		{"delete-iface --runs 2M", "--runs 2000000: must be 1 to"},
		{"delete-iface --warmup 2M", "--warmup 2000000"},
		{"delete-iface --warmup x", "is no count"},
		{"delete-iface --seed -1", "invalid value"},
		{"delete-iface --color sometimes", "--color sometimes: must be auto, always or never"},
		{"delete-iface 8192", `unexpected argument "8192"`},
		{"delete-iface --subnets 8 stray", `unexpected argument "stray"`},
		{"delete-iface -o /no/such/directory/out.jsonl", "--output"},
		{"delete-iface -o " + dir, "--output"},
		{"delete-iface --subnets 0 -o " + file, "--subnets 0"},
		{"--runs 0 delete-iface", "--runs 0: must be 1 to"},
		{"--nonsense delete-iface", "unknown flag -nonsense"},
		{"doctor everything", `unexpected argument "everything"`},
		{"doctor --subnets 3", "unknown flag -subnets"},
		{"delet-iface", "did you mean delete-iface?"},
		{"xyzzy", `unknown command "xyzzy"`},
		{"help xyzzy", "xyzzy"},
		{"dsfgsdfg", "; 'fibchurn help' lists all"},
		{"routs", "did you mean routes?"},
		{"delete", "did you mean delete-iface?"},
		{"d", `unknown command "d"; 'fibchurn help'`},
		{" ", `unknown command ""; 'fibchurn help'`},
		{"-4 -6", "no command given"},
		{"--json", "no command given"},
		{"-o x.jsonl", "no command given"},
		{"delete-iface -o=", "--output: the value is empty"},
		{"-o= delete-iface", "--output: the value is empty"},
		{"delete-iface --link-kind=", "--link-kind: the value is empty"},
		{"routes --prefixes=", "--prefixes: the value is empty"},
		{"lookup --src=", "--src: the value is empty"},
		{"vm --kernel= -- doctor", "--kernel: the value is empty"},
		{"vm --console= -- doctor", "--console: the value is empty"},
		{"compare --phase= a b", "--phase: the value is empty"},
		{"suite smoke -o=", "--output: the value is empty"},
		{"delete-iface -o -", "--json prints the lines"},
		{"netns --as bare --routes 5", "--routes 5: --as bare has none"},
		{"netns --as addrs --as empty --routes 5", "--routes 5: --as addrs,empty has none"},
		{"netns --as routes --subnets 5", "--subnets 5: --as routes has none"},
		{"nexthops --routes 0", "--routes 0: must be at least 1"},
		{"nexthops --routes x", `--routes: "x" is no count`},
		{"routes --prefixes /dev/zero", "is not a regular file"},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := call(strings.Split(test.args, " ")...)
			if code != exitUsage {
				t.Errorf("exit %d, want %d", code, exitUsage)
			}
			if stdout != "" {
				t.Errorf("stdout: %s", stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: ") || !strings.Contains(stderr, test.want) {
				t.Errorf("stderr %q, want one line with %q", stderr, test.want)
			}
		})
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("a command line that was refused left its output file behind")
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("boom"), 1},
		{fmt.Errorf("cell addrs: %w", churn.ErrCheck), 1},
		{usageErrorf("what?"), 2},
		{fmt.Errorf("open: %w", &ns.UnsupportedError{What: "a", Why: "b", Help: "c"}), 4},
		{churn.ErrStopped, 130},
		{childExit(4), 4},
	} {
		var stderr bytes.Buffer
		if got := exitCode(test.err, &stderr); got != test.want {
			t.Errorf("%v: exit %d, want %d", test.err, got, test.want)
		}
		if lines := strings.Count(stderr.String(), "\n"); lines > 1 {
			t.Errorf("%v: %d lines", test.err, lines)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "8192": 8192, "8k": 8000, "8K": 8000, "8Ki": 8192, "1M": 1e6, "1Mi": 1 << 20, "1G": 1e9, "1Gi": 1 << 30,
	} {
		if got, err := parseCount(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "+1", "1.5k", "1ki", "1kM", "2G5", "3Gi", "0x10", "1 k", "１"} {
		if got, err := parseCount(text); err == nil {
			t.Errorf("%q gave %d", text, got)
		}
	}
}

// Of all flags that take a text, none takes an empty one.
func TestEmptyValues(t *testing.T) {
	for _, command := range (&program{}).app().Commands {
		for _, f := range command.Flags {
			switch g := f.(type) {
			case *cli.StringFlag, *cli.StringSliceFlag:
			case *cli.GenericFlag:
				if _, ok := g.Value.(*texts); !ok {
					continue
				}
			default:
				continue
			}
			for _, name := range f.Names() {
				dashes := "--"
				if len(name) == 1 {
					dashes = "-"
				}
				code, stdout, stderr := call(command.Name, dashes+name, "")
				if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--"+f.Names()[0]+": the value is empty") {
					t.Errorf("%s %s%s '': exit %d, %s", command.Name, dashes, name, code, stderr)
				}
			}
		}
	}
}

// What help and version could not write is not passed over.
func TestHelpToFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range []string{"--help", "", "help", "delete-iface --help", "--version"} {
		var stderr bytes.Buffer
		code := run(append([]string{"fibchurn"}, strings.Fields(args)...), full, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%q: exit %d, %s", args, code, &stderr)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"flap", "flip", 1}, {"routes", "routs", 1}, {"addrs", "addsr", 2}, {"kitten", "sitting", 3}} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%s, %s: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// The general flags may stand before the command or after it.
func TestGlobalFlagsOnBothSides(t *testing.T) {
	for _, args := range []string{
		"--runs 0 delete-iface", "delete-iface --runs 0", "-r 0 delete-iface --subnets 8", "--runs 7 delete-iface --runs 0",
	} {
		if code, _, stderr := call(strings.Split(args, " ")...); code != exitUsage || !strings.Contains(stderr, "--runs 0") {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "--help", "help", "delete-iface --help", "help delete-iface", "--version"} {
		code, stdout, stderr := call(strings.Fields(args)...)
		if code != 0 || stdout == "" || stderr != "" {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
