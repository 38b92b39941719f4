package offcpu

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/perfring"
)

// FuzzRing reads whatever a ring of records holds, wherever reading begins.
func FuzzRing(f *testing.F) {
	f.Add(recorded(), uint64(0), uint64(len(recorded())))
	f.Add(recorded(), uint64(4000), uint64(len(recorded())))
	f.Add(make([]byte, 64), uint64(0), uint64(64))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 12}, uint64(4080), uint64(64)) // no multiple of 8
	f.Add(record(unix.PERF_RECORD_SAMPLE, 0, 1, 2, 1<<63), uint64(8), uint64(32))
	f.Fuzz(func(t *testing.T, records []byte, from, length uint64) {
		const size = 1 << 12
		from, length = from&^7%(1<<40), length&^7%(size+1)
		memory := make([]byte, os.Getpagesize()+size)
		page := (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(memory)))
		page.Data_head, page.Data_tail = from+length, from
		for i, b := range records[:min(len(records), size)] {
			memory[uint64(os.Getpagesize())+(from+uint64(i))%size] = b
		}
		var s switches
		n := uint64(0)
		perfring.Over(memory).Read(func(kind uint32, misc uint16, body []byte) {
			n += 8 + uint64(len(body))
			if a, ended := s.record(kind, misc, body); ended && len(a.stack) > size/8 {
				t.Errorf("a stack of %d", len(a.stack))
			}
		})
		if n > length || page.Data_tail != from+length {
			t.Errorf("%d bytes of %d were read, to %d of %d", n, length, page.Data_tail, from+length)
		}
	})
}
