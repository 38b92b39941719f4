package rtnl

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Attributes of an extended acknowledgement (enum nlmsgerr_attrs,
// include/uapi/linux/netlink.h).
const nlmsgerrAttrMsg = 1

// errTruncated is for an answer shorter than its own header says.
var errTruncated = errors.New("truncated netlink message")

// answers reads what the kernel answered to the requests [from, to) of one call,
// whose sequence numbers start at first. The kernel answers in the order of the
// requests and queues all answers before the call returns, so an empty queue
// before the last acknowledgement means that some were lost.
func (c *Conn) answers(out *Outcome, first uint32, from, to int, ack Ack) error {
	next := from // lowest request that may still be answered
	for next < to {
		data, err := c.receive()
		if err == unix.EAGAIN && ack == ackNone {
			return nil
		}
		if err == unix.EAGAIN {
			return fmt.Errorf("%w: none for request %d", ErrLost, to-1)
		}
		if err != nil {
			return err
		}
		for len(data) > 0 {
			var m message
			if m, data, err = nextMessage(data); err != nil {
				return err
			}
			request := from + int(m.seq-first)
			if m.typ != unix.NLMSG_ERROR || request < next || request >= to {
				return fmt.Errorf("unexpected netlink message of type %d with sequence %d", m.typ, m.seq)
			}
			if ack == AckAll && request != next {
				return fmt.Errorf("%w: none for request %d", ErrLost, next)
			}
			next = request + 1
			if err := out.note(request, &m); err != nil {
				return err
			}
		}
	}
	return nil
}

// note enters the answer to one request.
func (o *Outcome) note(request int, m *message) error {
	errno, text, err := m.failure()
	if err == nil && errno != 0 {
		o.Failures = append(o.Failures, Failure{request, errno, text})
	}
	return err
}

// receive reads one datagram into the Conn's buffer without waiting.
func (c *Conn) receive() ([]byte, error) {
	for {
		n, flags, err := recvmsg(c.fd, c.in)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ENOBUFS:
			return nil, fmt.Errorf("%w: the socket's receive buffer was full (ENOBUFS)", ErrLost)
		case err != nil:
			return nil, err
		case flags&unix.MSG_TRUNC != 0:
			return nil, fmt.Errorf("%w: a datagram is larger than %d bytes", errTruncated, len(c.in))
		}
		return c.in[:n], nil
	}
}

// A message is one netlink message inside a datagram.
type message struct {
	typ, flags uint16
	seq        uint32
	body       []byte
}

// nextMessage splits the first message off b.
func nextMessage(b []byte) (m message, rest []byte, err error) {
	if len(b) < unix.SizeofNlMsghdr {
		return m, nil, errTruncated
	}
	n := int(binary.NativeEndian.Uint32(b))
	if n < unix.SizeofNlMsghdr || n > len(b) {
		return m, nil, errTruncated
	}
	m = message{
		typ:   binary.NativeEndian.Uint16(b[4:]),
		flags: binary.NativeEndian.Uint16(b[6:]),
		seq:   binary.NativeEndian.Uint32(b[8:]),
		body:  b[unix.SizeofNlMsghdr:n],
	}
	return m, b[min(align(n), len(b)):], nil
}

// failure reads an NLMSG_ERROR message: errno 0 is an acknowledgement.
func (m *message) failure() (unix.Errno, string, error) {
	const size = 4 + unix.SizeofNlMsghdr // struct nlmsgerr
	if len(m.body) < size {
		return 0, "", errTruncated
	}
	code := int32(binary.NativeEndian.Uint32(m.body))
	if code > 0 || code < -4095 {
		return 0, "", fmt.Errorf("netlink error code %d is out of range", code)
	}
	if code == 0 || m.flags&unix.NLM_F_ACK_TLVS == 0 {
		return unix.Errno(-code), "", nil
	}
	attributes := m.body[size:]
	if m.flags&unix.NLM_F_CAPPED == 0 { // the request's payload stands in between
		payload := int(binary.NativeEndian.Uint32(m.body[4:])) - unix.SizeofNlMsghdr
		if payload < 0 || align(payload) > len(attributes) {
			return 0, "", errTruncated
		}
		attributes = attributes[align(payload):]
	}
	return unix.Errno(-code), cString(Attribute(attributes, nlmsgerrAttrMsg)), nil
}

// Attribute returns the payload of the first attribute of type typ in b, or nil.
// The bits for nesting and byte order are ignored.
func Attribute(b []byte, typ uint16) []byte {
	for len(b) >= unix.SizeofNlAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == typ {
			return b[unix.SizeofNlAttr:n]
		}
		b = b[min(align(n), len(b)):]
	}
	return nil
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
