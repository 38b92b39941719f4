package churn

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
)

// A Scene is what a run's lookups may meet; a later prop counts where a prefix is in
// several.
type Scene struct {
	Table *prefixes.Set // its routes go out of LookupOut; nil where it is empty
	Props []Prop
}

// A Prop is prefixes that lead somewhere.
type Prop struct {
	Set   *prefixes.Set
	Type  uint8  // RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST (include/uapi/linux/rtnetlink.h)
	Index uint32 // output interface, 0 where any may be told
	When  When
}

// When says when a prop is there.
type When uint8

const (
	Always  When = iota // as long as there are lookups
	AtTimes             // now and then
	InTurn              // in turn with where the prefixes led before, and no moment between
)

// subnetEntries are the entries that an address of a subnet makes: the subnet, the
// address, and for IPv4 the subnet's last address as broadcast and, before Linux
// 5.14, its first. IPv6 has the first as the routers' anycast address where the
// machine forwards (addrconf_join_anycast, net/ipv6/addrconf.c).
func subnetEntries(subnet netip.Prefix) []netip.Prefix {
	whole := func(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
	list := []netip.Prefix{subnet, whole(host(subnet, 0).Addr()), whole(subnet.Addr())}
	if subnet.Addr().Is4() {
		last := subnet.Addr().As4()
		last[3] = 255 // of a /24
		list = append(list, whole(netip.AddrFrom4(last)))
	}
	return list
}

// ifaceProps are what an interface with an address in each subnet brings.
func ifaceProps(family int, subnets *prefixes.Set, index uint32) ([]Prop, error) {
	types := []uint8{unix.RTN_UNICAST, unix.RTN_LOCAL, unix.RTN_BROADCAST, unix.RTN_BROADCAST}
	if family == 6 {
		types = []uint8{unix.RTN_UNICAST, unix.RTN_LOCAL, unix.RTN_LOCAL}
	}
	lists := map[uint8][]netip.Prefix{}
	for _, s := range subnets.All() {
		for i, e := range subnetEntries(s) {
			lists[types[i]] = append(lists[types[i]], e)
		}
	}
	var props []Prop
	for _, typ := range slices.Compact(types) {
		set, err := prefixes.Of(prefixes.Family(family), lists[typ])
		if err != nil {
			return nil, err
		}
		p := Prop{Set: set, Type: typ, When: AtTimes}
		if typ == unix.RTN_UNICAST {
			p.Index = index
		}
		props = append(props, p)
	}
	return props, nil
}

// sourceProp is the route to the source, or its address.
func (s *LookupSpec) sourceProp() (Prop, error) {
	set, err := prefixes.Of(prefixes.Family(s.Families[0]), []netip.Prefix{netip.PrefixFrom(s.Source, s.Source.BitLen())})
	p := Prop{Set: set, Type: unix.RTN_LOCAL}
	if s.Back != 0 {
		p.Type, p.Index = unix.RTN_UNICAST, s.Back
	}
	return p, err
}
