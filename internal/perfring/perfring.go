// Package perfring reads the records that the kernel writes to the memory of a perf
// event (perf_event_open(2), struct perf_event_mmap_page).
package perfring

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Ring is that memory.
type Ring struct {
	memory []byte
	header *unix.PerfEventMmapPage
	data   []byte        // a power of two
	seen   atomic.Uint64 // all before it has been read
	record []byte        // one that goes around the end
}

// Map maps the ring of an event: a page of control and so many of data, a power of two.
func Map(fd, pages int) (*Ring, error) {
	size := (1 + pages) * os.Getpagesize()
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d KiB for the records of a perf event: %w", size>>10, err)
	}
	return Over(memory), nil
}

// Over is the ring in memory that was mapped already.
func Over(memory []byte) *Ring {
	r := &Ring{
		memory: memory, header: (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(memory))),
		data: memory[os.Getpagesize():], record: make([]byte, 0, 1<<16), // longer than any record
	}
	r.seen.Store(r.header.Data_tail)
	return r
}

// Unmap gives the memory back.
func (r *Ring) Unmap() error { return unix.Munmap(r.memory) }

// News reports whether the kernel has written anything that was not read: one load of
// memory that the kernel writes to.
func (r *Ring) News() bool { return r.fill() > 0 }

// Filling reports whether more than a quarter of the ring has not been read.
func (r *Ring) Filling() bool { return r.fill() > uint64(len(r.data)/4) }

func (r *Ring) fill() uint64 { return atomic.LoadUint64(&r.header.Data_head) - r.seen.Load() }

// Read passes on the records that have come, in order: the kind and misc of their
// header (struct perf_event_header), and what is behind it, which is good until f
// returns. The memory is the kernel's again when Read returns. What no kernel writes,
// and all after it, is passed over.
func (r *Ring) Read(f func(kind uint32, misc uint16, body []byte)) {
	head, at := atomic.LoadUint64(&r.header.Data_head), r.seen.Load()
	for at < head {
		const header = 8 // goes around no end: records are multiples of it
		from := at & uint64(len(r.data)-1)
		kind := binary.NativeEndian.Uint32(r.data[from:])
		misc := binary.NativeEndian.Uint16(r.data[from+4:])
		size := uint64(binary.NativeEndian.Uint16(r.data[from+6:]))
		if size < header || size%8 != 0 || size > min(uint64(len(r.data)), head-at) {
			break
		}
		if end := from + size; end <= uint64(len(r.data)) {
			f(kind, misc, r.data[from+header:end])
		} else {
			r.record = append(append(r.record[:0], r.data[from:]...), r.data[:end-uint64(len(r.data))]...)
			f(kind, misc, r.record[header:])
		}
		at += size
	}
	r.seen.Store(head)
	atomic.StoreUint64(&r.header.Data_tail, head)
}
