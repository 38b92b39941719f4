package rtnl

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// listenPatience is how long one read of a Listener waits.
const listenPatience = 50 * time.Millisecond

// A Listener is an rtnetlink socket that gets the notifications of multicast
// groups, with the receive buffer that every socket has by default. It is not safe
// for concurrent use.
type Listener struct {
	fd int
	in []byte
}

// Listen opens a Listener in the network namespace that netns refers to and joins
// groups (RTNLGRP_IPV4_ROUTE...). Like Dial it refuses the process's own namespace.
// The error wraps ENOPROTOOPT on kernels that cannot say how many messages a
// socket lost (SO_MEMINFO, before Linux 4.12).
func Listen(netns *os.File, groups ...uint32) (*Listener, error) {
	if err := refuseOwn(netns); err != nil {
		return nil, err
	}
	nl, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{NetNS: int(netns.Fd())})
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	defer nl.Close()
	for _, group := range groups {
		if err := nl.JoinGroup(group); err != nil {
			return nil, fmt.Errorf("join rtnetlink group %d: %w", group, err)
		}
	}
	fd, err := takeOver(nl)
	if err != nil {
		return nil, fmt.Errorf("take over rtnetlink socket: %w", err)
	}
	l := &Listener{fd: fd, in: make([]byte, 64<<10)}
	if err := l.configure(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// configure makes reads block, but not for longer than listenPatience.
func (l *Listener) configure() error {
	if err := unix.SetNonblock(l.fd, false); err != nil {
		return fmt.Errorf("make rtnetlink socket block: %w", err)
	}
	patience := unix.NsecToTimeval(listenPatience.Nanoseconds())
	if err := unix.SetsockoptTimeval(l.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		return fmt.Errorf("set SO_RCVTIMEO: %w", err)
	}
	_, err := l.Drops()
	return err
}

// Read waits a moment for the next datagram and returns how many messages it held;
// 0 says that there was none. It allocates nothing. That the kernel dropped
// messages is no error here: see Drops.
func (l *Listener) Read() (messages int, err error) {
	for {
		n, err := unix.Read(l.fd, l.in)
		switch err {
		case nil:
			return countMessages(l.in[:n])
		case unix.EINTR, unix.ENOBUFS: // ENOBUFS tells of an overrun, once
			continue
		case unix.EAGAIN:
			return 0, nil
		}
		return 0, fmt.Errorf("read notifications: %w", err)
	}
}

func countMessages(data []byte) (n int, err error) {
	for len(data) > 0 {
		if _, data, err = nextMessage(data); err != nil {
			return n, fmt.Errorf("read notifications: %w", err)
		}
		n++
	}
	return n, nil
}

// Drops is the number of messages that the kernel had no room for in the socket's
// receive buffer (sk_drops, netlink_overrun, net/netlink/af_netlink.c).
func (l *Listener) Drops() (int64, error) {
	const drops = 8 // SK_MEMINFO_DROPS, include/uapi/linux/sock_diag.h
	var info [drops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(l.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("read the socket's drops (SO_MEMINFO): %w", errno)
	}
	return int64(info[drops]), nil
}

// ReceiveBuffer is the size of the socket's receive buffer in bytes, as the kernel
// accounts for it (SO_RCVBUF).
func (l *Listener) ReceiveBuffer() (int, error) {
	n, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0, fmt.Errorf("read SO_RCVBUF: %w", err)
	}
	return n, nil
}

// Close closes the socket.
func (l *Listener) Close() error { return unix.Close(l.fd) }
