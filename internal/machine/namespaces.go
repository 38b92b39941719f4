package machine

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func probeNetworkNamespace(t tree) finding {
	err := tryNetworkNamespace()
	switch {
	case err == nil:
		return finding{OK, "unshare(CLONE_NEWNET) works"}
	case errors.Is(err, unix.EPERM):
		return finding{Missing, "unshare(CLONE_NEWNET) is refused: it needs CAP_SYS_ADMIN" + withUserNamespace(t)}
	case errors.Is(err, unix.EINVAL):
		return finding{Missing, "this kernel has no network namespaces"}
	case errors.Is(err, unix.ENOSPC):
		return finding{Missing, "the limit of network namespaces is reached" + sysctls(t, "user.max_net_namespaces")}
	}
	return finding{Unknown, "unshare(CLONE_NEWNET): " + err.Error()}
}

// withUserNamespace points an ordinary user to the other way.
func withUserNamespace(t tree) string {
	if tryUserNamespace() == nil {
		return "; inside a user namespace it works"
	}
	return ""
}

// tryNetworkNamespace makes a network namespace on a thread that ends with it.
func tryNetworkNamespace() error {
	result := make(chan error)
	go onOwnThread(result, func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	return <-result
}

// onOwnThread runs f on a thread that is never used again and never the main one:
// that does not end before the process, and /proc/<pid> shows its namespaces for
// the whole process'.
func onOwnThread(result chan<- error, f func() error) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		result <- f()
		return // still locked: the thread ends
	}
	defer runtime.UnlockOSThread()
	inner := make(chan error)
	go onOwnThread(inner, f) // cannot be the main thread: this goroutine holds it
	result <- <-inner
}

func probeUserNamespace(t tree) finding {
	err := tryUserNamespace()
	limits := sysctls(t, "user.max_user_namespaces", "kernel.unprivileged_userns_clone",
		"kernel.apparmor_restrict_unprivileged_userns")
	switch {
	case err == nil:
		return finding{OK, "a process in a user and network namespace of its own can be started"}
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return finding{Missing, "a user namespace is refused" + limits}
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return finding{Missing, "the limit of user or network namespaces is reached" + limits}
	case errors.Is(err, unix.EINVAL):
		return finding{Missing, "this kernel has no user namespaces" + limits}
	}
	return finding{Unknown, err.Error() + limits}
}

// noProgram is a name that cannot exist, since /proc takes no new files.
const noProgram = "/proc/self/no-such-program"

// tryUserNamespace starts a process in a user and a network namespace of its own,
// as a run without root does, with an ID map, and gives it a program to execute
// that does not exist. ENOENT is then the good answer: the kernel made the
// namespaces and took the map, and only after that looked for the program. (A
// thread cannot do it: unshare(CLONE_NEWUSER) wants a process of one thread.)
func tryUserNamespace() error {
	pid, err := syscall.ForkExec(noProgram, []string{"fibchurn"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Getegid(), Size: 1}},
		},
	})
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil
	case err == nil:
		_, err = syscall.Wait4(pid, nil, 0, nil)
		return fmt.Errorf("%s was executed (%w)", noProgram, err)
	}
	return fmt.Errorf("start a process in a user namespace: %w", err)
}

// sysctls renders those of the named sysctls that exist, as " (a is 1, b is 0)".
func sysctls(t tree, names ...string) string {
	var found []string
	for _, name := range names {
		if value := t.text("proc/sys/" + strings.ReplaceAll(name, ".", "/")); value != "" {
			found = append(found, name+" is "+value)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (" + strings.Join(found, ", ") + ")"
}
