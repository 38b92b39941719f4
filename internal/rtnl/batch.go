package rtnl

import (
	"encoding"
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// A Batch is a list of encoded requests, ready to be sent. Its memory is reused
// after Reset. The zero value is empty and ready.
type Batch struct {
	buf  []byte
	ends []int // ends[i]: where request i ends in buf
}

// Len is the number of requests.
func (b *Batch) Len() int { return len(b.ends) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

// Truncate drops all requests from the n-th on.
func (b *Batch) Truncate(n int) {
	b.ends = b.ends[:n]
	b.buf = b.buf[:b.start(n)]
}

// start is where request i begins in buf.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// Append encodes one request. NLM_F_REQUEST is added; acknowledgements are a
// matter of sending.
func (b *Batch) Append(typ uint16, flags netlink.HeaderFlags, body encoding.BinaryMarshaler) error {
	payload, err := body.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode request %d: %w", b.Len(), err)
	}
	m := netlink.Message{
		Header: netlink.Header{
			Length: uint32(align(unix.SizeofNlMsghdr + len(payload))),
			Type:   netlink.HeaderType(typ),
			Flags:  netlink.Request | flags,
		},
		Data: payload,
	}
	encoded, err := m.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode request %d: %w", b.Len(), err)
	}
	b.buf = append(b.buf, encoded...)
	b.ends = append(b.ends, len(b.buf))
	return nil
}

// number gives the requests [from, to) the sequence numbers from first on, and
// asks for the acknowledgements of one call.
func (b *Batch) number(from, to int, first uint32, ack Ack) {
	for i := from; i < to; i++ {
		h := b.buf[b.start(i):b.ends[i]]
		flags := binary.NativeEndian.Uint16(h[6:]) &^ unix.NLM_F_ACK
		if ack == AckAll || ack != ackNone && i == to-1 {
			flags |= unix.NLM_F_ACK
		}
		binary.NativeEndian.PutUint16(h[6:], flags)
		binary.NativeEndian.PutUint32(h[8:], first+uint32(i-from))
	}
}

func align(n int) int { return (n + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1) }
