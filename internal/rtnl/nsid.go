package rtnl

import (
	"encoding/binary"
	"os"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// NewNamespaceID appends giving another network namespace a number, id, in the
// socket's own (RTM_NEWNSID, rtnl_net_newid, net/core/net_namespace.c). The number
// is withdrawn, with a notification, when the other is dismantled (unhash_nsid).
func (b *Batch) NewNamespaceID(netns *os.File, id int32) error {
	return b.Append(unix.RTM_NEWNSID, 0, &nsidBody{fd: uint32(netns.Fd()), id: id})
}

// An nsidBody is struct rtgenmsg and attributes; it is a dump request without a
// descriptor.
type nsidBody struct {
	fd uint32
	id int32
}

func (m *nsidBody) MarshalBinary() ([]byte, error) {
	fixed := make([]byte, align(unix.SizeofRtGenmsg))
	if m.fd == 0 {
		return fixed, nil
	}
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.NETNSA_FD, m.fd)
	ae.Int32(unix.NETNSA_NSID, m.id)
	encoded, err := ae.Encode()
	return append(fixed, encoded...), err
}

// NamespaceIDs counts the namespaces that have a number in the socket's own.
func (c *Conn) NamespaceIDs() (int64, error) {
	var n int64
	err := c.Dump(unix.RTM_GETNSID, &nsidBody{}, func([]byte) error {
		n++
		return nil
	})
	return n, err
}

// WithdrawnNamespaceID reads one notification: whether it says that a number was
// withdrawn (RTM_DELNSID), and which.
func WithdrawnNamespaceID(datagram []byte) (id int32, ok bool) {
	m, _, err := nextMessage(datagram)
	if err != nil || m.typ != unix.RTM_DELNSID || len(m.body) < align(unix.SizeofRtGenmsg) {
		return 0, false
	}
	b := Attribute(m.body[align(unix.SizeofRtGenmsg):], unix.NETNSA_NSID)
	if len(b) != 4 {
		return 0, false
	}
	return int32(binary.NativeEndian.Uint32(b)), true
}
