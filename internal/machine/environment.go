// Package machine says what this machine and kernel are and what they can do: the
// environment of a run, what in it makes figures doubtful, and the capabilities
// that fibchurn builds on.
//
// It reads /proc, /sys, /dev and /boot and changes nothing. What it could not find
// out it leaves empty or calls unknown.
package machine

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fibchurn/results"
)

// cpuinfoLimit bounds what is read of /proc/cpuinfo, in bytes: 1,000 CPUs of x86.
const cpuinfoLimit = 2 << 20

// Environment describes this machine for a run's record. The version is this
// program's (see Version). LinkKind, LinkAuto and Rootless stay as they are by
// default: they belong to the run.
//
// Debug is nil where it could not be found out which debug options are in force,
// and empty, not nil, where there are none. FibSyncMem is -1 where it cannot be
// read: before Linux 5.1, outside of the initial network namespace, and so in a
// process that was started in a namespace of its own.
//
// It takes some milliseconds, and some 100 ms where the kernel's configuration
// cannot be found: call it once a process. It may be called from a thread in
// another network namespace.
func Environment(version string) results.Environment {
	// A goroutine of its own is never on a thread that another goroutine locked,
	// so it is in the namespace that the process was started in.
	found := make(chan results.Environment)
	go func() { found <- environment(running, uname(), version) }()
	return <-found
}

// A kernelName is what uname(2) says.
type kernelName struct {
	release, version, machine string
}

// uname cannot fail but for a bad address.
func uname() kernelName {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return kernelName{
		release: unix.ByteSliceToString(u.Release[:]),
		version: unix.ByteSliceToString(u.Version[:]),
		machine: unix.ByteSliceToString(u.Machine[:]),
	}
}

func environment(t tree, kernel kernelName, version string) results.Environment {
	text, _ := t.read("proc/cpuinfo", cpuinfoLimit)
	cpu := parseCPUInfo(text)
	commandLine := t.text("proc/cmdline")
	return results.Environment{
		Kernel:         kernel.release,
		KernelVersion:  kernel.version,
		Arch:           kernel.machine,
		CommandLine:    commandLine,
		CPU:            cpu.model,
		CPUs:           onlineCPUs(t, cpu),
		Virtualisation: virtualisation(t, cpu, commandLine),
		ClockSource:    t.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Governor:       t.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		FibSyncMem:     fibSyncMem(t),
		Debug:          debugInForce(t, kernel.release, commandLine),
		Fibchurn:       version,
	}
}

// onlineCPUs counts the list in /sys, and the blocks of /proc/cpuinfo where there
// is no such list.
func onlineCPUs(t tree, cpu cpuInfo) int {
	if n := countCPUList(t.text("sys/devices/system/cpu/online")); n > 0 {
		return n
	}
	return cpu.processors
}

// maxCPUs is above what any kernel can be built for (NR_CPUS).
const maxCPUs = 1 << 16

// countCPUList counts a list as "0-3,5" (Documentation/admin-guide/cputopology.rst);
// 0 says that it is none.
func countCPUList(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || first < 0 || last < first || last >= maxCPUs {
			return 0
		}
		n += last - first + 1
	}
	return n
}

// FibSyncMem is net.ipv4.fib_sync_mem of this machine, -1 where it cannot be read:
// see Environment.
func FibSyncMem() int64 { return fibSyncMem(running) }

// fibSyncMem reads the bytes of routes that may wait for a grace period before a
// writer waits itself (net/ipv4/sysctl_net_ipv4.c, since 5.1). The sysctl directory
// shows what belongs to the reading thread's network namespace.
func fibSyncMem(t tree) int64 {
	n, err := strconv.ParseInt(t.text("proc/sys/net/ipv4/fib_sync_mem"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
