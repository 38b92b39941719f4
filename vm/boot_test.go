package vm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/progtest"
	"fibchurn/results"
	"fibchurn/vm/vmtest"
)

// guestProgram is what runs inside, made once a test process.
var guestProgram = progtest.New("./testdata/guest")

func TestMain(m *testing.M) { os.Exit(guestProgram.Run(m)) }

// A trial is one boot of a test, and what came of it.
type trial struct {
	outcome Outcome
	err     error
	runs    []results.Run
	console strings.Builder
	stdout  strings.Builder
	stderr  strings.Builder
}

// mark is in the kernel's parameters of every machine that a test boots.
func mark(t *testing.T) string { return fmt.Sprintf("fibchurn.test=%d.%s.", os.Getpid(), t.Name()) }

func try(ctx context.Context, t *testing.T, kernel string, m Machine, argv ...string) *trial {
	t.Helper()
	k, err := Identify(vmtest.Kernel(t, kernel), kernel)
	if err != nil {
		t.Fatal(err)
	}
	m.Program = guestProgram.Path(t)
	tr := &trial{}
	m.Append = append(m.Append, mark(t))
	m.Accel, m.Console, m.Stdout, m.Stderr = AccelTCG, &tr.console, &tr.stdout, &tr.stderr
	if m.Timeout == 0 {
		m.Timeout = 2 * time.Minute
	}
	tr.outcome, tr.err = Boot(ctx, k, m, append([]string{"guest"}, argv...), func(run *results.Run) error {
		tr.runs = append(tr.runs, *run)
		return nil
	})
	t.Logf("%s: up after %v, took %v", kernel, tr.outcome.Started.Round(time.Millisecond), tr.outcome.Took.Round(time.Millisecond))
	mustBeGone(t)
	return tr
}

// Signals come to the guest's threads all the time, for Go's scheduler preempts them so,
// and one must not end the wait for a line to leave.
func TestBootOfManyLines(t *testing.T) {
	t.Parallel()
	const lines = 1000
	for _, kernel := range []string{vmtest.UML, vmtest.Linux612} {
		tr := try(t.Context(), t, kernel, Machine{}, "runs", strconv.Itoa(lines), "1")
		if tr.err != nil || len(tr.runs) != lines {
			t.Errorf("%s: %d runs of %d, %v, said %q", kernel, len(tr.runs), lines, tr.err, tr.stderr.String())
		}
	}
}

// mustBeGone fails if a machine of the test, or its keeper, is left.
func mustBeGone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := machines(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", left)
		}
	}
}

// machines are the command lines of the machines of a test, and of their keepers, by
// process.
func machines(t *testing.T) map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, notNumber := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && notNumber == nil && strings.Contains(string(text), mark(t)) {
			found[pid] = strings.ReplaceAll(string(text), "\x00", " ")
		}
	}
	return found
}

func TestBoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kernel, release, virtualisation string }{
		{vmtest.Linux61, "6.1.", "tcg"},
		{vmtest.Linux612, "6.12.", "tcg"},
		{vmtest.UML, "6.1.", "uml"},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			t.Parallel()
			tr := try(t.Context(), t, c.kernel, Machine{Sysctls: []Sysctl{{"kernel.panic", "1"}}}, "runs", "3", "0")
			if tr.err != nil {
				t.Fatal(tr.err, tr.console.String())
			}
			if len(tr.runs) != 3 || tr.outcome.Runs != 3 || !strings.HasPrefix(tr.outcome.Release, c.release) {
				t.Errorf("%d runs, outcome %+v", len(tr.runs), tr.outcome)
			}
			if slices.Contains(tr.outcome.Missing, "dummy") || tr.stderr.String() != "" {
				t.Errorf("missing %v, said %q", tr.outcome.Missing, tr.stderr.String())
			}
			for _, run := range tr.runs {
				if env := run.Environment; env.Virtualisation != c.virtualisation || env.Label != c.kernel || !run.Verified {
					t.Errorf("got %+v", run)
				}
			}
		})
	}
}

// faultOf fails the test unless the error is a GuestError of that kind.
func faultOf(t *testing.T, tr *trial, want Fault, detail string) *GuestError {
	t.Helper()
	var failed *GuestError
	if !errors.As(tr.err, &failed) || failed.Fault != want || !strings.Contains(failed.Detail, detail) {
		t.Fatalf("got %v, want %v with %q; console:\n%s", tr.err, want, detail, tr.console.String())
	}
	if strings.Contains(failed.Error(), "\n") || !strings.Contains(failed.Error(), failed.Label) {
		t.Errorf("not one line with the label: %q", failed)
	}
	if len(failed.Console) > tailLines {
		t.Errorf("%d lines of console", len(failed.Console))
	}
	return failed
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kernel  string
		machine Machine
		argv    []string
		fault   Fault
		detail  string
		runs    int
	}{
		{"panic at boot", vmtest.Linux612, Machine{Append: []string{"rdinit=/nonexistent"}}, []string{"silent"}, BootPanic, "Kernel panic - not syncing: VFS", 0},
		{"panic at boot", vmtest.UML, Machine{Append: []string{"rdinit=/nonexistent"}}, []string{"silent"}, BootPanic, "Kernel panic - not syncing: VFS", 0},
		{"init dies", vmtest.UML, Machine{}, []string{"die"}, Panic, "Attempted to kill init", 1},
		{"crash", vmtest.Linux61, Machine{}, []string{"crash"}, Panic, "sysrq triggered crash", 1},
		{"ends inside a line", vmtest.UML, Machine{}, []string{"off"}, NoResult, "", 1},
		{"kernel complains", vmtest.UML, Machine{}, []string{"warn"}, Log, "WARNING: CPU: 0", 3},
		{"command fails", vmtest.UML, Machine{}, []string{"exit", "4"}, Command, "exit code 4", 0},
		{"command without a run", vmtest.UML, Machine{}, []string{"silent"}, NoResult, "without a run", 0},
		{"sysctl that is not there", vmtest.UML, Machine{Sysctls: []Sysctl{{"net.none", "1"}}}, []string{"silent"}, NoStart, "set sysctl net.none to 1: no such file", 0},
		{"sleeps for ever", vmtest.UML, Machine{Timeout: 4 * time.Second}, []string{"sleep"}, Hang, "within 4s", 0},
		{"does not come up", vmtest.Linux61, Machine{Timeout: time.Second}, []string{"sleep"}, Hang, "did not come up within 1s", 0},
	} {
		t.Run(c.kernel+" "+c.name, func(t *testing.T) {
			t.Parallel()
			tr := try(t.Context(), t, c.kernel, c.machine, c.argv...)
			failed := faultOf(t, tr, c.fault, c.detail)
			if len(tr.runs) != c.runs {
				t.Errorf("%d runs, want %d", len(tr.runs), c.runs)
			}
			if torn := c.argv[0] == "off"; failed.Torn != torn {
				t.Errorf("torn: %v", failed.Torn)
			}
			if c.argv[0] != "sleep" && len(failed.Console) == 0 {
				t.Error("no console")
			}
			if c.argv[0] == "exit" && (failed.Exit != 4 || tr.stderr.String() != "a word before the end\n") {
				t.Errorf("exit %d, said %q", failed.Exit, tr.stderr.String())
			}
			if c.argv[0] == "warn" {
				mustHaveMarked(t, tr.runs)
			}
		})
	}
}

// mustHaveMarked checks that the second of three runs, and it alone, is no sample.
func mustHaveMarked(t *testing.T, runs []results.Run) {
	t.Helper()
	for i, run := range runs {
		if marked := i == 1; run.Verified == marked || (len(run.Warnings) == 1) != marked || (len(run.Checks) == 1) != marked {
			t.Errorf("run %d: verified %v, checks %v, warnings %v", i, run.Verified, run.Checks, run.Warnings)
		}
	}
}

// Files of the host are found under the same paths.
func TestBootFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "some", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "frame.go"} {
		tr := try(t.Context(), t, vmtest.UML, Machine{Files: []string{path}}, "read", path)
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if tr.err != nil || strings.TrimSpace(tr.stdout.String()) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: got %q, %v", path, tr.stdout.String(), tr.err)
		}
	}
}

// What a command prints besides runs comes through.
func TestBootSays(t *testing.T) {
	t.Parallel()
	tr := try(t.Context(), t, vmtest.UML, Machine{}, "say", "hello")
	if tr.err != nil || tr.stdout.String() != "hello\n" {
		t.Errorf("got %q, %v", tr.stdout.String(), tr.err)
	}
}

func TestBootEmitFails(t *testing.T) {
	t.Parallel()
	k, err := Identify(vmtest.Kernel(t, vmtest.UML), "")
	if err != nil {
		t.Fatal(err)
	}
	program := guestProgram.Path(t)
	full := errors.New("disk full")
	m := Machine{Program: program, Append: []string{mark(t)}}
	outcome, err := Boot(t.Context(), k, m, []string{"guest", "runs", "1000", "50"}, func(*results.Run) error { return full })
	if !errors.Is(err, full) || outcome.Runs != 1 {
		t.Errorf("got %v after %d runs", err, outcome.Runs)
	}
	mustBeGone(t)
}

// A machine that is ended at any moment leaves whole runs only, in order, and no
// process.
func TestBootCancelled(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2500))*time.Millisecond)
		tr := try(ctx, t, vmtest.UML, Machine{}, "runs", "100000", "1")
		cancel()
		if !errors.Is(tr.err, context.DeadlineExceeded) {
			t.Errorf("got %v", tr.err)
		}
		mustBeInOrder(t, tr.runs)
	}
}

// The same where somebody kills the machine.
func TestBootKilled(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, kernel := range []string{vmtest.UML, vmtest.UML, vmtest.Linux612} {
		killer := time.AfterFunc(time.Second+time.Duration(random.IntN(4000))*time.Millisecond, func() { killMachines(t) })
		tr := try(t.Context(), t, kernel, Machine{}, "runs", "100000", "1")
		killer.Stop()
		var failed *GuestError
		if !errors.As(tr.err, &failed) || failed.Fault != Killed {
			t.Errorf("got %v", tr.err)
		}
		mustBeInOrder(t, tr.runs)
	}
}

// killMachines kills what the keepers of this test run.
func killMachines(t *testing.T) {
	for pid, command := range machines(t) {
		if !strings.Contains(command, keeperName) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func mustBeInOrder(t *testing.T, runs []results.Run) {
	t.Helper()
	for i, run := range runs {
		if run.Run != i+1 {
			t.Fatalf("run %d is number %d", i+1, run.Run)
		}
	}
}
