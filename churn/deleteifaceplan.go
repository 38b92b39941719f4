package churn

import (
	"errors"
	"io/fs"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// addressesPerCall is how many requests of the add phase share a call.
const addressesPerCall = 256

// A deleteIfacePlan is what the phases of one run of delete-iface share.
type deleteIfacePlan struct {
	spec  *DeleteIfaceSpec
	links []ns.Link
	bits  map[int]int // prefix length by family
	tuns  tunSet
	err   error // the first failure to encode
}

func newDeleteIfacePlan(s *DeleteIfaceSpec) (*deleteIfacePlan, error) {
	p := &deleteIfacePlan{spec: s, bits: map[int]int{}}
	for i := range s.Ifaces {
		p.links = append(p.links, ns.NewLink(s.LinkKind, i))
	}
	for _, family := range s.Families {
		var err error
		if p.bits[family], err = s.bits(family); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// encode keeps the first failure.
func (p *deleteIfacePlan) encode(err error) {
	if p.err == nil {
		p.err = err
	}
}

// configure silences what the kernel would do on its own: in an IPv4 run an
// interface gets no IPv6 at all, in an IPv6 run neither a link-local address nor
// router solicitations.
func (p *deleteIfacePlan) configure(n *ns.Namespace) error {
	if !slices.Contains(p.spec.Families, 6) {
		err := n.SetSysctl("net.ipv6.conf.default.disable_ipv6", "1")
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a kernel without IPv6
		}
		return err
	}
	if !n.HasIPv6() {
		return &ns.UnsupportedError{
			What: "IPv6", Why: "the kernel has none",
			Help: "boot without ipv6.disable=1, use a kernel with CONFIG_IPV6, or leave -6 out",
		}
	}
	if err := n.SetSysctl("net.ipv6.conf.default.accept_ra", "0"); err != nil {
		return err
	}
	const none = "1" // IN6_ADDR_GEN_MODE_NONE
	return n.SetSysctl("net.ipv6.conf.default.addr_gen_mode", none)
}

func (p *deleteIfacePlan) create() *Phase {
	ph := &Phase{Name: "create", Describe: func(i int) string { return "create " + p.spec.LinkKind + " " + p.links[i].Name }}
	if p.spec.LinkKind == "tun" {
		ph.Timed = func() (rtnl.Cost, error) { return p.tuns.create(p.links) }
		return ph
	}
	for _, l := range p.links {
		p.encode(l.Create(&ph.Batch))
	}
	return ph
}

func (p *deleteIfacePlan) setLinks(name string, up bool) *Phase {
	ph := &Phase{Name: name, Subnets: p.load(), Describe: func(i int) string { return "set link " + name }}
	for _, l := range p.links {
		if up {
			p.encode(l.BringUp(&ph.Batch))
		} else {
			p.encode(ph.Batch.SetLink(l.Index, false))
		}
	}
	return ph
}

func (p *deleteIfacePlan) add() *Phase {
	ph := &Phase{Name: "add", Subnets: p.load(), PerCall: addressesPerCall}
	what, encode := "address", ph.Batch.NewAddress
	if p.spec.Load == "routes" {
		what, encode = "route", ph.Batch.NewRoute
	}
	ph.Describe = func(i int) string {
		link, prefix := p.item(i)
		return "add " + what + " " + prefix.String() + " to " + link.Name
	}
	for i := range int(p.load()) {
		link, prefix := p.item(i)
		p.encode(encode(link.Index, prefix))
	}
	return ph
}

func (p *deleteIfacePlan) remove() *Phase {
	ph := &Phase{Name: "delete", Subnets: p.load(), Describe: func(i int) string { return "delete " + p.links[i].Name }}
	for _, l := range p.links {
		p.encode(ph.Batch.DelLink(l.Index))
	}
	ph.Check = p.checkRemoved
	return ph
}

// load is the number of subnets on all interfaces together.
func (p *deleteIfacePlan) load() int64 {
	if p.spec.Load == "empty" {
		return 0
	}
	return int64(p.spec.Subnets) * int64(len(p.links)) * int64(len(p.spec.Families))
}

// item is the i-th address or route of the run and the link it belongs to: family
// by family, link by link.
func (p *deleteIfacePlan) item(i int) (ns.Link, netip.Prefix) {
	perFamily := p.spec.Subnets * len(p.links)
	family := p.spec.Families[i/perFamily]
	i %= perFamily
	k, j := i/p.spec.Subnets, uint64(i%p.spec.Subnets)
	bits := p.bits[family]
	switch p.spec.Load {
	case "secondaries":
		return p.links[k], host(subnet(family, bits, uint64(k)), j)
	case "routes":
		return p.links[k], subnet(family, bits, uint64(i))
	}
	return p.links[k], host(subnet(family, bits, uint64(i)), 0)
}

// ours reports whether an interface is one of the run's.
func (p *deleteIfacePlan) ours(index uint32) bool {
	return index >= p.links[0].Index && index <= p.links[len(p.links)-1].Index
}

// checkLoaded counts links, addresses, their host routes in the local table, and
// the routes to their subnets.
func (p *deleteIfacePlan) checkLoaded(inv *Inventory) []results.Check {
	checks := []results.Check{{Name: "links before delete", Want: int64(len(p.links)), Got: p.countLinks(inv)}}
	perFamily := int64(p.spec.Subnets) * int64(len(p.links))
	for _, family := range p.spec.Families {
		addresses, routes := perFamily, perFamily
		switch p.spec.Load {
		case "routes":
			addresses = 0
		case "secondaries":
			routes = int64(len(p.links)) // the primary's subnet
		case "empty":
			addresses, routes = 0, 0
		}
		if family == 4 && p.bits[family] == 32 && p.spec.Load != "routes" {
			routes = 0 // fib_add_ifaddr makes no route to the subnet of a /32
		}
		name := familyName(family)
		checks = append(checks,
			results.Check{Name: name + " addresses before delete", Want: addresses, Got: inv.addresses(family, p.ours)},
			results.Check{Name: name + " local routes before delete", Want: addresses, Got: inv.routes(family, p.isLocal)},
			results.Check{Name: name + " routes before delete", Want: routes, Got: inv.routes(family, p.isUnicast)})
	}
	return checks
}

// checkRemoved demands that nothing of the run is left.
func (p *deleteIfacePlan) checkRemoved(inv *Inventory) []results.Check {
	checks := []results.Check{{Name: "links after delete", Want: 0, Got: p.countLinks(inv)}}
	for _, family := range p.spec.Families {
		name := familyName(family)
		checks = append(checks,
			results.Check{Name: name + " addresses after delete", Got: inv.addresses(family, p.ours)},
			results.Check{Name: name + " routes after delete", Got: inv.routes(family, func(c rtnl.RouteClass) bool { return p.ours(c.Index) })})
	}
	return checks
}

func (p *deleteIfacePlan) countLinks(inv *Inventory) int64 {
	var n int64
	for index := range inv.Links {
		if p.ours(index) {
			n++
		}
	}
	return n
}

func (p *deleteIfacePlan) isLocal(c rtnl.RouteClass) bool {
	return p.ours(c.Index) && c.Type == unix.RTN_LOCAL
}

func (p *deleteIfacePlan) isUnicast(c rtnl.RouteClass) bool {
	return p.ours(c.Index) && c.Type == unix.RTN_UNICAST && c.Table == unix.RT_TABLE_MAIN
}
