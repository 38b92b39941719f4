package ns

import "golang.org/x/sys/unix"

// urgently runs f with the calling thread at a real-time priority, where the user
// may have one (CAP_SYS_NICE), so that a notification wakes it although the kernel's
// own thread keeps the CPU. f must mostly wait. The goroutine must be locked to its
// thread.
func urgently(f func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		f()
		return
	}
	urgent := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if unix.SchedSetAttr(0, &urgent, 0) != nil {
		f()
		return
	}
	defer func() { _ = unix.SchedSetAttr(0, before, 0) }() // back to what it was cannot be refused
	f()
}
