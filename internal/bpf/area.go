// Package bpf has what BPF programs of several packages need: memory that a program
// and this process share, and the request to run a program.
package bpf

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// An Area is memory that a program and this process share: an array map of one
// value, which a program addresses without a call.
type Area struct {
	m      *ebpf.Map
	memory []byte
}

// NewArea makes an area of so many bytes, all 0 (Linux 5.5 and later).
func NewArea(name string, bytes int) (*Area, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(bytes), MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return nil, fmt.Errorf("make the map of %s: %w", name, err)
	}
	page := unix.Getpagesize()
	memory, err := unix.Mmap(m.FD(), 0, (bytes+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("map the map of %s: %w", name, err)
	}
	return &Area{m, memory[:bytes]}, nil
}

// FD is the descriptor by which a program names the area.
func (a *Area) FD() int { return a.m.FD() }

// Bytes is the memory.
func (a *Area) Bytes() []byte { return a.memory }

// Words is the memory as words of 64 bits; what does not fill one is left out.
func (a *Area) Words() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(a.memory))), len(a.memory)/8)
}

// Close gives the memory up. A nil area has none.
func (a *Area) Close() {
	if a != nil {
		_ = unix.Munmap(a.memory[:cap(a.memory)])
		a.m.Close()
	}
}
