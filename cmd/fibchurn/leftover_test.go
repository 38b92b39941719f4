package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

// However the program ends, and at whatever moment, nothing of it is left.
func TestNothingIsLeft(t *testing.T) {
	netnstest.Root(t)
	const moments = 50
	before, namespaces := readHostState(t), liveNamespaces(t)
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	random := rand.New(rand.NewPCG(1, 2))
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	t.Run("moments", func(t *testing.T) { // ends when all have
		for i := range moments {
			signal, rootless := signals[i%len(signals)], i%4 == 3
			moment := time.Duration(random.IntN(400)) * time.Millisecond
			t.Run("", func(t *testing.T) {
				t.Parallel()
				mustLeaveNothing(t, rootless, file, signal, moment)
			})
		}
	})
	mustBeAsBefore(t, before)
	waitForNamespaces(t, namespaces)
	checkLines(t, file)
}

// mustLeaveNothing ends the program at a moment. As root it appends its runs to a file.
func mustLeaveNothing(t *testing.T, rootless bool, file string, signal syscall.Signal, moment time.Duration) {
	t.Helper()
	program := ownProgram(t)
	cmd := exec.Command(program, "delete-iface", "--subnets", "512", "--runs", "1000", "--warmup", "0", "-q", "-j")
	if rootless {
		asOrdinaryUser(cmd)
	} else {
		cmd.Args = append(cmd.Args, "-o", file)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(moment)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	waitAtMost(t, cmd, 20*time.Second)
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	// Before the program listens for signals they end it as usual.
	code := state.ExitStatus()
	if !state.Signaled() && code != exitInterrupted && code != 128+int(signal) {
		t.Errorf("after %v: exit %d, stderr %s", signal, state.ExitStatus(), &stderr)
	}
	mustAllEnd(t, program)
}

func waitAtMost(t *testing.T, cmd *exec.Cmd, limit time.Duration) {
	t.Helper()
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !timer.Stop() {
		t.Errorf("it did not end within %v of the signal", limit)
	}
}

// mustEndSoon waits for the child in the user namespace, which the kernel kills
// with its parent.
func mustEndSoon(t *testing.T) {
	t.Helper()
	mustAllEnd(t, binary(t))
}

// mustAllEnd waits for all processes of a program.
func mustAllEnd(t *testing.T, program string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		left := processes(t, program)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", left)
		}
	}
}

// checkLines demands that the file holds complete lines: a line is written with
// one call, so no moment tears it.
func checkLines(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, warnings, err := results.Read(f, path)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if len(runs) == 0 {
		t.Error("no run was recorded")
	}
	for _, r := range runs {
		if !r.Sample() && !r.Partial {
			t.Errorf("run %d of %s is neither complete nor partial", r.Run, r.Cell)
		}
	}
}

// A signal ends the session after the run in flight, with what was measured.
func TestFirstSignalReports(t *testing.T) {
	netnstest.Root(t)
	cmd := exec.Command(binary(t), "delete-iface", "--subnets", "64", "--runs", "100000", "--as", "routes", "--as", "empty")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	waitAtMost(t, cmd, 10*time.Second)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	if !bytes.Contains(stdout.Bytes(), []byte("delete")) {
		t.Errorf("no table: %s", &stdout)
	}
}
