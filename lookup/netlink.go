package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
)

// ErrLost is returned where the kernel sent no answer, or another request's.
var ErrLost = errors.New("the answer to a lookup was lost")

// A NetlinkProbe sends RTM_GETROUTE on a socket of its own (inet_rtm_getroute,
// net/ipv4/route.c; inet6_rtm_getroute, net/ipv6/route.c): one send(2) and one
// recv(2) a lookup. The kernel answers inside the send.
//
// Its calibration is NLMSG_NOOP with NLM_F_ACK, which the kernel only acknowledges
// (netlink_rcv_skb, net/netlink/af_netlink.c).
type NetlinkProbe struct {
	fd      int
	keys    *Keys
	key     int    // of the last Ask
	request []byte // RTM_GETROUTE; the key is at dst
	dst     []byte
	noop    []byte
	reply   []byte
	got     int // bytes of the reply
	seq     uint32
}

// rtmFFIBMatch is RTM_F_FIB_MATCH (include/uapi/linux/rtnetlink.h), Linux 4.13.
const rtmFFIBMatch = 0x2000

// OpenNetlinkProbe opens the probe in the calling thread's network namespace.
func OpenNetlinkProbe(s *Spec, keys *Keys) (*NetlinkProbe, error) {
	p := &NetlinkProbe{keys: keys, noop: nullRequest(), reply: make([]byte, 16<<10)}
	p.request = routeRequest(s, keys.family)
	p.dst = p.request[unix.SizeofNlMsghdr+unix.SizeofRtMsg+unix.SizeofRtAttr:][:keys.size]
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open the netlink probe: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bind the netlink probe: %w", err)
	}
	p.fd = fd
	return p, nil
}

// nullRequest is a message of nothing, to be acknowledged.
func nullRequest() []byte {
	b := make([]byte, unix.SizeofNlMsghdr)
	putHeader(b, unix.NLMSG_NOOP, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return b
}

// routeRequest encodes RTM_GETROUTE with RTA_DST, still zero, first.
func routeRequest(s *Spec, f prefixes.Family) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+unix.SizeofRtMsg)
	m := b[unix.SizeofNlMsghdr:]
	m[0], m[1], m[3] = unix.AF_INET, uint8(f.Bits()), s.TOS // family, destination length, tos
	if f == prefixes.IPv6 {
		m[0] = unix.AF_INET6
	}
	if s.FIBMatch {
		binary.NativeEndian.PutUint32(m[8:], rtmFFIBMatch)
	}
	b = appendAttribute(b, unix.RTA_DST, make([]byte, f.Bits()/8))
	if s.Src != "" {
		b[unix.SizeofNlMsghdr+2] = uint8(f.Bits()) // source length
		b = appendAttribute(b, unix.RTA_SRC, netip.MustParseAddr(s.Src).AsSlice())
	}
	for _, a := range []struct {
		typ   uint16
		value uint32
	}{{unix.RTA_IIF, s.IIF}, {unix.RTA_MARK, s.Mark}} {
		if a.value != 0 {
			b = appendAttribute(b, a.typ, binary.NativeEndian.AppendUint32(nil, a.value))
		}
	}
	putHeader(b, unix.RTM_GETROUTE, unix.NLM_F_REQUEST)
	return b
}

func putHeader(b []byte, typ, flags uint16) {
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], typ)
	binary.NativeEndian.PutUint16(b[6:], flags)
}

// appendAttribute appends an attribute whose value is a multiple of 4 bytes.
func appendAttribute(b []byte, typ uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	return append(b, value...)
}

// Ask sends the request for key i and receives its answer.
func (p *NetlinkProbe) Ask(i int) error {
	p.key = i
	copy(p.dst, p.keys.raw(i))
	return p.exchange(p.request)
}

// Blank sends the null request and receives its acknowledgement.
func (p *NetlinkProbe) Blank() error { return p.exchange(p.noop) }

// exchange makes its calls behind the Go scheduler's back: they do not wait, and
// telling it costs more than the lookup.
func (p *NetlinkProbe) exchange(request []byte) error {
	p.seq++
	binary.NativeEndian.PutUint32(request[8:], p.seq)
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(request))), uintptr(len(request)), 0, 0, 0)
	if errno != 0 || int(n) != len(request) {
		return fmt.Errorf("send a lookup: %w", errno)
	}
	n, _, errno = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p.reply))), uintptr(len(p.reply)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%w: %w", ErrLost, errno)
	}
	p.got = int(n)
	if p.got < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint32(p.reply[8:]) != p.seq {
		return fmt.Errorf("%w: got %d bytes of another answer", ErrLost, p.got)
	}
	return nil
}

// Answer decodes the reply to the last Ask. Of a reply that is neither a route nor
// an error it makes an answer of no kind.
func (p *NetlinkProbe) Answer() Answer {
	b := p.reply[:p.got]
	body := b[unix.SizeofNlMsghdr:]
	switch binary.NativeEndian.Uint16(b[4:]) {
	case unix.NLMSG_ERROR:
		return answerOfError(unix.Errno(-int32(binary.NativeEndian.Uint32(body))))
	case unix.RTM_NEWROUTE:
		if len(body) >= unix.SizeofRtMsg {
			return p.route(body)
		}
	}
	return Answer{Bits: -1}
}

// route decodes a struct rtmsg with its attributes. A full answer names the key
// itself as its destination, a FIB match the prefix; both must hold the key.
func (p *NetlinkProbe) route(body []byte) Answer {
	a := Answer{Kinds: kindOfType(body[7]), Bits: -1}
	attributes := body[unix.SizeofRtMsg:]
	if oif := rtnl.Attribute(attributes, unix.RTA_OIF); len(oif) == 4 {
		a.OIF = binary.NativeEndian.Uint32(oif)
	}
	bits := int(body[1])
	dst := rtnl.Attribute(attributes, unix.RTA_DST)
	a.Foreign = !holds(dst, bits, p.keys.raw(p.key))
	if binary.NativeEndian.Uint32(p.request[unix.SizeofNlMsghdr+8:])&rtmFFIBMatch != 0 {
		a.Bits = bits
	}
	return a
}

// holds reports whether a prefix contains key. That of length 0 has no address.
func holds(prefix []byte, bits int, key []byte) bool {
	if bits == 0 {
		return true
	}
	if len(prefix) != len(key) || bits > 8*len(key) {
		return false
	}
	for i := range key {
		mask := byte(0xff << (8 - min(8, max(0, bits-8*i))))
		if (prefix[i]^key[i])&mask != 0 {
			return false
		}
	}
	return true
}

// kindOfType turns RTN_... into a kind, one that is not known into none.
func kindOfType(typ uint8) Kinds {
	switch typ {
	case unix.RTN_UNICAST:
		return Unicast
	case unix.RTN_LOCAL, unix.RTN_ANYCAST:
		return Local
	case unix.RTN_BROADCAST:
		return Broadcast
	case unix.RTN_MULTICAST:
		return Multicast
	case unix.RTN_BLACKHOLE:
		return Blackhole
	case unix.RTN_UNREACHABLE:
		return Unreachable
	case unix.RTN_PROHIBIT:
		return Prohibit
	}
	return 0
}

// answerOfError says which routes end in an error (fib_props,
// net/ipv4/fib_semantics.c; ip6_rt_type_to_error, net/ipv6/route.c). Where there
// is no route it is ENETUNREACH, or EHOSTUNREACH for an input lookup that may not
// forward (ip_route_input_slow). A source address that the reverse path filter does
// not let pass is EXDEV, in later kernels (6.18) EINVAL as for a blackhole.
func answerOfError(errno unix.Errno) Answer {
	a := Answer{Bits: -1}
	switch errno {
	case unix.ENETUNREACH:
		a.Kinds = NoRoute
	case unix.EHOSTUNREACH:
		a.Kinds = NoRoute | Unreachable
	case unix.EACCES:
		a.Kinds = Prohibit
	case unix.EINVAL:
		a.Kinds = Blackhole
	default:
		a.Refused = errno
	}
	return a
}

// Close closes the socket.
func (p *NetlinkProbe) Close() error { return unix.Close(p.fd) }
