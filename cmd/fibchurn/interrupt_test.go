package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/churn"
	"fibchurn/internal/netnstest"
	"fibchurn/vm"
)

// A signal that was ignored when the program started, as nohup and the background
// jobs of a shell have it, stays ignored; the others end the session.
func TestIgnoredSignals(t *testing.T) {
	netnstest.Root(t)
	suite := filepath.Join(t.TempDir(), "suite")
	const line = "delete-iface --subnets 4 --as empty --runs 100000"
	writeFile(t, suite, line+"\n")
	for _, rootless := range []bool{false, true} {
		for _, command := range []string{line, "suite " + suite} {
			if rootless && command != line { // it cannot read the test's directory
				continue
			}
			t.Run(fmt.Sprintf("rootless %v, %.5s", rootless, command), func(t *testing.T) {
				cmd := exec.Command("sh", "-c", "trap '' HUP INT; exec "+binary(t)+" "+command+" -q")
				if rootless {
					asOrdinaryUser(cmd)
				}
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() {
					_ = cmd.Wait()
					close(ended)
				}()
				for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGHUP, syscall.SIGINT} {
					time.Sleep(300 * time.Millisecond)
					_ = cmd.Process.Signal(s)
				}
				select {
				case <-ended:
					t.Fatalf("it ended: %v, %s", cmd.ProcessState, &stderr)
				case <-time.After(500 * time.Millisecond):
				}
				_ = cmd.Process.Signal(syscall.SIGTERM)
				select {
				case <-ended:
				case <-time.After(10 * time.Second):
					_ = cmd.Process.Kill()
					<-ended
					t.Fatal("SIGTERM does not end it")
				}
				if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "fibchurn: interrupted\n" {
					t.Errorf("exit %d, stderr %q", code, &stderr)
				}
			})
		}
	}
}

// The note of the first signal has a line of its own only where ^C is on it.
func TestInterruptNote(t *testing.T) {
	for quiet, want := range map[bool]string{true: "", false: "fibchurn: stopping after the run in flight; once more to stop at once\n"} {
		var stderr bytes.Buffer
		stop, _, release := interrupts(&stderr, quiet)
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-stop.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("the signal did not come")
		}
		if stderr.String() != want {
			t.Errorf("quiet %v: %q", quiet, &stderr)
		}
		release()
	}
}

// However a guest ends that is being stopped, it was interrupted.
func TestGuestEndsWhileStopped(t *testing.T) {
	stop, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	p := &program{stderr: &stderr}
	failure := &vm.GuestError{Label: "6.12", Fault: vm.Panic, Detail: "Attempted to kill init"}
	if err := p.endOfBoot(vm.Kernel{}, vm.Outcome{}, failure, stop, t.Context(), false); exitCode(err, &stderr) != exitFailed {
		t.Errorf("not stopped: %v", err)
	}
	cancel()
	stderr.Reset()
	err := p.endOfBoot(vm.Kernel{}, vm.Outcome{}, failure, stop, t.Context(), false)
	if !errors.Is(err, churn.ErrStopped) || !strings.Contains(stderr.String(), "Attempted to kill init") {
		t.Errorf("%v, stderr %s", err, &stderr)
	}
	if err := p.endOfBoot(vm.Kernel{}, vm.Outcome{}, nil, stop, t.Context(), false); err != nil {
		t.Errorf("a boot that ended well: %v", err)
	}
}

// The value that came through the environment counts only with the mark.
func TestInheritedSyncMem(t *testing.T) {
	for _, test := range []struct {
		mark, value string
		want        int64
	}{{"1", "524288", 524288}, {"", "524288", -1}, {"1", "", -1}, {"1", "-1", -1}, {"1", "x", -1}} {
		env := map[string]string{rootlessName: test.mark, syncMemName: test.value}
		if got := inheritedSyncMem(func(name string) string { return env[name] }); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}
