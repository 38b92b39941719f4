package profile

import (
	"encoding/binary"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/perfring"
)

// FuzzRing reads whatever a ring of records holds, wherever reading begins.
func FuzzRing(f *testing.F) {
	const size = 1 << 12
	sample := make([]byte, 64)
	binary.NativeEndian.PutUint32(sample, unix.PERF_RECORD_SAMPLE)
	binary.NativeEndian.PutUint16(sample[6:], uint16(len(sample)))
	binary.NativeEndian.PutUint64(sample[32:], 3)
	lost := make([]byte, 24)
	binary.NativeEndian.PutUint32(lost, unix.PERF_RECORD_LOST)
	binary.NativeEndian.PutUint16(lost[6:], uint16(len(lost)))
	f.Add(sample, uint64(0), uint64(64))
	f.Add(append(sample, lost...), uint64(size-16), uint64(88))
	f.Add(make([]byte, 8), uint64(0), uint64(size))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 12}, uint64(size-16), uint64(64)) // no multiple of 8
	f.Fuzz(func(t *testing.T, records []byte, from, length uint64) {
		from, length = from&^7%(1<<40), length&^7%(size+1)
		memory := make([]byte, os.Getpagesize()+size)
		page := (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(memory)))
		page.Data_head, page.Data_tail = from+length, from
		for i, b := range records[:min(len(records), size)] {
			memory[uint64(os.Getpagesize())+(from+uint64(i))%size] = b
		}
		s := &source{workers: []*worker{{}}}
		n := uint64(0)
		perfring.Over(memory).Read(func(kind uint32, misc uint16, body []byte) {
			n += 8 + uint64(len(body))
			s.take(kind, misc, body)
		})
		if n > length || page.Data_tail != from+length {
			t.Errorf("%d bytes of %d were read, to %d of %d", n, length, page.Data_tail, from+length)
		}
	})
}
