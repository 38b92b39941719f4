package offcpu

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/perfring"
	"fibchurn/ns"
)

// The size of a thread's ring in pages, a power of two. At some 250 bytes a wait the
// large one has room for 4000 waits in one call, the small one, of runs with many
// threads, for 250.
const (
	largeRing = 256
	smallRing = 16
)

// An event is a perf event of the thread that opened it: the kernel writes down each
// time the thread leaves the CPU, with its stack, and each time it gets one again.
type event struct {
	fd   int
	ring *perfring.Ring
}

// openEvent opens the event on the calling thread: a sample of the software event
// "context switches" has the stack (perf_event_task_sched_out, Linux 2.6.31), and
// PERF_RECORD_SWITCH the moments (Linux 4.3; whether it was preempted, 4.17).
func openEvent(pages int) (*event, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN,
		Bits: unix.PerfBitContextSwitch | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID |
			unix.PerfBitExcludeCallchainUser,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, refused(err)
	}
	ring, err := mapRing(fd, pages)
	if err != nil {
		unix.Close(fd)
		return nil, refused(err)
	}
	return &event{fd, ring}, nil
}

// mapRing maps a ring of so many pages, or of fewer where this user may not lock that
// much memory (kernel.perf_event_mlock_kb).
func mapRing(fd, pages int) (*perfring.Ring, error) {
	for {
		ring, err := perfring.Map(fd, pages)
		if !errors.Is(err, unix.EPERM) || pages <= 1 {
			return ring, err
		}
		pages /= 2
	}
}

func refused(err error) error {
	const what = "an account of what the timed thread waited for"
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &ns.UnsupportedError{What: what, Why: "this user may not use perf_event_open(2) on the kernel", Help: "run as root, or lower kernel.perf_event_paranoid to 1"}
	case errors.Is(err, unix.ENOSYS):
		return &ns.UnsupportedError{What: what, Why: "the kernel has no perf_event_open(2)", Help: "use a kernel with CONFIG_PERF_EVENTS"}
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return &ns.UnsupportedError{What: what, Why: "the kernel's perf events do not tell of context switches", Help: "use Linux 4.17 or later"}
	}
	return fmt.Errorf("perf_event_open: %w", err)
}

func (e *event) close() {
	_ = e.ring.Unmap() // of memory that Mmap returned
	unix.Close(e.fd)
}
