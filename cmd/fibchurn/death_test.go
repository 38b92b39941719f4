package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

// A mortal is a command line that a test ends before its time.
type mortal struct {
	args  string
	root  bool // as an ordinary user it ends by itself
	lines bool // it appends runs
}

// mortals are all commands and what has processes, sysctls or files of its own. runs is
// a file of runs.
func mortals(runs string) []mortal {
	const long = " --runs 100k --warmup 0 -q"
	return []mortal{
		{"delete-iface --subnets 256" + long, false, true},
		{"routes --count 2k" + long, false, true},
		{"routes --count 1k --parallel 2 --parallel-in namespaces" + long, false, true},
		{"addrs --count 200" + long, false, true},
		{"flap --count 1k --rate max --duration 200ms" + long, false, true},
		{"resize --node-bits 6 --cycles 2" + long, false, true},
		{"lookup --routes 1k --under flap --duration 200ms" + long, false, true},
		{"forward --routes 1k --flows 100 --duration 200ms" + long, true, true},
		{"flood --duration 200ms" + long, true, true},
		{"nexthops --routes 500 --paths 1,4" + long, false, true},
		{"netns --namespaces 8 --subnets 50 --routes 50" + long, false, true},
		{"suite quick -q", false, true},
		{"delete-iface --subnets 256 --sync-mem 1M --allow-host-sysctl" + long, true, true},
		{"delete-iface --subnets 256 --profile --profile-out DIR/p.svg" + long, true, true},
		{"resize --node-bits 6 --cycles 2 --trace-resize" + long, true, true},
		{"doctor", false, false},
		{"report --format prometheus --output DIR/report.prom " + runs, false, false},
		{"compare --by cell --force " + runs, false, false},
	}
}

// moments is how often TestDeath ends a command: FIBCHURN_MOMENTS, or 48.
func moments(t *testing.T) int {
	text := os.Getenv("FIBCHURN_MOMENTS")
	if text == "" {
		return 48
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// openDir is a directory that every user may write to.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fibchurn-death-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// withTemporary gives a command a TMPDIR of its own.
func withTemporary(cmd *exec.Cmd, dir string) { cmd.Env = append(os.Environ(), "TMPDIR="+dir) }

// Whatever command is ended, as whichever user, by whichever signal and at whichever
// moment: nothing of it is left, and no line of results is torn.
func TestDeath(t *testing.T) {
	netnstest.Root(t)
	before, namespaces := readHostState(t), liveNamespaces(t)
	seed := filepath.Join(openDir(t), "runs.jsonl")
	if code, _, stderr := execute(t, false, "delete-iface", "--subnets", "16", "--runs", "6", "-q", "-o", seed); code != exitOK {
		t.Fatal(stderr)
	}
	random := rand.New(rand.NewPCG(3, 4))
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}
	commands := mortals(seed)
	var recorded atomic.Int64
	t.Run("moments", func(t *testing.T) { // ends when all have
		for i := range moments(t) {
			m := commands[i%len(commands)]
			signal, rootless := signals[random.IntN(len(signals))], !m.root && random.IntN(2) == 0
			moment := time.Duration(random.IntN(700)) * time.Millisecond
			t.Run("", func(t *testing.T) {
				if !strings.Contains(m.args, "--allow-host-sysctl") { // which one at a time may set
					t.Parallel()
				}
				recorded.Add(int64(m.die(t, rootless, signal, moment)))
			})
		}
	})
	if recorded.Load() == 0 {
		t.Error("no run was recorded")
	}
	mustBeAsBefore(t, before)
	waitForNamespaces(t, namespaces)
}

// die ends the command at a moment, and counts the runs that it recorded.
func (m mortal) die(t *testing.T, rootless bool, signal syscall.Signal, moment time.Duration) int {
	t.Helper()
	program, temporary, dir := ownProgram(t), openDir(t), openDir(t)
	file := filepath.Join(dir, "out.jsonl")
	args := strings.Fields(strings.ReplaceAll(m.args, "DIR", dir))
	if m.lines {
		args = append(args, "-o", file)
	}
	cmd := exec.Command(program, args...)
	if rootless {
		asOrdinaryUser(cmd)
	}
	withTemporary(cmd, temporary)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(moment)
	_ = cmd.Process.Signal(signal) // it may have ended
	waitAtMost(t, cmd, 20*time.Second)
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if code := state.ExitStatus(); !state.Signaled() && code != exitInterrupted && code != 128+int(signal) && (m.lines || code != exitOK) {
		t.Errorf("%s (rootless %v) after %v: exit %d, stderr %s", m.args, rootless, signal, code, &stderr)
	}
	mustAllEnd(t, program)
	mustHoldOnly(t, temporary)
	mustHoldOnly(t, dir, "out.jsonl", "report.prom", "p.svg")
	return wholeLines(t, file)
}

// wholeLines demands that a file, where there is one, holds whole lines, and counts them.
func wholeLines(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	runs, torn, err := results.Read(bytes.NewReader(content), path)
	if err != nil || len(torn) > 0 || len(content) > 0 && content[len(content)-1] != '\n' {
		t.Errorf("%v, torn %v", err, torn)
	}
	return len(runs)
}

// mustHoldOnly demands that a directory holds no file but those.
func mustHoldOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		known := false
		for _, name := range names {
			known = known || e.Name() == name
		}
		if !known {
			t.Errorf("%s holds %s", dir, e.Name())
		}
	}
}
