package prefixes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"golang.org/x/sys/unix"
)

// routeSaveMagic begins what ip route save writes (route_dump_magic in iproute2's
// ip/iproute.c). Netlink messages follow, each padded to 4 bytes.
const routeSaveMagic = 0x45311224

// routeSaveOrder is the byte order of a dump, that of the machine it was made on;
// nil where head does not begin one.
func routeSaveOrder(head []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(head) >= 4 && order.Uint32(head) == routeSaveMagic {
			return order
		}
	}
	return nil
}

func (c *collector) readRouteSave(r *bufio.Reader, order binary.ByteOrder) error {
	var message bytes.Buffer
	for offset := int64(0); ; {
		head, err := r.Peek(4)
		if err == io.EOF && len(head) == 0 {
			return nil
		}
		if err != nil {
			return offsetError(offset, cutOff(err))
		}
		length := order.Uint32(head)
		if length == routeSaveMagic { // at the start, and where dumps were concatenated
			offset += 4
			r.Discard(4)
			continue
		}
		if length < unix.SizeofNlMsghdr || length > maxRecord {
			return offsetError(offset, fmt.Errorf("a netlink message cannot be %d bytes long", length))
		}
		padded := int64(length+3) &^ 3
		message.Reset()
		if _, err := io.CopyN(&message, r, padded); err != nil {
			return offsetError(offset, cutOff(err))
		}
		if err := c.addMessage(message.Bytes()[:length], order); err != nil {
			return offsetError(offset, err)
		}
		offset += padded
	}
}

// cutOff is the error for the end of a file inside of something.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// addMessage takes the route of a netlink message: struct nlmsghdr, struct rtmsg,
// attributes.
func (c *collector) addMessage(b []byte, order binary.ByteOrder) error {
	if kind := order.Uint16(b[4:]); kind != unix.RTM_NEWROUTE {
		return fmt.Errorf("message type %d is not that of a route (%d)", kind, unix.RTM_NEWROUTE)
	}
	if len(b) < unix.SizeofNlMsghdr+unix.SizeofRtMsg {
		return errors.New("a route message is too short")
	}
	route, attributes := b[unix.SizeofNlMsghdr:], b[unix.SizeofNlMsghdr+unix.SizeofRtMsg:]
	family, bits, kind, flags := route[0], int(route[1]), route[7], order.Uint32(route[8:])
	destination, err := attribute(attributes, unix.RTA_DST, order)
	if err != nil {
		return err
	}
	var a netip.Addr
	switch family {
	case unix.AF_INET:
		a = netip.IPv4Unspecified()
	case unix.AF_INET6:
		a = netip.IPv6Unspecified()
	default:
		return fmt.Errorf("a route is of address family %d, neither IPv4 nor IPv6", family)
	}
	if destination != nil {
		got, ok := netip.AddrFromSlice(destination)
		if !ok || got.BitLen() != a.BitLen() {
			return fmt.Errorf("a destination has %d bytes", len(destination))
		}
		a = got
	}
	if bits > a.BitLen() {
		return fmt.Errorf("a destination of length /%d", bits)
	}
	return c.add(netip.PrefixFrom(a, bits), isTableRoute(kind) && flags&unix.RTM_F_CLONED == 0)
}

// isTableRoute is routeType for the kernel's numbers.
func isTableRoute(kind byte) bool {
	switch kind {
	case unix.RTN_UNICAST, unix.RTN_BLACKHOLE, unix.RTN_UNREACHABLE, unix.RTN_PROHIBIT, unix.RTN_THROW:
		return true
	}
	return false
}

// attribute returns the value of the first attribute of a type, nil without one.
func attribute(b []byte, kind uint16, order binary.ByteOrder) ([]byte, error) {
	for len(b) >= unix.SizeofRtAttr {
		length := int(order.Uint16(b))
		if length < unix.SizeofRtAttr || length > len(b) {
			return nil, fmt.Errorf("a route attribute cannot be %d bytes long", length)
		}
		if order.Uint16(b[2:]) == kind {
			return b[unix.SizeofRtAttr:length], nil
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return nil, nil
}
