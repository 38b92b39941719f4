package offcpu

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Bits of a PERF_RECORD_SWITCH (include/uapi/linux/perf_event.h).
const (
	switchOut     = 1 << 13
	switchPreempt = 1 << 14 // the thread could have gone on
)

// contextMarkers and above are no addresses but say whose the addresses after them
// are (PERF_CONTEXT_MAX).
const contextMarkers = ^uint64(4095) + 1

// An absence is one time that the thread was without a CPU. Times are
// CLOCK_MONOTONIC, in ns.
type absence struct {
	out, in   int64
	preempted bool
	stack     []uint64 // kernel addresses, innermost first; nil: the kernel took none
}

// switches makes absences of the records of an event.
type switches struct {
	now  absence
	away bool
	lost int64 // records that the ring had no room for
}

// record takes one record and returns the absence that it ends, if it ends one. The
// absence's stack is good until the next call.
func (s *switches) record(kind uint32, misc uint16, body []byte) (absence, bool) {
	least := map[uint32]int{unix.PERF_RECORD_SAMPLE: 24, unix.PERF_RECORD_LOST: 16, unix.PERF_RECORD_SWITCH: 16}
	if len(body) < least[kind] {
		return absence{}, false // what the kernel does not write
	}
	switch kind {
	case unix.PERF_RECORD_SAMPLE: // pid and tid, time, number of addresses, addresses
		s.now.stack = s.now.stack[:0]
		count := binary.NativeEndian.Uint64(body[16:])
		for _, address := range words(body[24:], count) {
			if address < contextMarkers {
				s.now.stack = append(s.now.stack, address)
			}
		}
	case unix.PERF_RECORD_LOST: // id, number
		s.lost += int64(binary.NativeEndian.Uint64(body[8:]))
		s.away = false
	case unix.PERF_RECORD_SWITCH: // pid and tid, time
		time := int64(binary.NativeEndian.Uint64(body[8:]))
		if misc&switchOut != 0 {
			s.now.out, s.now.preempted, s.away = time, misc&switchPreempt != 0, true
			return absence{}, false
		}
		ended := s.now
		ended.in = time
		was := s.away
		s.away, s.now.stack = false, s.now.stack[:0]
		return ended, was
	}
	return absence{}, false
}

func words(b []byte, count uint64) []uint64 {
	count = min(count, uint64(len(b)/8))
	out := make([]uint64, count)
	for i := range out {
		out[i] = binary.NativeEndian.Uint64(b[i*8:])
	}
	return out
}
