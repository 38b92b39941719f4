package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fibchurn/vm/vmtest"
)

// An output that is an input, or another output, by whatever name is refused, and
// nothing is touched.
func TestOutputsAreKeptApart(t *testing.T) {
	runs, err := filepath.Abs(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	copyFile(t, runs, "x", 0o644)
	copyFile(t, runs, "other", 0o644)
	writeFile(t, "pf", "10.0.0.0/8\n")
	writeFile(t, "su", "routes --prefixes pf\n")
	writeFile(t, "old", "fibchurn: boot 1 of 1: a\n")
	copyFile(t, vmtest.Kernel(t, vmtest.UML), "k", 0o755)
	for _, err := range []error{os.Symlink("x", "soft"), os.Link("x", "hard"), os.Symlink("none", "dangling"), os.Mkdir("d", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t)
	for _, test := range []struct{ args, want string }{
		{"report x -o x", "--output x: is the same file as input x"},
		{"report x other -o ./other", "--output ./other: is the same file as input other"},
		{"report x -o soft", "--output soft"},
		{"report soft -o hard", "--output hard"},
		{"report x -o d/../x", "--output d/../x"},
		{"report x --profile-out x", "--profile-out x"},
		{"report x -o new --profile-out ./new", "--profile-out ./new: is the same file as --output new"},
		{"report x -o none --profile-out dangling", "--profile-out dangling"},
		{"routes --profile --profile-out new -o new", "--profile-out new"},
		{"routes --prefixes pf -o pf", "--output pf: is the same file as --prefixes pf"},
		{"lookup --prefixes pf --profile --profile-out pf", "--profile-out pf"},
		{"forward --prefixes pf -o pf", "--output pf"},
		{"suite su -o su", "--output su: is the same file as the suite's file su"},
		{"suite su -o pf", "--output pf: is the same file as the suite's file pf"},
		{"vm --kernel k=a --console k -- doctor", "--console: k: is not empty, and not of consoles"},
		{"vm --kernel k=a -o k -- doctor", "--output k: is the same file as --kernel k"},
		{"vm --kernel k=a --console c -o ./c -- doctor", "--console c: is the same file as --output ./c"},
		{"vm --kernel k=a --console old -o old -- doctor", "--console old: is the same file as --output old"},
		{"vm --kernel k=a --console x -- doctor", "--console: x: is not empty, and not of consoles"},
		{"vm --kernel k=a -o pf -- routes --prefixes pf", "--output pf: is the same file as the guest's file pf"},
	} {
		code, stdout, stderr := call(strings.Fields(test.args)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %d, stdout %.80q, stderr %q, want %q", test.args, code, stdout, stderr, test.want)
		}
	}
	if after := contents(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// contents is every file of the working directory, with what is in it.
func contents(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, _ := os.ReadFile(name) // of a directory, nothing
		fmt.Fprintf(&all, "%s %x\n", name, sha256.Sum256(text))
	}
	return all.String()
}

// What is no regular file may be given twice, and so may files that differ.
func TestSameFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "a", "")
	writeFile(t, "b", "")
	for _, pair := range [][2]string{{"a", "b"}, {"a", "new"}, {"new", "newer"}, {"nodir/x", "nodir2/x"}, {"/dev/null", "/dev/null"}, {"/dev/stdout", "/dev/stdout"}, {"", ""}, {"a", ""}, {".", "."}} {
		if sameFile(pair[0], pair[1]) {
			t.Errorf("%q are one", pair)
		}
	}
	if !sameFile("a", "./a") {
		t.Error("a is not a")
	}
}

// The table must not run over the lines where both go to one file.
func TestStandardOutputIsKeptApart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "both")
	for _, stream := range []string{"output", "error"} {
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd := exec.Command(binary(t), "routes", "--count", "10", "--runs", "1", "-o", name)
		var other bytes.Buffer
		cmd.Stdout, cmd.Stderr = file, &other
		if stream == "error" {
			cmd.Stdout, cmd.Stderr = &other, file
		}
		err = cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if said := string(text) + other.String(); err != nil || cmd.ProcessState.ExitCode() != exitUsage || !strings.HasSuffix(said, "is the same file as standard "+stream+", and would spoil it\n") {
			t.Errorf("%v, %v, %q", cmd.ProcessState, err, said)
		}
	}
}
