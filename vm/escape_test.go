package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/vm/vmtest"
)

// A guest of User-Mode Linux, whose kernel has hostfs built in, can mount nothing of
// this machine, be it root there, unless the user's own parameters allow it.
func TestGuestHasNoHostFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		append []string
		said   string
		wrote  bool
	}{{nil, "mount: ", false}, {[]string{"hostfs=/"}, "write: <nil>", true}} {
		dir := t.TempDir()
		tr := try(t.Context(), t, vmtest.UML, Machine{Append: test.append}, "hostfs", dir)
		if tr.err != nil || !strings.HasPrefix(tr.stdout.String(), test.said) {
			t.Errorf("%q: %v, said %q", test.append, tr.err, tr.stdout.String())
		}
		_, err := os.Stat(filepath.Join(dir, "escaped"))
		if wrote := err == nil; wrote != test.wrote {
			t.Errorf("%q: a file of the host was written: %v", test.append, wrote)
		}
	}
}

// A machine under QEMU has no disk, network, shared directory, monitor or debugger.
func TestQEMUArguments(t *testing.T) {
	m := Machine{CPUs: 2, MemoryMiB: 256, Append: []string{"a=b"}}
	args := qemuArguments("qemu", AccelTCG, "tcg", Kernel{Path: "/k", Kind: BzImage}, m)
	known := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "-machine", "-accel", "-cpu", "-smp", "-m", "-chardev", "-serial",
		"-kernel", "-initrd", "-append",
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") && !slices.Contains(known, arg) {
			t.Errorf("%s is given to QEMU", arg)
		}
	}
	for _, needed := range known[:2] {
		if !slices.Contains(args, needed) {
			t.Errorf("%s is not given to QEMU", needed)
		}
	}
}

// A keeper that somebody kills takes its machine with it, and the boot is an error.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kernel string
		signal syscall.Signal
	}{{vmtest.UML, syscall.SIGKILL}, {vmtest.UML, syscall.SIGTERM}, {vmtest.Linux612, syscall.SIGKILL}} {
		ctx, ended := context.WithCancel(t.Context())
		go killKeeper(ctx, t, test.signal)
		tr := try(t.Context(), t, test.kernel, Machine{}, "runs", "100000", "1")
		ended()
		var failed *GuestError
		if !errors.As(tr.err, &failed) || failed.Fault != Killed {
			t.Errorf("%s, %v: %v, %d runs, said %q", test.kernel, test.signal, tr.err, len(tr.runs), tr.stderr.String())
		}
	}
}

// killKeeper ends the test's keeper, some time after it has come.
func killKeeper(ctx context.Context, t *testing.T, signal syscall.Signal) {
	for ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		for pid, command := range machines(t) {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if strings.Contains(command, keeperName) && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second): // the guest runs by then
					_ = syscall.Kill(pid, signal)
				}
			}
		}
	}
}
