package vm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A hosted machine is one that runs, under its keeper.
type hosted struct {
	keeper     *exec.Cmd
	unconfined error // why its processes are in no PID namespace of their own, nil where they are

	leash   *os.File // the end that lets the machine go when it closes
	results *os.File // to read
	console *os.File // to read

	ended   chan struct{} // closed once the keeper has ended
	status  *os.ProcessState
	release sync.Once
}

// start starts the machine. Its process group is its own, so that a Ctrl-C on the
// terminal does not reach it past us.
func start(program string, c *commandLine, initramfs *os.File) (h *hosted, err error) {
	var theirs, ours []*os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	for _, connect := range []func() (*os.File, *os.File, error){socketPair, os.Pipe, socketPair} {
		a, b, err := connect()
		if err != nil {
			return nil, fmt.Errorf("start a machine: %w", err)
		}
		theirs, ours = append(theirs, b), append(ours, a)
	}
	h = &hosted{leash: ours[0], console: ours[1], results: ours[2], ended: make(chan struct{})}
	h.keeper, h.unconfined, err = startKeeper(exec.Cmd{
		Path: program, Args: append([]string{keeperName}, c.argv...),
		Stdout: theirs[1], Stderr: theirs[1],
		ExtraFiles: []*os.File{theirs[0], initramfs, theirs[2]},
	})
	if err != nil {
		return nil, fmt.Errorf("start a machine: %w", err)
	}
	group := make(chan int, 1)
	go func() { // the keeper's only word; its end, or ours, ends the reading
		var pid int
		_, _ = fmt.Fscanln(h.leash, &pid)
		group <- pid
	}()
	go func() {
		_ = h.keeper.Wait() // status has it all
		h.status = h.keeper.ProcessState
		h.bury(<-group)
		close(h.ended)
	}()
	return h, nil
}

// bury ends what a keeper that somebody killed has left of its machine's process group:
// helpers of User-Mode Linux, which have no death signal and hold the results open. Of
// a keeper with a PID namespace of its own nothing is left.
func (h *hosted) bury(group int) {
	if w, ok := h.status.Sys().(syscall.WaitStatus); ok && w.Signaled() && group > 1 {
		_ = unix.Kill(-group, unix.SIGKILL)
	}
}

func socketPair() (*os.File, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "results"), os.NewFile(uintptr(fds[1]), "results"), nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// kill has the keeper end the machine. It may be called again, and from anywhere.
func (h *hosted) kill() {
	h.release.Do(func() { h.leash.Close() })
}

// keeperGrace is how long a keeper may take to end its machine, and the console to
// end after that.
const keeperGrace = 5 * time.Second

// close ends the machine if it still runs, and waits for it and for the end of its
// console.
func (h *hosted) close(words *console) {
	h.kill()
	select {
	case <-h.ended:
	case <-time.After(keeperGrace):
		_ = h.keeper.Process.Kill() // the machine's death signal follows
		<-h.ended
	}
	select {
	case <-words.done:
	case <-time.After(keeperGrace): // only where somebody killed the keeper
	}
	h.console.Close()
	h.results.Close()
}

// exit says how the machine ended; close must have returned.
func (h *hosted) exit() (code int, signal syscall.Signal, started bool) {
	if w, ok := h.status.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal(), true
	}
	code = h.status.ExitCode()
	switch {
	case code == keeperNotStarted:
		return code, 0, false
	case code > keeperSignalled:
		return -1, syscall.Signal(code - keeperSignalled), true
	}
	return code, 0, true
}

// errDeadline is the cause of a context whose time is up.
var errDeadline = errors.New("the time is up")
