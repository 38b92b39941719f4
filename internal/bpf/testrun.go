package bpf

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A TestRun is the part of union bpf_attr (include/uapi/linux/bpf.h) that
// BPF_PROG_TEST_RUN takes. Pointers are kept as numbers: what they point to must be
// held by the caller, and must not move.
type TestRun struct {
	Program, Result         uint32
	SizeIn, SizeOut         uint32
	DataIn, DataOut         uint64
	Repeat, Duration        uint32
	ContextIn, ContextOut   uint32 // sizes
	ContextData, contextEnd uint64
	Flags, CPU, Batch, zero uint32
}

// Run makes the call from the calling thread, in whose network namespace the
// program runs. EINTR says that a signal ended it early (bpf_test_timer_continue,
// net/bpf/test_run.c).
func (t *TestRun) Run() error {
	const testRun = 10 // BPF_PROG_TEST_RUN
	if _, _, errno := unix.Syscall(unix.SYS_BPF, testRun, uintptr(unsafe.Pointer(t)), unsafe.Sizeof(*t)); errno != 0 {
		return errno
	}
	return nil
}
