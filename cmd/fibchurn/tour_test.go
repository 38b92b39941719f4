package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const tour = "../../docs/tour/"

// The script refuses what it cannot use before it fetches or makes anything.
func TestTourScriptRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "usage: build-kernels.sh DIR [PATCH]"},
		{[]string{dir, "a", "b"}, "usage: build-kernels.sh DIR [PATCH]"},
		{[]string{dir, "/no/such/patch"}, "/no/such/patch: cannot be read"},
	} {
		cmd := exec.Command(tour+"build-kernels.sh", test.args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(out), test.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: exit %d, %s", test.args, code, out)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it has made the directory")
	}
}

// The options are such as the script can look for in the kernel's configuration, and
// the patch applies to what it says it applies to.
func TestTourFiles(t *testing.T) {
	config, err := os.ReadFile(tour + "kernel.config")
	if err != nil {
		t.Fatal(err)
	}
	option := regexp.MustCompile(`^(#.*|CONFIG_[A-Z0-9_]+=y)?$`)
	seen := map[string]bool{}
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSuffix(line, "\n")
		if !option.MatchString(line) || strings.HasPrefix(line, "C") && seen[line] {
			t.Errorf("kernel.config: %q", line)
		}
		seen[line] = true
	}

	// What the hunk says was there before.
	patch, err := os.ReadFile(tour + "fib_trie.patch")
	if err != nil {
		t.Fatal(err)
	}
	_, hunk, _ := strings.Cut(string(patch), "\n@@")
	_, hunk, _ = strings.Cut(hunk, "\n")
	var before, after string
	for line := range strings.Lines(hunk) {
		switch line[0] {
		case ' ':
			before, after = before+line[1:], after+line[1:]
		case '-':
			before += line[1:]
		case '+':
			after += line[1:]
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "net/ipv4/fib_trie.c")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, before)
	apply := exec.Command(tool(t, "patch"), "-s", "-p1", "-d", dir)
	apply.Stdin = strings.NewReader(string(patch))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != after || !strings.Contains(before, "node_pull_suffix(tp, tp->pos)") || strings.Contains(after, "node_pull_suffix") {
		t.Errorf("%v: the patch made\n%s", err, got)
	}
}
