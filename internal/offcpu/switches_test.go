package offcpu

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/perfring"
)

// record is a perf record of these words.
func record(kind uint32, misc uint16, words ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(8+8*len(words)))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

const kernelMarker = ^uint64(128) + 1 // PERF_CONTEXT_KERNEL

// recorded are three times without a CPU: preempted, waiting, and one before which
// the ring was full, so that nobody knows when it began; and the end of one that began
// before the event was there.
func recorded() []byte {
	return slices.Concat(
		record(unix.PERF_RECORD_SWITCH, 0, 1, 50),
		record(unix.PERF_RECORD_SAMPLE, 1, 1, 99, 3, kernelMarker, 0xa1, 0xa2),
		record(unix.PERF_RECORD_SWITCH, switchOut|switchPreempt, 1, 100),
		record(unix.PERF_RECORD_SWITCH, 0, 1, 130),
		record(unix.PERF_RECORD_SAMPLE, 1, 1, 199, 4, kernelMarker, 0xb1, 0xb2, 0xb3),
		record(unix.PERF_RECORD_SWITCH, switchOut, 1, 200),
		record(unix.PERF_RECORD_SWITCH, 0, 1, 260),
		record(unix.PERF_RECORD_SWITCH, switchOut, 1, 300), // without a sample: throttled
		record(unix.PERF_RECORD_SWITCH, 0, 1, 310),
		record(unix.PERF_RECORD_SWITCH, switchOut, 1, 400),
		record(unix.PERF_RECORD_LOST, 0, 7, 2, 1, 1),
		record(unix.PERF_RECORD_SWITCH, 0, 1, 500),
	)
}

func TestSwitches(t *testing.T) {
	var s switches
	var got []absence
	for b := recorded(); len(b) > 0; {
		length := binary.NativeEndian.Uint16(b[6:])
		a, ended := s.record(binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:]), b[8:length])
		if ended {
			a.stack = slices.Clone(a.stack)
			got = append(got, a)
		}
		b = b[length:]
	}
	want := []absence{
		{100, 130, true, []uint64{0xa1, 0xa2}},
		{200, 260, false, []uint64{0xb1, 0xb2, 0xb3}},
		{300, 310, false, nil},
	}
	same := slices.EqualFunc(got, want, func(a, b absence) bool {
		return a.out == b.out && a.in == b.in && a.preempted == b.preempted && slices.Equal(a.stack, b.stack)
	})
	if !same || s.lost != 2 {
		t.Errorf("got %+v and %d lost, want %+v and 2", got, s.lost, want)
	}
}

// Records that go round the end of the ring come whole, and each once.
func TestDrainGoesRound(t *testing.T) {
	page := os.Getpagesize()
	memory := make([]byte, 2*page)
	control := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))
	data := memory[page:]
	records := recorded()
	for _, start := range []uint64{0, uint64(page) - 8, uint64(page) - 16, uint64(page) - uint64(len(records)) + 8, uint64(3*page) - 40} {
		for i, b := range records {
			data[(start+uint64(i))%uint64(page)] = b
		}
		control.Data_tail, control.Data_head = start, start+uint64(len(records))
		ring := perfring.Over(memory)
		var got []byte
		ring.Read(func(kind uint32, misc uint16, body []byte) {
			got = binary.NativeEndian.AppendUint32(got, kind)
			got = binary.NativeEndian.AppendUint16(got, misc)
			got = binary.NativeEndian.AppendUint16(got, uint16(8+len(body)))
			got = append(got, body...)
		})
		if !slices.Equal(got, records) || control.Data_tail != control.Data_head {
			t.Errorf("from %d: %d bytes of %d, tail %d, head %d", start, len(got), len(records), control.Data_tail, control.Data_head)
		}
		ring.Read(func(uint32, uint16, []byte) { t.Error("a record came twice") })
	}
}
