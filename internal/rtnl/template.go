package rtnl

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// A Template is one encoded request of which thousands are needed that differ in
// a prefix alone. Appending it to a batch allocates nothing but the batch's own
// memory.
type Template struct {
	encoded   []byte
	bits      int   // where the prefix length stands
	addresses []int // where the address stands
	bytes     int   // 4 or 16
}

// newTemplate encodes a request. The prefix length is byte bits of the body, the
// address is the payload of the attributes of the given types, which follow a
// fixed part of size bytes.
func newTemplate(typ uint16, flags netlink.HeaderFlags, body encoding.BinaryMarshaler, bits, size int, types ...uint16) (*Template, error) {
	var b Batch
	if err := b.Append(typ, flags, body); err != nil {
		return nil, err
	}
	t := &Template{encoded: b.buf, bits: unix.SizeofNlMsghdr + bits}
	fixed := unix.SizeofNlMsghdr + size
	for at := fixed; at+unix.SizeofNlAttr <= len(t.encoded); {
		n := int(binary.NativeEndian.Uint16(t.encoded[at:]))
		for _, typ := range types {
			if binary.NativeEndian.Uint16(t.encoded[at+2:]) == typ {
				t.addresses = append(t.addresses, at+unix.SizeofNlAttr)
				t.bytes = n - unix.SizeofNlAttr
			}
		}
		at += align(n)
	}
	if len(t.addresses) != len(types) {
		return nil, fmt.Errorf("template of message type %d: %d of %d addresses found", typ, len(t.addresses), len(types))
	}
	return t, nil
}

// AppendPrefix appends the template's request for a prefix, whose family must be
// the template's.
func (b *Batch) AppendPrefix(t *Template, p netip.Prefix) {
	start := len(b.buf)
	b.buf = append(b.buf, t.encoded...)
	b.ends = append(b.ends, len(b.buf))
	request := b.buf[start:]
	request[t.bits] = byte(p.Bits())
	a16 := p.Addr().As16()
	address := a16[16-t.bytes:]
	for _, at := range t.addresses {
		copy(request[at:], address)
	}
}
