package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/machine"
	"fibchurn/internal/netnstest"
)

// syncMem reads the sysctl, and skips where there is none.
func syncMem(t testing.TB) int {
	t.Helper()
	netnstest.Root(t)
	b, err := os.ReadFile(syncMemFile)
	if err != nil {
		t.Skip("no ", syncMemFile)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// otherThan is a value that fib_sync_mem does not have.
func otherThan(values ...int) int {
	for n := 1 << 20; ; n += 4096 {
		taken := false
		for _, v := range values {
			taken = taken || v == n
		}
		if !taken {
			return n
		}
	}
}

// waitForSyncMem waits until the sysctl has a value.
func waitForSyncMem(t testing.TB, want int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); syncMem(t) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("fib_sync_mem is %d, want %d", syncMem(t), want)
		}
	}
}

// flapping is a fibchurn that flaps for an hour with the sysctl at a value.
func flapping(t testing.TB, value int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), "flap", "--count", "100", "--duration", "1h", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(value))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitForSyncMem(t, value)
	return cmd
}

// The value holds for the session, is in the record, and is put back.
func TestSyncMemIsSetAndPutBack(t *testing.T) {
	before := syncMem(t)
	want := otherThan(before)
	code, stdout, stderr := execute(t, false, "routes", "--count", "100", "--runs", "1", "-j", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(want))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, r := range readRuns(t, stdout) {
		if r.Environment.FibSyncMem != int64(want) {
			t.Errorf("recorded %d, want %d", r.Environment.FibSyncMem, want)
		}
	}
	if got := syncMem(t); got != before {
		t.Errorf("%d afterwards, %d before", got, before)
	}
}

// However the program ends, the value is put back and no process is left.
func TestSyncMemSurvivesEveryEnd(t *testing.T) {
	before := syncMem(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGQUIT} {
		cmd := flapping(t, otherThan(before))
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		waitAtMost(t, cmd, 10*time.Second)
		waitForSyncMem(t, before)
		mustEndSoon(t)
	}
}

// The same at any moment of the beginning, before or after the value is set.
func TestSyncMemSurvivesAnyMoment(t *testing.T) {
	before := syncMem(t)
	for i := range 30 {
		cmd := exec.Command(binary(t), "flap", "--count", "10", "--duration", "1h", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(otherThan(before)))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		mustEndSoon(t)
		if got := syncMem(t); got != before {
			t.Fatalf("killed after %d ms: the value is %d, %d before", i, got, before)
		}
	}
}

// The watchdog is out of reach: of signals to it, and of those to the program's
// process group and session.
func TestSyncMemWatchdogIgnoresSignals(t *testing.T) {
	before := syncMem(t)
	value := otherThan(before)
	cmd := flapping(t, value)
	dog := 0
	for _, exe := range processes(t, binary(t)) {
		pid, err := strconv.Atoi(strings.Split(exe, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if pid != cmd.Process.Pid {
			dog = pid
		}
	}
	if dog == 0 {
		t.Fatal("no watchdog")
	}
	if group, err := unix.Getpgid(dog); err != nil || group != dog {
		t.Errorf("the watchdog is in group %d (%v)", group, err)
	}
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGALRM} {
		if err := unix.Kill(dog, s); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	if got := syncMem(t); got != value {
		t.Errorf("after signals to the watchdog the value is %d", got)
	}
	_ = cmd.Process.Kill()
	waitForSyncMem(t, before)
	mustEndSoon(t)
}

// A second fibchurn does not get the value while a first has it, nor puts back what
// the first has set; once the first is gone it takes over.
func TestSyncMemTwoAtOnce(t *testing.T) {
	before := syncMem(t)
	first := otherThan(before)
	second := otherThan(before, first)
	cmd := flapping(t, first)
	args := []string{"routes", "--count", "10", "--runs", "1", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(second)}
	code, stdout, stderr := execute(t, false, args...)
	if code != exitUnsupported || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "another fibchurn holds it") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if got := syncMem(t); got != first {
		t.Errorf("the value is %d, the first set %d", got, first)
	}
	_ = cmd.Process.Kill() // its watchdog may still hold the value when the next begins
	if code, _, stderr := execute(t, false, args...); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if got := syncMem(t); got != before {
		t.Errorf("the value is %d, %d before", got, before)
	}
}

// A value that someone else has set meanwhile is left alone.
func TestSyncMemLeavesOthersValues(t *testing.T) {
	before := syncMem(t)
	mine := otherThan(before)
	theirs := otherThan(before, mine)
	defer func() {
		if err := os.WriteFile(syncMemFile, []byte(strconv.Itoa(before)), 0); err != nil {
			t.Error(err)
		}
	}()
	control, end := io.Pipe()
	done := make(chan error)
	file := filepath.Join(t.TempDir(), "record")
	go func() {
		done <- keepSyncMem(syncMemRecord{Boot: machine.Boot(), Set: mine}, file, control, func(watchdogWord) {})
	}()
	waitForSyncMem(t, mine)
	if err := os.WriteFile(syncMemFile, []byte(strconv.Itoa(theirs)), 0); err != nil {
		t.Fatal(err)
	}
	end.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := syncMem(t); got != theirs {
		t.Errorf("the value is %d, someone set %d", got, theirs)
	}
}

// What the kernel refuses is an error and changes nothing.
func TestSyncMemRefused(t *testing.T) {
	before := syncMem(t)
	file := filepath.Join(t.TempDir(), "record")
	var last watchdogWord
	err := keepSyncMem(syncMemRecord{Boot: machine.Boot(), Set: 1}, file, strings.NewReader(""), func(w watchdogWord) { last = w })
	if err == nil || last != (watchdogWord{Before: before}) || syncMem(t) != before {
		t.Errorf("error %v, last word %v, value %d", err, last, syncMem(t))
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("a record is left: %v", err)
	}
}

func TestSyncMemNeedsRoot(t *testing.T) {
	code, stdout, stderr := execute(t, true, "routes", "--count", "10", "--allow-host-sysctl", "--sync-mem", "1Mi")
	if code != exitUnsupported || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "what would help: run as root") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}
