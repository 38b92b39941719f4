package vm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
func keep(command []string) int {
	// The machine's death signal is tied to the thread that starts it.
	runtime.LockOSThread()
	// A User-Mode Linux that panics aborts: no core file.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	leash := os.NewFile(keeperLeash, "leash")
	unix.CloseOnExec(keeperLeash)
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
	fmt.Fprintln(leash, -group) // so that Boot can end it if this process is killed
	go func() {
		_, _ = io.Copy(io.Discard, leash)
		_ = unix.Kill(group, unix.SIGKILL)
	}()
	err := machine.Wait()
	_ = unix.Kill(group, unix.SIGKILL) // helpers that outlive it
	var status *exec.ExitError
	if !errors.As(err, &status) {
		return 0
	}
	if wait := status.Sys().(syscall.WaitStatus); wait.Signaled() {
		return keeperSignalled + int(wait.Signal())
	}
	return status.ExitCode()
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
