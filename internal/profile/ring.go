package profile

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A ring is the memory that the kernel writes an event's records to.
type ring struct {
	memory []byte
	header *unix.PerfEventMmapPage
	data   []byte        // a power of two
	seen   atomic.Uint64 // all before it has been read
	record []byte        // one that goes around the end
}

// A ring holds so many bytes of a sample, so long, at least: a stack of 60 functions,
// and several times as long as its reader sleeps.
const (
	sampleBytes   = 512
	samplesSecond = 5 // parts of a second
)

// newRing maps the ring of an event.
func newRing(fd, hz int) (*ring, error) {
	page := os.Getpagesize()
	size := 16 * page
	for size < hz*sampleBytes/samplesSecond {
		size *= 2
	}
	memory, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d KiB for samples: %w", (page+size)>>10, err)
	}
	return &ring{
		memory: memory, header: (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(memory))),
		data: memory[page:], record: make([]byte, 0, 1<<16),
	}, nil
}

func (r *ring) release() error { return unix.Munmap(r.memory) }

// news reports whether the kernel has written anything that was not read.
func (r *ring) news() bool { return r.fill() > 0 }

// fill is how many bytes have not been read.
func (r *ring) fill() uint64 { return atomic.LoadUint64(&r.header.Data_head) - r.seen.Load() }

// read passes on the records that have come, their kind and what is behind their
// header (struct perf_event_header), which is good until f returns. The ring's memory
// is the kernel's again when it returns.
func (r *ring) read(f func(kind uint32, body []byte)) {
	head, at := atomic.LoadUint64(&r.header.Data_head), r.seen.Load()
	for at < head {
		const header = 8 // goes around no end: records are multiples of it
		from := at & uint64(len(r.data)-1)
		kind := binary.NativeEndian.Uint32(r.data[from:])
		size := uint64(binary.NativeEndian.Uint16(r.data[from+6:]))
		if size < header || size%8 != 0 || size > min(uint64(len(r.data)), head-at) {
			break // what the kernel does not write
		}
		if end := from + size; end <= uint64(len(r.data)) {
			f(kind, r.data[from+header:end])
		} else {
			r.record = append(append(r.record[:0], r.data[from:]...), r.data[:end-uint64(len(r.data))]...)
			f(kind, r.record[header:])
		}
		at += size
	}
	r.seen.Store(head)
	atomic.StoreUint64(&r.header.Data_tail, head)
}
