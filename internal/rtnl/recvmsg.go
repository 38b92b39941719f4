package rtnl

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// recvmsg is recvmsg(2) without waiting and without the allocations that
// unix.Recvmsg makes for the sender's address.
func recvmsg(fd int, buf []byte) (n int, flags int32, err error) {
	iov := unix.Iovec{Base: unsafe.SliceData(buf)}
	iov.SetLen(len(buf))
	hdr := unix.Msghdr{Iov: &iov, Iovlen: 1}
	r, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&hdr)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(r), hdr.Flags, nil
}
