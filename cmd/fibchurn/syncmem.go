package main

import (
	"io"
	"os"

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
// however it ends: a watchdog process sets it and puts it back. What befalls the
// watchdog is said on stderr; that the value did not last, or is not put back, is an
// error of release.
func holdSyncMem(bytes int, stderr io.Writer) (release func() error, err error) {
	if bytes == 0 {
		return func() error { return nil }, nil
	}
	if os.Geteuid() != 0 || machine.Rootless() {
		return nil, noSyncMem("it belongs to the whole machine, and this user is not root", "run as root")
	}
	if _, err := os.Stat(syncMemFile); err != nil {
		return nil, noSyncMem(err.Error(), "use Linux 5.1 or later, and run in the initial network namespace")
	}
	h := &syncMemHold{
		record:    syncMemRecord{Boot: machine.Boot(), PID: os.Getpid(), Set: bytes},
		stderr:    stderr,
		releasing: make(chan struct{}), guarded: make(chan struct{}),
	}
	if err := h.begin(); err != nil {
		return nil, err
	}
	go h.guard()
	return h.release, nil
}

func noSyncMem(why, help string) error {
	return &ns.UnsupportedError{What: "--sync-mem: net.ipv4.fib_sync_mem", Why: why, Help: help}
}
