package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// keptSyncMem reads the sysctl, and puts it back after the test whatever happens.
func keptSyncMem(t *testing.T) int {
	t.Helper()
	before := syncMem(t)
	if _, err := os.Lstat(syncMemRecordFile); !os.IsNotExist(err) {
		t.Fatalf("%s is there before the test (%v)", syncMemRecordFile, err)
	}
	t.Cleanup(func() {
		for _, pid := range pids(t) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		mustEndSoon(t)
		if err := writeSyncMem(before); err != nil {
			t.Error(err)
		}
		if err := os.Remove(syncMemRecordFile); err == nil {
			t.Error("a record was left")
		}
	})
	return before
}

// pids are those of the program under test but not of these.
func pids(t *testing.T, but ...int) (found []int) {
	t.Helper()
	for _, exe := range processes(t, binary(t)) {
		pid, err := strconv.Atoi(strings.Split(exe, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(but, pid) {
			found = append(found, pid)
		}
	}
	return found
}

// A held is a fibchurn that measures with the sysctl at a value of its own.
type held struct {
	cmd           *exec.Cmd
	before, value int
	stderr        bytes.Buffer
}

func hold(t *testing.T, command string) *held {
	t.Helper()
	h := &held{before: keptSyncMem(t)}
	h.value = otherThan(h.before)
	args := append(strings.Fields(command), "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(h.value))
	h.cmd = exec.Command(binary(t), args...)
	h.cmd.Stderr = &h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	waitForSyncMem(t, h.value)
	time.Sleep(50 * time.Millisecond) // until it is ready
	return h
}

// watchdog waits for a watchdog that is none of these.
func (h *held) watchdog(t *testing.T, but ...int) int {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if found := pids(t, append(but, h.cmd.Process.Pid)...); len(found) == 1 {
			return found[0]
		}
		if time.Now().After(deadline) {
			t.Fatal("no watchdog")
		}
	}
}

func send(t *testing.T, pid int, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// ends demands the end with that code, with so many lines of which each has its text,
// the value from before and nothing left.
func (h *held) ends(t *testing.T, code int, lines ...string) {
	t.Helper()
	if h.cmd.ProcessState == nil {
		waitAtMost(t, h.cmd, 15*time.Second)
	}
	if got := h.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit %d, want %d", got, code)
	}
	said := strings.Split(strings.TrimSpace(h.stderr.String()), "\n")
	for i, want := range lines {
		if len(said) != len(lines) || !strings.Contains(said[i], want) {
			t.Errorf("stderr %q, want %q", said, lines)
			break
		}
	}
	if got := syncMem(t); got != h.before {
		t.Errorf("the value is %d, %d before", got, h.before)
	}
	mustEndSoon(t)
	if _, err := os.Lstat(syncMemRecordFile); !os.IsNotExist(err) {
		t.Errorf("a record is left (%v)", err)
	}
}

const endless = "flap --count 100 --duration 1h"

// A watchdog that is killed is replaced at once: the value lasts, the session goes on,
// and the new one does what the old one would have done.
func TestSyncMemWatchdogKilled(t *testing.T) {
	h := hold(t, "flap --count 100 --duration 1s --runs 1 --warmup 0")
	first := h.watchdog(t)
	send(t, first, unix.SIGKILL)
	h.watchdog(t, first)
	if got := syncMem(t); got != h.value {
		t.Errorf("the value is %d, want %d", got, h.value)
	}
	h.ends(t, exitOK, "was killed (signal 9, killed) during the session; the value stayed, and another took its place")
}

// At any moment of its beginning, either it had begun and is replaced or nothing is
// measured; the message is whole.
func TestSyncMemWatchdogKilledAtAnyMoment(t *testing.T) {
	before := keptSyncMem(t)
	value := strconv.Itoa(otherThan(before))
	for i := range 40 {
		h := &held{before: before, cmd: exec.Command(binary(t), "flap", "--count", "100", "--duration", "200ms", "--runs", "1", "--warmup", "0", "-q", "--allow-host-sysctl", "--sync-mem", value)}
		h.cmd.Stderr = &h.stderr
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		dog := h.watchdog(t)
		time.Sleep(time.Duration(i%20) * time.Millisecond / 2)
		_ = unix.Kill(dog, unix.SIGKILL) // it may have been a child that the runtime tries pidfds with
		waitAtMost(t, h.cmd, 15*time.Second)
		code, said := h.cmd.ProcessState.ExitCode(), h.stderr.String()
		switch {
		case code == exitFailed && said == "fibchurn: the process that sets net.ipv4.fib_sync_mem was killed (signal 9, killed) before it had done so\n":
		case code == exitOK && strings.Contains(said, "was killed (signal 9, killed) ") && strings.Count(said, "\n") == 1:
		case code == exitOK && said == "":
		default:
			t.Errorf("exit %d, stderr %q", code, said)
		}
		h.ends(t, code)
	}
}

// One that is killed while it waits for the lock has changed nothing.
func TestSyncMemWatchdogKilledBeforeItIsReady(t *testing.T) {
	h := &held{before: keptSyncMem(t)}
	lock, err := lockSyncMem()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	h.cmd = exec.Command(binary(t), "routes", "--count", "10", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(otherThan(h.before)))
	h.cmd.Stderr = &h.stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.watchdog(t)
	time.Sleep(300 * time.Millisecond) // until it waits
	send(t, h.watchdog(t), unix.SIGKILL)
	h.ends(t, exitFailed, "fibchurn: the process that sets net.ipv4.fib_sync_mem was killed (signal 9, killed) before it had done so")
}

func TestSyncMemWatchdogThenParentKilled(t *testing.T) {
	h := hold(t, endless)
	first := h.watchdog(t)
	send(t, first, unix.SIGKILL)
	h.watchdog(t, first)
	time.Sleep(50 * time.Millisecond) // until it is ready
	send(t, h.cmd.Process.Pid, unix.SIGKILL)
	waitForSyncMem(t, h.before)
	mustEndSoon(t)
	h.ends(t, -1)
}

// Where there are too many deaths, the process that measures puts the value back.
func TestSyncMemWatchdogsKilled(t *testing.T) {
	h := hold(t, endless)
	var dead []int
	for range maxWatchdogs + 1 {
		dog := h.watchdog(t, dead...)
		time.Sleep(50 * time.Millisecond) // until it is ready
		send(t, dog, unix.SIGKILL)
		dead = append(dead, dog)
	}
	time.Sleep(200 * time.Millisecond)
	if found := pids(t, h.cmd.Process.Pid); len(found) > 0 {
		t.Errorf("%v after %d deaths", found, len(dead))
	}
	if got := syncMem(t); got != h.value {
		t.Errorf("the value is %d, want %d", got, h.value)
	}
	send(t, h.cmd.Process.Pid, unix.SIGTERM)
	lines := slices.Repeat([]string{"during the session; the value stayed, and "}, maxWatchdogs)
	lines = append(lines, "was killed (signal 9, killed); fibchurn has done it: it is "+strconv.Itoa(h.before), "interrupted")
	h.ends(t, exitInterrupted, lines...)
}

// A watchdog that is stopped is waited for a short time, and a signal meanwhile
// changes nothing.
func TestSyncMemWatchdogStopped(t *testing.T) {
	h := hold(t, endless)
	send(t, h.watchdog(t), unix.SIGSTOP)
	send(t, h.cmd.Process.Pid, unix.SIGTERM)
	time.Sleep(time.Second) // the session has ended
	send(t, h.cmd.Process.Pid, unix.SIGTERM)
	h.ends(t, exitInterrupted, "had not done so after 2s, and was killed; fibchurn has done it", "interrupted")
}

// One that is killed while it is to put the value back.
func TestSyncMemWatchdogKilledAtTheEnd(t *testing.T) {
	h := hold(t, endless)
	dog := h.watchdog(t)
	send(t, dog, unix.SIGSTOP)
	send(t, h.cmd.Process.Pid, unix.SIGTERM)
	time.Sleep(time.Second) // it is waited for
	send(t, dog, unix.SIGKILL)
	h.ends(t, exitInterrupted, "was killed (signal 9, killed); fibchurn has done it", "interrupted")
}

// Figures of a value that did not last are a failure, and the value of whoever
// changed it stays.
func TestSyncMemDidNotLast(t *testing.T) {
	for name, killed := range map[string]bool{"watchdog alive": false, "watchdog killed": true} {
		t.Run(name, func(t *testing.T) {
			h := hold(t, "flap --count 100 --duration 1s --runs 1 --warmup 0")
			theirs := otherThan(h.before, h.value)
			send(t, h.cmd.Process.Pid, unix.SIGSTOP)
			want := "set to " + strconv.Itoa(theirs) + " by something else; not all of these figures are of --sync-mem " + strconv.Itoa(h.value)
			if killed {
				send(t, h.watchdog(t), unix.SIGKILL)
				want = "was killed (signal 9, killed) during the session, and none could take its place: net.ipv4.fib_sync_mem was " + want
			}
			if err := writeSyncMem(theirs); err != nil {
				t.Fatal(err)
			}
			send(t, h.cmd.Process.Pid, unix.SIGCONT)
			h.before = theirs
			h.ends(t, exitFailed, want)
		})
	}
}

// leave kills a fibchurn and its watchdog together.
func leave(t *testing.T) *held {
	t.Helper()
	h := hold(t, endless)
	dog := h.watchdog(t)
	for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		send(t, dog, s)
		send(t, h.cmd.Process.Pid, s)
	}
	_ = h.cmd.Wait()
	mustEndSoon(t)
	if got := syncMem(t); got != h.value {
		t.Fatalf("the value is %d, want %d", got, h.value)
	}
	return h
}

// What a fibchurn and its watchdog, killed together, have left, doctor says to every
// user, and the next session puts it back.
func TestSyncMemLeftIsSaidAndPutBack(t *testing.T) {
	h := leave(t)
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "doctor")
		want := "was killed and left it at " + strconv.Itoa(h.value) + "; before it was " + strconv.Itoa(h.before) +
			"; to get it: sysctl -w net.ipv4.fib_sync_mem=" + strconv.Itoa(h.before)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("rootless %v: exit %d, %s%s", rootless, code, stdout, stderr)
		}
	}
	// The next wants the same value, and is not to take that for what was before.
	args := []string{"routes", "--count", "10", "--runs", "1", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(h.value)}
	code, _, stderr := execute(t, false, args...)
	if code != exitOK || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "had left net.ipv4.fib_sync_mem at "+strconv.Itoa(h.value)) {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	if got := syncMem(t); got != h.before {
		t.Errorf("the value is %d, want %d", got, h.before)
	}
	if _, stdout, _ := execute(t, false, "doctor"); strings.Contains(stdout, "fib_sync_mem") {
		t.Errorf("doctor still has it:\n%s", stdout)
	}
}

// What was put back by hand is no longer said, and not put back again.
func TestSyncMemLeftAndPutBackByHand(t *testing.T) {
	h := leave(t)
	theirs := otherThan(h.before, h.value)
	if err := writeSyncMem(theirs); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := execute(t, false, "doctor"); strings.Contains(stdout, "fib_sync_mem") {
		t.Errorf("doctor says:\n%s", stdout)
	}
	code, _, stderr := execute(t, false, "routes", "--count", "10", "--runs", "1", "-q", "--allow-host-sysctl", "--sync-mem", strconv.Itoa(h.value))
	if code != exitOK || stderr != "" || syncMem(t) != theirs {
		t.Errorf("exit %d, stderr %s, value %d", code, stderr, syncMem(t))
	}
}

// doctor is silent while a fibchurn holds the value, and is not where that was killed
// and its watchdog is stopped.
func TestDoctorOfSyncMemInUse(t *testing.T) {
	h := hold(t, endless)
	if _, stdout, _ := execute(t, false, "doctor"); strings.Contains(stdout, "fib_sync_mem") {
		t.Errorf("doctor says:\n%s", stdout)
	}
	dog := h.watchdog(t)
	send(t, dog, unix.SIGSTOP)
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
	if _, stdout, _ := execute(t, false, "doctor"); !strings.Contains(stdout, "left it at "+strconv.Itoa(h.value)) {
		t.Errorf("doctor says:\n%s", stdout)
	}
	send(t, dog, unix.SIGCONT)
	waitForSyncMem(t, h.before)
	mustEndSoon(t)
}

// The child in a user namespace that is killed is no silent end.
func TestUserNamespaceChildKilled(t *testing.T) {
	cmd := exec.Command(binary(t), strings.Fields(endless+" -q")...)
	asOrdinaryUser(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &held{cmd: cmd}
	send(t, h.watchdog(t), unix.SIGKILL)
	waitAtMost(t, cmd, 10*time.Second)
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGKILL) || stderr.String() != "fibchurn: the process in the user namespace was killed (signal 9, killed)\n" {
		t.Errorf("exit %d, stderr %s", code, &stderr)
	}
	mustEndSoon(t)
}
