package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Outputs that cannot be written are found before any work, and by the names that they
// were given.
func TestUnusableOutputs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeFile(t, file, "kept")
	for _, command := range []string{
		"report RUNS -o DIR", "report RUNS -o DIR/none/x", "report RUNS -o FILE/x", "report RUNS -o /proc/x",
		"report RUNS --plots FILE", "report RUNS --plots FILE/x", "report RUNS --plots /proc/sys/x/y",
		"report RUNS --profile-out DIR", "report RUNS --profile-out DIR/none/x", "report RUNS --profile-out FILE/x",
		"routes --count 10 -o DIR", "routes --count 10 -o DIR/none/x", "routes --count 10 -o FILE/x", "routes --count 10 --profile --profile-out DIR",
		"suite quick -o DIR", "suite quick -o FILE/x",
	} {
		line := strings.NewReplacer("RUNS", runsFile, "DIR", dir, "FILE", file).Replace(command)
		code, stdout, stderr := call(strings.Fields(line)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "tmp.") {
			t.Errorf("%s: exit %d, stdout %.80q, stderr %q", command, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
}

// Who may not write is told at once.
func TestOutputsWithoutPermission(t *testing.T) {
	text, err := os.ReadFile(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := openDir(t)
	runs, locked := filepath.Join(dir, "runs"), filepath.Join(dir, "locked")
	writeFile(t, runs, string(text))
	if err := os.Mkdir(locked, 0o755); err != nil { // root's
		t.Fatal(err)
	}
	for _, command := range []string{"report RUNS -o LOCKED/x", "report RUNS --plots LOCKED", "report RUNS --plots LOCKED/x/y", "report RUNS --profile-out LOCKED/x", "routes --count 10 -o LOCKED/x", "routes --count 10 -o RUNS"} {
		line := strings.NewReplacer("RUNS", runs, "LOCKED", locked).Replace(command)
		code, stdout, stderr := execute(t, true, strings.Fields(line)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "permission denied") {
			t.Errorf("%s: exit %d, stdout %.80q, stderr %q", command, code, stdout, stderr)
		}
	}
}
