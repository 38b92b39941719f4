package vm

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeperName is the keeper's argv[0].
const keeperName = "fibchurn: keeper of a virtual machine"

// The keeper's descriptors: the leash, then those that the machine gets from 3 on.
const keeperLeash = 3

const (
	keeperNotStarted = 127 // the keeper's exit code where it could not start the machine
	keeperSignalled  = 128 // plus the signal's number, where a signal ended the machine
)

// keep runs the machine's command and ends when that does, or ends it when the
// leash, a socket, is let go: its other end is held by Boot's process alone, so that its death,
// of whatever kind, is the machine's. A death signal to the machine itself would not
// do: User-Mode Linux has helper processes, which would be left.
//
// Where startKeeper could have it so, the keeper is the first process of a PID
// namespace, and its own death, of whatever kind, ends all of them too.
func keep(command []string) int {
	// The machine's death signal is tied to the thread that starts it.
	runtime.LockOSThread()
	// A User-Mode Linux that panics aborts: no core file.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	leash := os.NewFile(keeperLeash, "leash")
	unix.CloseOnExec(keeperLeash)
	ended := make(chan os.Signal, 1)
	for _, s := range []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ended, s) // the first process of a namespace does not die of it
		}
	}
	machine := &exec.Cmd{
		Path: command[0], Args: command,
		Stdout: os.Stdout, Stderr: os.Stderr,
		ExtraFiles:  inherited(),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	}
	if err := machine.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return keeperNotStarted
	}
	for _, f := range machine.ExtraFiles {
		f.Close()
	}
	group := -machine.Process.Pid
	fmt.Fprintln(leash, groupOutside(machine)) // so that Boot can end it if this process is killed
	go func() {
		_, _ = io.Copy(io.Discard, leash)
		_ = unix.Kill(group, unix.SIGKILL)
	}()
	go func() {
		<-ended
		_ = unix.Kill(group, unix.SIGKILL)
	}()
	wait := reap(machine.Process.Pid)
	_ = unix.Kill(group, unix.SIGKILL) // helpers that outlive it
	if wait.Signaled() {
		return keeperSignalled + int(wait.Signal())
	}
	return wait.ExitStatus()
}

// groupOutside is the machine's process group as Boot knows it, or 0 in a PID namespace:
// its number there is another's outside, and the kernel ends it.
func groupOutside(machine *exec.Cmd) int {
	if os.Getpid() == 1 {
		return 0
	}
	return machine.Process.Pid
}

// reap waits for a child, and meanwhile for all others: the first process of a PID
// namespace inherits every orphan in it.
func reap(child int) unix.WaitStatus {
	for {
		var status unix.WaitStatus
		if pid, err := unix.Wait4(-1, &status, 0, nil); pid == child || err == unix.ECHILD {
			return status
		}
	}
}

// inherited are the open descriptors above the leash.
func inherited() []*os.File {
	var files []*os.File
	for fd := keeperLeash + 1; ; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return files
		}
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), "inherited"))
	}
}
