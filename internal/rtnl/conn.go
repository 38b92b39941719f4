package rtnl

import (
	"errors"
	"fmt"
	"os"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrInitialNamespace is returned by Dial for the network namespace that the
// process itself lives in. fibchurn changes route tables only in namespaces of
// its own making.
var ErrInitialNamespace = errors.New("refusing to open a netlink socket in the initial network namespace")

// bufferBytes is what a Conn asks for in each direction. The send buffer bounds
// the bytes of one call (netlink_sendmsg: EMSGSIZE above sk_sndbuf - 32), the
// receive buffer the answers that one call may raise.
const bufferBytes = 32 << 20

// A Conn is an rtnetlink socket inside one network namespace. It is not safe
// for concurrent use.
type Conn struct {
	fd  int
	seq uint32 // last sequence number given out
	in  []byte // one datagram of answers

	watch Stopwatch

	maxBytes   int // largest call the send buffer takes
	maxAnswers int // answers to one call that the receive buffer holds
}

// Dial opens an rtnetlink socket in the network namespace that netns (an open
// /proc/.../ns/net) refers to. It needs CAP_SYS_ADMIN over that namespace, and
// returns ErrInitialNamespace where netns is the process's own.
func Dial(netns *os.File) (*Conn, error) {
	if err := refuseOwn(netns); err != nil {
		return nil, err
	}
	nl, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{NetNS: int(netns.Fd()), Strict: true})
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	defer nl.Close()
	// Error answers without a copy of the request: smaller, so fewer overruns.
	if err := nl.SetOption(netlink.CapAcknowledge, true); err != nil {
		return nil, fmt.Errorf("set NETLINK_CAP_ACK: %w", err)
	}
	fd, err := takeOver(nl)
	if err != nil {
		return nil, fmt.Errorf("take over rtnetlink socket: %w", err)
	}
	c := &Conn{fd: fd, in: make([]byte, 64<<10)}
	if err := c.configure(); err != nil {
		c.Close()
		return nil, err
	}
	c.watch.Calibrate()
	return c, nil
}

// takeOver returns a descriptor of the socket that Go's network poller does not
// watch: every answer would wake the poller's thread, which then takes the CPU
// from the timed one.
func takeOver(nl *netlink.Conn) (fd int, err error) {
	raw, err := nl.SyscallConn()
	if err != nil {
		return -1, err
	}
	controlErr := raw.Control(func(watched uintptr) {
		fd, err = unix.FcntlInt(watched, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(controlErr, err)
}

// refuseOwn compares with the thread-group leader's namespace, which never
// changes: only other, locked threads unshare.
func refuseOwn(netns *os.File) error {
	var own, other unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &own); err != nil {
		return fmt.Errorf("find the initial network namespace: %w", err)
	}
	if err := unix.Fstat(int(netns.Fd()), &other); err != nil {
		return fmt.Errorf("identify network namespace: %w", err)
	}
	if own.Dev == other.Dev && own.Ino == other.Ino {
		return ErrInitialNamespace
	}
	return nil
}

func (c *Conn) configure() error {
	send, err := growBuffer(c.fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF)
	if err != nil {
		return fmt.Errorf("size send buffer: %w", err)
	}
	receive, err := growBuffer(c.fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF)
	if err != nil {
		return fmt.Errorf("size receive buffer: %w", err)
	}
	c.maxBytes = send - 32
	// An answer occupies well under 2 KiB of the buffer (skb->truesize, with an
	// extended acknowledgement).
	c.maxAnswers = max(1, receive/2048)
	return nil
}

// growBuffer asks for bufferBytes, past the system's limit where that is
// allowed, and returns what the socket then has.
func growBuffer(fd, force, plain int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bufferBytes); err != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, bufferBytes); err != nil {
			return 0, err
		}
	}
	return unix.GetsockoptInt(fd, unix.SOL_SOCKET, plain)
}

// SetWitness has w told of every call from now on, and nobody where it is nil.
func (c *Conn) SetWitness(w Witness) { c.watch.Watch(w) }

// Witness is who is told of the calls, or nil.
func (c *Conn) Witness() Witness { return c.watch.witness }

// Close closes the socket.
func (c *Conn) Close() error { return unix.Close(c.fd) }
