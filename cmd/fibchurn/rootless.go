package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"fibchurn/internal/machine"
	"fibchurn/ns"
)

// rootlessMark is in the environment of the program executed again, which must
// not do so a second time.
const (
	rootlessName = "FIBCHURN_USER_NAMESPACE"
	rootlessMark = rootlessName + "=1"
)

// syncMemName is the variable in which the program executed again is told
// net.ipv4.fib_sync_mem, which only the initial network namespace shows.
const syncMemName = "FIBCHURN_FIB_SYNC_MEM"

// inheritedSyncMem is that value, -1 where there is none. Without the mark, which
// comes with it, the variable is somebody else's.
func inheritedSyncMem(getenv func(string) string) int64 {
	n, err := strconv.ParseInt(getenv(syncMemName), 10, 64)
	if err != nil || n < 0 || getenv(rootlessName) == "" {
		return -1
	}
	return n
}

// inUserNamespace executes the program again in a user and network namespace of
// its own where it lacks the right to make network namespaces. It reports
// whether it did, and the child's exit code as an error.
func (p *program) inUserNamespace() (again bool, err error) {
	if mayUnshare() || os.Getenv(rootlessName) != "" {
		return false, nil
	}
	runtime.LockOSThread() // the child dies with the thread that starts it
	defer runtime.UnlockOSThread()
	child := exec.Command("/proc/self/exe", p.args[1:]...)
	child.Args[0] = p.args[0]
	child.Env = append(os.Environ(), rootlessMark, fmt.Sprintf("%s=%d", syncMemName, machine.FibSyncMem()))
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, p.stdout, p.stderr
	child.SysProcAttr = userNamespace()

	// The child is in a process group of its own, so that a Ctrl-C on the terminal
	// reaches it once, through here.
	signals := make(chan os.Signal, 8)
	notifyEnd(signals)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return true, userNamespaceError(err)
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = child.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err = child.Wait()
	close(ended)
	var status *exec.ExitError
	if errors.As(err, &status) {
		if wait := status.Sys().(syscall.WaitStatus); wait.Signaled() {
			if !slices.Contains(endSignals(), os.Signal(wait.Signal())) { // those are passed on
				fmt.Fprintln(p.stderr, "fibchurn: the process in the user namespace", describeEnd(err))
			}
			return true, childExit(128 + wait.Signal()) // as a shell has it
		}
		return true, childExit(status.ExitCode())
	}
	return true, err
}

// userNamespace maps this user to root of a new user namespace.
func userNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings:                []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		GidMappingsEnableSetgroups: false,
		Pdeathsig:                  unix.SIGKILL,
		Setpgid:                    true,
	}
}

// mayUnshare reports whether this process has CAP_SYS_ADMIN and CAP_NET_ADMIN.
func mayUnshare() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	return data[0].Effective&need == need
}

func userNamespaceError(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) {
		return &ns.UnsupportedError{
			What: "a user namespace to run in without root",
			Why:  err.Error(),
			Help: "run as root, or allow user namespaces (sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
		}
	}
	return fmt.Errorf("start again in a user namespace: %w", err)
}
