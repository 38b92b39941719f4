package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/machine"
	"fibchurn/ns"
)

// syncMemFlags change a sysctl of the whole machine for the time of a session.
func syncMemFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "sync-mem", Value: numberOf(0), Usage: "set net.ipv4.fib_sync_mem of this machine to so many bytes until the end"},
		&cli.BoolFlag{Name: "allow-host-sysctl", Usage: "allow --sync-mem to change this machine"},
	}
}

// The bounds of fib_sync_mem (fib_sync_mem_min and fib_sync_mem_max,
// net/ipv4/sysctl_net_ipv4.c).
const (
	minSyncMem = 64 << 10
	maxSyncMem = 64 << 20
)

// syncMemOf checks the flags; 0 leaves the sysctl alone.
func syncMemOf(c *cli.Context) (int, error) {
	set := at(c, "sync-mem")
	bytes := countOf(set, "sync-mem")
	switch {
	case !set.IsSet("sync-mem"):
		return 0, noAllowance(c)
	case bytes < minSyncMem || bytes > maxSyncMem:
		return 0, usageErrorf("--sync-mem %d: the kernel takes %d to %d bytes", bytes, minSyncMem, maxSyncMem)
	case !at(c, "allow-host-sysctl").Bool("allow-host-sysctl"):
		return 0, usageErrorf("--sync-mem %d: changes this machine's net.ipv4.fib_sync_mem while fibchurn runs; --allow-host-sysctl allows it", bytes)
	}
	return bytes, nil
}

// holdSyncMem sets fib_sync_mem until release is called or this process ends,
// however it ends: a watchdog process sets it and puts it back.
func holdSyncMem(bytes int) (release func() error, err error) {
	if bytes == 0 {
		return func() error { return nil }, nil
	}
	if os.Geteuid() != 0 || machine.Rootless() {
		return nil, noSyncMem("it belongs to the whole machine, and this user is not root", "run as root")
	}
	if _, err := os.Stat(syncMemFile); err != nil {
		return nil, noSyncMem(err.Error(), "use Linux 5.1 or later, and run in the initial network namespace")
	}
	dog, err := startWatchdog(bytes)
	if err != nil {
		return nil, fmt.Errorf("start the process that puts net.ipv4.fib_sync_mem back: %w", err)
	}
	if err := dog.ready(); err != nil {
		_ = dog.release() // it has changed nothing
		return nil, err
	}
	return dog.release, nil
}

func noSyncMem(why, help string) error {
	return &ns.UnsupportedError{What: "--sync-mem: net.ipv4.fib_sync_mem", Why: why, Help: help}
}

// A watchdog is the process that holds fib_sync_mem, as its parent sees it.
type watchdog struct {
	cmd     *exec.Cmd
	control *os.File // to be closed: the watchdog puts the value back and ends
	report  *bufio.Reader
}

// startWatchdog executes this program as a watchdog, in a session of its own, out
// of reach of the terminal's signals.
func startWatchdog(bytes int) (*watchdog, error) {
	controlled, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlled.Close()
	report, reporter, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer reporter.Close()
	cmd := exec.Command("/proc/self/exe", watchdogArgument, strconv.Itoa(bytes))
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.ExtraFiles = []*os.File{controlled, reporter} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		control.Close()
		report.Close()
		return nil, err
	}
	return &watchdog{cmd: cmd, control: control, report: bufio.NewReader(report)}, nil
}

// ready waits until the value is set.
func (w *watchdog) ready() error {
	line, err := w.report.ReadString('\n')
	switch line = strings.TrimSpace(line); {
	case line == watchdogReady:
		return nil
	case line == watchdogBusy:
		return noSyncMem("another fibchurn holds it", "wait until that has ended")
	case line != "":
		return errors.New(line)
	}
	return fmt.Errorf("the process that puts net.ipv4.fib_sync_mem back has ended: %w", err)
}

// release has the value put back and waits for that.
func (w *watchdog) release() error {
	w.control.Close()
	text, _ := io.ReadAll(w.report)
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("put net.ipv4.fib_sync_mem back: %s (%w)", strings.TrimSpace(string(text)), err)
	}
	return nil
}
