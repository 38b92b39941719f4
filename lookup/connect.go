package lookup

import (
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
)

// A ConnectProbe makes an output lookup by connecting a UDP socket
// (__ip4_datagram_connect, net/ipv4/datagram.c; ip6_datagram_dst_update,
// net/ipv6/datagram.c): no packet is sent. It learns whether there is a route, and
// nothing of which.
//
// Its calibration is the same call with an address of a family that is not the
// socket's: the kernel refuses it (EAFNOSUPPORT) after all that connect(2) does
// before the lookup, and right before it. AF_UNSPEC, which disconnects, does
// other work instead, and getsockopt(2) leaves out most.
type ConnectProbe struct {
	fd      int
	keys    *Keys
	address []byte // struct sockaddr_in or sockaddr_in6; the key is at dst
	dst     []byte
	refused []byte // the same of another family
	errno   unix.Errno
}

// discard is the port connected to (RFC 863). Nothing is sent there.
const discard = 9

// OpenConnectProbe opens the probe in the calling thread's network namespace. With
// a source address in the spec the socket is bound to it; IPv6 needs one, or an
// address on the interface, since a route without a source is none to connect(2).
func OpenConnectProbe(s *Spec, keys *Keys) (*ConnectProbe, error) {
	p := &ConnectProbe{keys: keys}
	family, size, dst := unix.AF_INET, unix.SizeofSockaddrInet4, 4
	if keys.family == prefixes.IPv6 {
		family, size, dst = unix.AF_INET6, unix.SizeofSockaddrInet6, 8
	}
	p.address, p.refused = make([]byte, size), make([]byte, size)
	p.address[0], p.address[3] = uint8(family), discard // sa_family is of one byte in use
	p.refused[0], p.refused[3] = unix.AF_UNIX, discard
	p.dst = p.address[dst:][:keys.size]
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the connect probe: %w", err)
	}
	p.fd = fd
	if err := p.configure(s); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set up the connect probe: %w", err)
	}
	return p, nil
}

func (p *ConnectProbe) configure(s *Spec) error {
	if s.Mark != 0 {
		if err := unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_MARK, int(s.Mark)); err != nil {
			return fmt.Errorf("set SO_MARK: %w", err)
		}
	}
	level, option := unix.SOL_IP, unix.IP_TOS
	var source unix.Sockaddr = &unix.SockaddrInet4{}
	if p.keys.family == prefixes.IPv6 {
		level, option = unix.SOL_IPV6, unix.IPV6_TCLASS
		source = &unix.SockaddrInet6{}
	}
	if s.Src != "" {
		source = sockaddr(netip.MustParseAddr(s.Src))
	}
	if s.TOS != 0 {
		if err := unix.SetsockoptInt(p.fd, level, option, int(s.TOS)); err != nil {
			return fmt.Errorf("set the type of service: %w", err)
		}
	}
	if err := unix.Bind(p.fd, source); err != nil {
		return fmt.Errorf("bind to %s: %w", s.Src, err)
	}
	return nil
}

func sockaddr(a netip.Addr) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Addr: a.As16()}
}

// Ask connects to key i.
func (p *ConnectProbe) Ask(i int) error {
	copy(p.dst, p.keys.raw(i))
	p.errno = p.connect(p.address)
	return nil
}

// Blank makes the call that is refused before the lookup.
func (p *ConnectProbe) Blank() error {
	if errno := p.connect(p.refused); errno != unix.EAFNOSUPPORT {
		return fmt.Errorf("calibrate connect: %w, not EAFNOSUPPORT", errno)
	}
	return nil
}

func (p *ConnectProbe) connect(address []byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// Answer says whether the last Ask found a route. A broadcast address is EACCES to
// a socket without SO_BROADCAST.
func (p *ConnectProbe) Answer() Answer {
	switch p.errno {
	case 0:
		return Answer{Kinds: Unicast | Local | Multicast, Bits: -1}
	case unix.EACCES:
		return Answer{Kinds: Prohibit | Broadcast, Bits: -1}
	}
	return answerOfError(p.errno)
}

// Close closes the socket.
func (p *ConnectProbe) Close() error { return unix.Close(p.fd) }
