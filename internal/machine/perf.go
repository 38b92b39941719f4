package machine

import (
	"errors"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const eventSources = "sys/bus/event_source/devices"

// probeKprobes goes by the event source that perf_event_open takes for kprobes
// (perf_kprobe, kernel/events/core.c; CONFIG_KPROBE_EVENTS) and by the privileges
// it asks for. Setting one would be a change: it patches the running kernel.
func probeKprobes(t tree) finding {
	p, err := readPrivileges()
	if err != nil {
		return finding{Unknown, err.Error()}
	}
	return judgeKprobes(t, p)
}

func judgeKprobes(t tree, p privileges) finding {
	switch {
	case !t.exists("sys/kernel"):
		return finding{Unknown, "/sys is not mounted"}
	case !t.exists(eventSources):
		return finding{Missing, "this kernel has no perf events, which kprobes are set through"}
	case !t.exists(eventSources + "/kprobe/type"):
		return finding{Missing, "this kernel has no kprobe events"}
	case lockdownLevel(t) == "confidentiality":
		return finding{Missing, "kernel lockdown is at confidentiality, which forbids kprobes"}
	case !p.has(unix.CAP_PERFMON) && !p.has(unix.CAP_SYS_ADMIN):
		return finding{Missing, "this kernel has kprobe events, but not for this user: CAP_PERFMON is missing"}
	case t.text("proc/self/uid_map") == "":
		return finding{Unknown, "/proc/self/uid_map does not say in which user namespace this is"}
	case !initialUserNamespace(t.text("proc/self/uid_map")):
		return finding{Missing, "this kernel has kprobe events, but not for a user namespace"}
	}
	return finding{OK, "this kernel has kprobe events, and this user the privilege (none was set)"}
}

// lockdownLevel reads the level in brackets of "none [integrity] confidentiality";
// "" where the kernel has no lockdown or securityfs is not mounted.
func lockdownLevel(t tree) string {
	_, rest, _ := strings.Cut(t.text("sys/kernel/security/lockdown"), "[")
	level, _, _ := strings.Cut(rest, "]")
	return level
}

// sampleFrequency is in samples a second; nothing is sampled before an event is
// enabled, which the probes do not do.
const sampleFrequency = 99

func probeCPUClock(t tree) finding {
	return judgeEvent(t, tryEvent(unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample:      sampleFrequency,
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID,
		Bits:        unix.PerfBitFreq,
	}))
}

func probeCycles(t tree) finding {
	return judgeEvent(t, tryEvent(unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_CPU_CYCLES,
	}))
}

// An eventTrial is how an event could be opened for this process.
type eventTrial struct {
	kernel error // kernel and user space
	user   error // user space only; tried only where kernel failed
}

// tryEvent opens the event, disabled, and closes it.
func tryEvent(attr unix.PerfEventAttr) eventTrial {
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Bits |= unix.PerfBitDisabled
	var trial eventTrial
	if trial.kernel = openEvent(&attr); trial.kernel != nil {
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
		trial.user = openEvent(&attr)
	}
	return trial
}

func openEvent(attr *unix.PerfEventAttr) error {
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func judgeEvent(t tree, trial eventTrial) finding {
	paranoid := sysctls(t, "kernel.perf_event_paranoid")
	err := trial.kernel
	if refused(err) && trial.user == nil {
		return finding{Missing, "only user space can be watched by this user" + paranoid}
	}
	if refused(err) {
		err = trial.user // the privilege is checked first: this says whether there is a counter
	}
	switch {
	case err == nil:
		return finding{OK, "can be opened for kernel and user space" + paranoid}
	case refused(err):
		return finding{Missing, "perf_event_open(2) is refused to this user" + paranoid}
	case errors.Is(err, unix.ENOSYS):
		return finding{Missing, "this kernel has no perf events"}
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		return finding{Missing, "this kernel drives no such counter on this machine"}
	default:
		return finding{Unknown, "perf_event_open(2): " + err.Error() + paranoid}
	}
}

func refused(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}
