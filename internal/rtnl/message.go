package rtnl

import (
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/jsimonetti/rtnetlink/v2/driver"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// NewLink appends the creation of an interface with an index of the caller's
// choice (Linux 3.7 and later). peer names and numbers a veth's other end and is
// ignored for every other kind.
func (b *Batch) NewLink(kind, name string, index uint32, peer string, peerIndex uint32) error {
	info := &rtnetlink.LinkInfo{Kind: kind}
	if kind == "veth" {
		info.Data = &driver.Veth{PeerInfo: &rtnetlink.LinkMessage{
			Index:      peerIndex,
			Attributes: &rtnetlink.LinkAttributes{Name: peer},
		}}
	}
	return b.Append(unix.RTM_NEWLINK, netlink.Create|netlink.Excl, &rtnetlink.LinkMessage{
		Index:      index,
		Attributes: &rtnetlink.LinkAttributes{Name: name, Info: info},
	})
}

// SetLink appends bringing an interface up or taking it down.
func (b *Batch) SetLink(index uint32, up bool) error {
	m := &rtnetlink.LinkMessage{Index: index, Change: unix.IFF_UP}
	if up {
		m.Flags = unix.IFF_UP
	}
	return b.Append(unix.RTM_NEWLINK, 0, m)
}

// DelLink appends the removal of an interface.
func (b *Batch) DelLink(index uint32) error {
	return b.Append(unix.RTM_DELLINK, 0, &rtnetlink.LinkMessage{Index: index})
}

// NewAddress appends an address with its prefix length. IPv6 addresses skip
// duplicate address detection (IFA_F_NODAD), so that they are usable at once.
func (b *Batch) NewAddress(index uint32, address netip.Prefix) error {
	family, ip := encodeAddress(address.Addr())
	m := &rtnetlink.AddressMessage{
		Family:       family,
		PrefixLength: uint8(address.Bits()),
		Index:        index,
		Attributes:   &rtnetlink.AddressAttributes{Address: ip, Local: ip},
	}
	if family == unix.AF_INET6 {
		m.Attributes.Flags = unix.IFA_F_NODAD
	}
	return b.Append(unix.RTM_NEWADDR, netlink.Create|netlink.Excl, m)
}

// NewRoute appends a route to prefix through an interface, without a gateway, to
// the main table.
func (b *Batch) NewRoute(index uint32, prefix netip.Prefix) error {
	family, ip := encodeAddress(prefix.Addr())
	m := &rtnetlink.RouteMessage{
		Family:     family,
		DstLength:  uint8(prefix.Bits()),
		Table:      unix.RT_TABLE_MAIN,
		Protocol:   unix.RTPROT_STATIC,
		Scope:      unix.RT_SCOPE_LINK,
		Type:       unix.RTN_UNICAST,
		Attributes: rtnetlink.RouteAttributes{Dst: ip, OutIface: index},
	}
	if family == unix.AF_INET6 {
		m.Scope = unix.RT_SCOPE_UNIVERSE // IPv6 knows no scopes of routes
	}
	return b.Append(unix.RTM_NEWROUTE, netlink.Create|netlink.Excl, m)
}

func encodeAddress(a netip.Addr) (family uint8, ip []byte) {
	if a.Is4() {
		return unix.AF_INET, a.AsSlice()
	}
	return unix.AF_INET6, a.AsSlice()
}
