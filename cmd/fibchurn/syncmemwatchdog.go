package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogArgument makes this program a watchdog of fib_sync_mem. It is no flag:
// main sees to it before the command line is read.
const watchdogArgument = "--watch-fib-sync-mem"

// The words of a watchdog to its parent. Any other line is an error.
const (
	watchdogReady = "ready"
	watchdogBusy  = "busy"
)

const syncMemFile = "/proc/sys/net/ipv4/fib_sync_mem"

// syncMemLock is an abstract socket that a watchdog is bound to as long as it holds
// the value. It belongs to the network namespace, as the sysctl does, and goes with
// the process, so a lock is never left behind.
const syncMemLock = "@fibchurn/net.ipv4.fib_sync_mem"

// lockPatience is how long a watchdog waits for one before it, whose fibchurn has
// ended, to put its value back.
const lockPatience = 2 * time.Second

// watchSyncMem is a watchdog's life: it sets fib_sync_mem, reports to descriptor 4,
// waits for the end of its parent or of the pipe at descriptor 3, and puts the value
// back. No signal but SIGKILL ends it before. It returns the exit code.
func watchSyncMem(value string) int {
	signal.Ignore()
	control, report := os.NewFile(3, "control"), os.NewFile(4, "report")
	if control == nil || report == nil {
		return exitUsage
	}
	// Where memory runs out the kernel should choose another process.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	lock, err := lockSyncMem()
	if errors.Is(err, unix.EADDRINUSE) {
		fmt.Fprintln(report, watchdogBusy)
		return exitFailed
	}
	if err == nil {
		defer lock.Close()
		err = keepSyncMem(value, control, report)
	}
	if err != nil {
		fmt.Fprintln(report, err)
		return exitFailed
	}
	return exitOK
}

// keepSyncMem sets the value until the end of control.
func keepSyncMem(value string, control io.Reader, report io.Writer) error {
	before, err := os.ReadFile(syncMemFile)
	if err != nil {
		return err
	}
	if err := os.WriteFile(syncMemFile, []byte(value), 0); err != nil {
		return err
	}
	fmt.Fprintln(report, watchdogReady)
	_, _ = io.Copy(io.Discard, control)
	now, err := os.ReadFile(syncMemFile)
	if err == nil && string(bytes.TrimSpace(now)) != value {
		return nil // someone else has set it since: it is theirs
	}
	return os.WriteFile(syncMemFile, before, 0)
}

// lockSyncMem binds the lock.
func lockSyncMem() (lock net.Listener, err error) {
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		lock, err = net.Listen("unix", syncMemLock)
		if !errors.Is(err, unix.EADDRINUSE) || time.Now().After(deadline) {
			return lock, err
		}
	}
}
