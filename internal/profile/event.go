package profile

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/perfring"
	"fibchurn/ns"
)

// An event is what samples are taken by.
type event struct {
	name         string // as the record has it
	kind, config uint64
	bits         uint64
}

// events are those that are tried, the best first. The counter of cycles interrupts
// also where interrupts are off, with an NMI; the timer of cpu-clock
// (perf_swevent_hrtimer, kernel/events/core.c) fires once they are on again.
func events() []event {
	return []event{
		{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, unix.PerfBitExcludeGuest},
		{"cpu-clock", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK, 0},
	}
}

// open opens the event for a thread (0: the calling one) on any CPU, or for all
// threads (-1) on one CPU. It counts at once.
func (e *event) open(thread, cpu, hz int) (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type: uint32(e.kind), Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      uint64(hz),
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN,
		Bits:        unix.PerfBitFreq | unix.PerfBitUseClockID | e.bits,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	return unix.PerfEventOpen(&attr, thread, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// hold opens an event of a thread that counts nothing. With the first such event the
// kernel patches its scheduler, and a second after the last has gone once more
// (perf_sched_events, kernel/events/core.c). So it does not in the middle of runs, and
// all runs of a session have one scheduler; emulated CPUs do not always survive it.
func hold() (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	return unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// choose returns the first event that can be opened here, or an
// *ns.UnsupportedError that says why there is none.
func choose(scope string, cpus []int, hz int) (*event, error) {
	thread, cpu := 0, -1
	if scope == CPUs {
		thread, cpu = -1, cpus[0]
	}
	var reason error
	for _, e := range events() {
		fd, err := e.open(thread, cpu, hz)
		if err == nil {
			r, err := perfring.Map(fd, ringPages(hz))
			if err == nil {
				err = r.Unmap()
			}
			if closeErr := unix.Close(fd); err == nil {
				err = closeErr
			}
			if err == nil {
				return &e, nil
			}
			return nil, unsupported(fmt.Sprintf("the samples' memory: %v", err), "raise the sysctl kernel.perf_event_mlock_kb, or run as root")
		}
		if reason == nil || !missing(err) {
			reason = err
		}
	}
	return nil, refused(reason)
}

// missing reports whether the error is that there is no such counter.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV)
}

func unsupported(why, help string) error {
	return &ns.UnsupportedError{What: "a profile", Why: why, Help: help}
}

func refused(err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return unsupported("this user may not sample the kernel"+paranoid(), "run as root, or with CAP_PERFMON in the initial user namespace")
	case errors.Is(err, unix.ENOSYS):
		return unsupported("this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS")
	case missing(err):
		return unsupported("this kernel drives neither a counter of cycles nor cpu-clock", "use another kernel")
	}
	return unsupported("perf_event_open(2): "+err.Error(), "the kernel's log may say more")
}

func paranoid() string {
	if n, err := sysctl("perf_event_paranoid"); err == nil {
		return fmt.Sprintf(" (kernel.perf_event_paranoid = %d)", n)
	}
	return ""
}

// sysctl reads a number of /proc/sys/kernel.
func sysctl(name string) (int, error) {
	text, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// onlineCPUs lists them by /proc/stat, which is where /sys is not.
func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, fmt.Errorf("list the CPUs: %w", err)
	}
	var cpus []int
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		number, ok := strings.CutPrefix(name, "cpu")
		if n, err := strconv.Atoi(number); ok && err == nil {
			cpus = append(cpus, n)
		}
	}
	if cpus == nil {
		return nil, errors.New("list the CPUs: /proc/stat has none")
	}
	return cpus, nil
}

// A ring holds so many bytes of a sample, so long, at least: a stack of 60 functions,
// and several times as long as its reader sleeps.
const (
	sampleBytes   = 512
	samplesSecond = 5 // parts of a second
)

// ringPages is the size of a ring for so many samples a second.
func ringPages(hz int) int {
	pages := 16
	for pages*os.Getpagesize() < hz*sampleBytes/samplesSecond {
		pages *= 2
	}
	return pages
}
