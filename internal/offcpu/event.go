package offcpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

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
	fd     int
	memory []byte // of the ring: a page of control, then data
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
	memory, err := mapRing(fd, pages)
	if err != nil {
		unix.Close(fd)
		return nil, refused(err)
	}
	return &event{fd, memory}, nil
}

// mapRing maps a ring of so many pages, or of fewer where this user may not lock that
// much memory (kernel.perf_event_mlock_kb).
func mapRing(fd, pages int) ([]byte, error) {
	for {
		memory, err := unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != unix.EPERM || pages <= 1 {
			return memory, err
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
	_ = unix.Munmap(e.memory)
	unix.Close(e.fd)
}

// drain calls f with the records that are new, in order. The memory belongs to f
// until it returns.
func (e *event) drain(f func(kind uint32, misc uint16, body []byte)) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(e.memory)))
	data := e.memory[os.Getpagesize():]
	size := uint64(len(data))
	head, tail := atomic.LoadUint64(&page.Data_head), page.Data_tail
	var torn []byte // a record that goes round the ring's end
	for tail < head {
		at := tail % size
		length := uint64(binary.NativeEndian.Uint16(data[at+6:])) // the header is never torn: all is 8-byte aligned
		if length < 8 || length%8 != 0 || length > min(size, head-tail) {
			tail = head // what the kernel does not write
			break
		}
		record := data[at:min(at+length, size)]
		if at+length > size {
			torn = append(append(torn[:0], record...), data[:at+length-size]...)
			record = torn
		}
		f(binary.NativeEndian.Uint32(record), binary.NativeEndian.Uint16(record[4:]), record[8:])
		tail += length
	}
	atomic.StoreUint64(&page.Data_tail, tail)
}
