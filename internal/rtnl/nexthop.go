package rtnl

import (
	"encoding/binary"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// rtaNHID is RTA_NH_ID (include/uapi/linux/rtnetlink.h, Linux 5.3).
const rtaNHID = 30

// A NextHop is where packets leave: through an interface, to a gateway on it.
type NextHop struct {
	Index   uint32
	Gateway netip.Addr // none where invalid
}

// NewNexthop appends the creation of a nexthop object, or with replace the change
// of the one that has the identifier (rtm_new_nexthop, net/ipv4/nexthop.c; Linux
// 5.3). Identifiers are shared by all families.
func (b *Batch) NewNexthop(family int, id uint32, hop NextHop, replace bool) error {
	m := nexthopBody{family: AddressFamily(family), protocol: unix.RTPROT_STATIC}
	m.attributes = func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NHA_ID, id)
		ae.Uint32(unix.NHA_OIF, hop.Index)
		if hop.Gateway.IsValid() {
			ae.Bytes(unix.NHA_GATEWAY, hop.Gateway.AsSlice())
		}
	}
	return b.Append(unix.RTM_NEWNEXTHOP, createOr(replace), &m)
}

// NewNexthopGroup appends the creation of a group of nexthop objects of equal
// weight, or with replace the change of the one that has the identifier.
func (b *Batch) NewNexthopGroup(id uint32, members []uint32, replace bool) error {
	m := nexthopBody{protocol: unix.RTPROT_STATIC}
	m.attributes = func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NHA_ID, id)
		ae.Bytes(unix.NHA_GROUP, groupEntries(members))
	}
	return b.Append(unix.RTM_NEWNEXTHOP, createOr(replace), &m)
}

// DelNexthop appends the removal of a nexthop object or group, and with it of
// every route through it (remove_nexthop, net/ipv4/nexthop.c).
func (b *Batch) DelNexthop(id uint32) error {
	var m nexthopBody // anything else must be 0 (nh_valid_get_del_req)
	m.attributes = func(ae *netlink.AttributeEncoder) { ae.Uint32(unix.NHA_ID, id) }
	return b.Append(unix.RTM_DELNEXTHOP, 0, &m)
}

func createOr(replace bool) netlink.HeaderFlags {
	if replace {
		return netlink.Replace
	}
	return netlink.Create | netlink.Excl
}

// A nexthopBody is struct nhmsg (include/uapi/linux/nexthop.h) and attributes.
type nexthopBody struct {
	family     uint8 // AF_UNSPEC for groups, and where only the identifier counts
	protocol   uint8
	attributes func(*netlink.AttributeEncoder)
}

func (m *nexthopBody) MarshalBinary() ([]byte, error) {
	fixed := make([]byte, unix.SizeofNhmsg)
	fixed[0], fixed[2] = m.family, m.protocol
	if m.attributes == nil {
		return fixed, nil
	}
	ae := netlink.NewAttributeEncoder()
	m.attributes(ae)
	encoded, err := ae.Encode()
	return append(fixed, encoded...), err
}

// groupEntries encodes one struct nexthop_grp a member; weights count from 0.
func groupEntries(members []uint32) []byte {
	b := make([]byte, sizeofNexthopGrp*len(members))
	for i, id := range members {
		binary.NativeEndian.PutUint32(b[sizeofNexthopGrp*i:], id)
	}
	return b
}

const sizeofNexthopGrp = 8

// A Nexthop is a nexthop object as a dump shows it.
type Nexthop struct {
	ID      uint32
	Gateway netip.Addr // of a single one, none where invalid
	Members []uint32   // of a group
}

// Nexthops returns the namespace's nexthop objects and groups of all families. On
// a kernel without them (before 5.3) the error is EOPNOTSUPP.
func (c *Conn) Nexthops() ([]Nexthop, error) {
	var found []Nexthop
	err := c.Dump(unix.RTM_GETNEXTHOP, &nexthopBody{}, func(body []byte) error {
		if len(body) < unix.SizeofNhmsg {
			return errTruncated
		}
		attributes := body[unix.SizeofNhmsg:]
		var n Nexthop
		if b := Attribute(attributes, unix.NHA_ID); len(b) == 4 {
			n.ID = binary.NativeEndian.Uint32(b)
		}
		n.Gateway, _ = netip.AddrFromSlice(Attribute(attributes, unix.NHA_GATEWAY))
		for group := Attribute(attributes, unix.NHA_GROUP); len(group) >= sizeofNexthopGrp; group = group[sizeofNexthopGrp:] {
			n.Members = append(n.Members, binary.NativeEndian.Uint32(group))
		}
		found = append(found, n)
		return nil
	})
	return found, err
}

// NewRouteByID is the template of the addition of a route through the nexthop
// object or group of that identifier. Index and Gateway of r are ignored.
func NewRouteByID(r Route, id uint32) (*Template, error) {
	return hopsTemplate(unix.RTM_NEWROUTE, netlink.Create|netlink.Excl, r, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(rtaNHID, id)
	})
}

// NewMultipathRoute is the template of the addition of a route with several next
// hops of equal weight. Index and Gateway of r are ignored.
func NewMultipathRoute(r Route, hops []NextHop) (*Template, error) {
	return multipathTemplate(netlink.Create|netlink.Excl, r, hops)
}

// ReplaceMultipathRoute is the template of the replacement of a route that differs
// in next hops alone.
func ReplaceMultipathRoute(r Route, hops []NextHop) (*Template, error) {
	return multipathTemplate(netlink.Create|netlink.Replace, r, hops)
}

func multipathTemplate(flags netlink.HeaderFlags, r Route, hops []NextHop) (*Template, error) {
	list, err := encodeHops(hops)
	if err != nil {
		return nil, err
	}
	return hopsTemplate(unix.RTM_NEWROUTE, flags, r, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.RTA_MULTIPATH, list)
	})
}

// DelRouteAnyHop is the template of the removal of a route whatever its next hops.
func DelRouteAnyHop(r Route) (*Template, error) {
	return hopsTemplate(unix.RTM_DELROUTE, 0, r, func(*netlink.AttributeEncoder) {})
}

// encodeHops encodes one struct rtnexthop with its gateway a hop.
func encodeHops(hops []NextHop) ([]byte, error) {
	var list []byte
	for _, hop := range hops {
		ae := netlink.NewAttributeEncoder()
		if hop.Gateway.IsValid() {
			ae.Bytes(unix.RTA_GATEWAY, hop.Gateway.AsSlice())
		}
		attributes, err := ae.Encode()
		if err != nil {
			return nil, err
		}
		fixed := make([]byte, unix.SizeofRtNexthop)
		binary.NativeEndian.PutUint16(fixed, uint16(len(fixed)+len(attributes)))
		binary.NativeEndian.PutUint32(fixed[4:], hop.Index)
		list = append(append(list, fixed...), attributes...)
	}
	return list, nil
}

func hopsTemplate(typ uint16, flags netlink.HeaderFlags, r Route, hops func(*netlink.AttributeEncoder)) (*Template, error) {
	const prefixLength = 1 // byte of struct rtmsg
	m := &routeBody{route: r, hops: hops, remove: typ == unix.RTM_DELROUTE}
	return newTemplate(typ, flags, m, prefixLength, unix.SizeofRtMsg, unix.RTA_DST)
}

// A routeBody is struct rtmsg and attributes of a unicast route, with what the
// encoder of rtnetlink does not have.
type routeBody struct {
	route  Route
	hops   func(*netlink.AttributeEncoder)
	remove bool
}

func (m *routeBody) MarshalBinary() ([]byte, error) {
	r := &m.route
	fixed := make([]byte, unix.SizeofRtMsg)
	fixed[0] = AddressFamily(r.Family)
	fixed[5] = unix.RTPROT_STATIC
	fixed[6] = unix.RT_SCOPE_UNIVERSE
	fixed[7] = unix.RTN_UNICAST
	if m.remove {
		fixed[6] = unix.RT_SCOPE_NOWHERE // any (fib_table_delete, net/ipv4/fib_trie.c)
	}
	ae := netlink.NewAttributeEncoder()
	ae.Bytes(unix.RTA_DST, anyAddress(r.Family))
	if r.Table < 256 {
		fixed[4] = uint8(r.Table)
	} else {
		ae.Uint32(unix.RTA_TABLE, r.Table)
	}
	if r.Metric != 0 {
		ae.Uint32(unix.RTA_PRIORITY, r.Metric)
	}
	m.hops(ae)
	encoded, err := ae.Encode()
	return append(fixed, encoded...), err
}

// A HopClass is what RoutesByHop counts by.
type HopClass struct {
	Table   uint32
	ID      uint32     // of the nexthop object, 0 where the route has next hops of its own
	Hops    int        // next hops the kernel shows: none for an object where the sysctl nexthop_compat_mode is 0
	Gateway netip.Addr // of the first
}

// RoutesByHop counts the routes of a family (AF_INET, AF_INET6) with the protocol
// static, in all tables.
func (c *Conn) RoutesByHop(family uint8) (map[HopClass]int64, error) {
	counts := map[HopClass]int64{}
	err := c.Dump(unix.RTM_GETROUTE, &rtnetlink.RouteMessage{Family: family}, func(body []byte) error {
		if len(body) < unix.SizeofRtMsg {
			return errTruncated
		}
		if body[0] == family && body[5] == unix.RTPROT_STATIC {
			counts[hopClass(body)]++
		}
		return nil
	})
	return counts, err
}

func hopClass(body []byte) HopClass {
	class := HopClass{Table: uint32(body[4])}
	attributes := body[unix.SizeofRtMsg:]
	if b := Attribute(attributes, unix.RTA_TABLE); len(b) == 4 {
		class.Table = binary.NativeEndian.Uint32(b)
	}
	if b := Attribute(attributes, rtaNHID); len(b) == 4 {
		class.ID = binary.NativeEndian.Uint32(b)
	}
	if list := Attribute(attributes, unix.RTA_MULTIPATH); list != nil {
		class.Hops, class.Gateway = countHops(list)
	} else if Attribute(attributes, unix.RTA_OIF) != nil {
		class.Hops = 1
		class.Gateway, _ = netip.AddrFromSlice(Attribute(attributes, unix.RTA_GATEWAY))
	}
	return class
}

// countHops counts the struct rtnexthop of a list and returns the first's gateway.
func countHops(list []byte) (n int, first netip.Addr) {
	for len(list) >= unix.SizeofRtNexthop {
		size := int(binary.NativeEndian.Uint16(list))
		if size < unix.SizeofRtNexthop || size > len(list) {
			break
		}
		if n == 0 {
			first, _ = netip.AddrFromSlice(Attribute(list[unix.SizeofRtNexthop:size], unix.RTA_GATEWAY))
		}
		n++
		list = list[min(align(size), len(list)):]
	}
	return n, first
}
