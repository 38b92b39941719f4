package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
)

// A results file that is removed during the session is an error, also where each line
// of a suite would make it anew.
func TestResultsFileIsRemoved(t *testing.T) {
	netnstest.Root(t)
	const line = "delete-iface --as empty --runs 30 --warmup 0"
	dir := t.TempDir()
	suite, file := filepath.Join(dir, "suite"), filepath.Join(dir, "runs.jsonl")
	writeFile(t, suite, line+"\n"+line+"\n")
	for _, args := range [][]string{strings.Fields(line), {"suite", "--force", suite}} {
		cmd := exec.Command(binary(t), append(args, "-q", "-o", file)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if info, err := os.Stat(file); err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), file+": was removed or replaced while runs were appended") {
			t.Errorf("%v: exit %d, %s", args, code, &stderr)
		}
		if !strings.Contains(stdout.String(), "empty") {
			t.Errorf("%v: what was measured is not shown: %s", args, &stdout)
		}
		if left, err := os.Stat(file); err == nil {
			t.Errorf("%v: another file of %d bytes was begun", args, left.Size())
		}
	}
}
