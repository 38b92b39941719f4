package rtnl

import (
	"net"
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

// NewAddress is the template of the addition of an address with its prefix
// length. IPv6 addresses skip duplicate address detection (IFA_F_NODAD), so that
// they are usable at once.
func NewAddress(family int, index uint32) (*Template, error) {
	return addressTemplate(unix.RTM_NEWADDR, netlink.Create|netlink.Excl, family, index)
}

// DelAddress is the template of the removal of an address.
func DelAddress(family int, index uint32) (*Template, error) {
	return addressTemplate(unix.RTM_DELADDR, 0, family, index)
}

func addressTemplate(typ uint16, flags netlink.HeaderFlags, family int, index uint32) (*Template, error) {
	any := anyAddress(family)
	m := &rtnetlink.AddressMessage{
		Family:     AddressFamily(family),
		Index:      index,
		Attributes: &rtnetlink.AddressAttributes{Address: any, Local: any},
	}
	if family == 6 {
		m.Attributes.Flags = unix.IFA_F_NODAD
	}
	const prefixLength = 1 // byte of struct ifaddrmsg
	return newTemplate(typ, flags, m, prefixLength, unix.SizeofIfAddrmsg, unix.IFA_ADDRESS, unix.IFA_LOCAL)
}

// A Route says where the routes of a template go.
type Route struct {
	Family  int // 4 or 6
	Table   uint32
	Index   uint32     // output interface
	Gateway netip.Addr // none where invalid
	Metric  uint32     // 0: the kernel's default
}

// NewRoute is the template of the addition of a unicast route, which must not be
// there yet.
func NewRoute(r Route) (*Template, error) {
	return routeTemplate(unix.RTM_NEWROUTE, netlink.Create|netlink.Excl, r)
}

// ReplaceRoute is the template of the replacement of a route that differs in next
// hop alone.
func ReplaceRoute(r Route) (*Template, error) {
	return routeTemplate(unix.RTM_NEWROUTE, netlink.Create|netlink.Replace, r)
}

// DelRoute is the template of the removal of a route.
func DelRoute(r Route) (*Template, error) {
	return routeTemplate(unix.RTM_DELROUTE, 0, r)
}

func routeTemplate(typ uint16, flags netlink.HeaderFlags, r Route) (*Template, error) {
	m := &rtnetlink.RouteMessage{
		Family:   AddressFamily(r.Family),
		Table:    unix.RT_TABLE_UNSPEC,
		Protocol: unix.RTPROT_STATIC,
		Type:     unix.RTN_UNICAST,
		Attributes: rtnetlink.RouteAttributes{
			Dst: anyAddress(r.Family), OutIface: r.Index, Priority: r.Metric,
		},
	}
	if r.Table < 256 {
		m.Table = uint8(r.Table)
	} else {
		m.Attributes.Table = r.Table
	}
	if r.Gateway.IsValid() {
		m.Attributes.Gateway = r.Gateway.AsSlice()
	} else if r.Family == 4 {
		m.Scope = unix.RT_SCOPE_LINK // IPv6 knows no scopes of routes
	}
	const prefixLength = 1 // byte of struct rtmsg
	return newTemplate(typ, flags, m, prefixLength, unix.SizeofRtMsg, unix.RTA_DST)
}

// AddressFamily turns 4 or 6 into AF_INET or AF_INET6.
func AddressFamily(family int) uint8 {
	if family == 6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

func anyAddress(family int) []byte {
	if family == 6 {
		return netip.IPv6Unspecified().AsSlice()
	}
	return netip.IPv4Unspecified().AsSlice()
}

// A Rule is a routing policy rule: what comes from a prefix is looked up in a
// table.
type Rule struct {
	Family   int
	From     netip.Prefix
	Priority uint32
	Table    uint8
}

// NewRule appends the addition of a rule.
func (b *Batch) NewRule(r Rule) error {
	return b.Append(unix.RTM_NEWRULE, netlink.Create|netlink.Excl, r.message())
}

// DelRule appends the removal of a rule.
func (b *Batch) DelRule(r Rule) error { return b.Append(unix.RTM_DELRULE, 0, r.message()) }

func (r Rule) message() *rtnetlink.RuleMessage {
	from := net.IP(r.From.Addr().AsSlice())
	return &rtnetlink.RuleMessage{
		Family: AddressFamily(r.Family), SrcLength: uint8(r.From.Bits()), Table: r.Table, Action: unix.FR_ACT_TO_TBL,
		Attributes: &rtnetlink.RuleAttributes{Src: &from, Priority: &r.Priority},
	}
}
