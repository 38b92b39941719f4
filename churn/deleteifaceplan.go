package churn

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A deleteIfacePlan is what the phases of one run of delete-iface share.
type deleteIfacePlan struct {
	spec  *DeleteIfaceSpec
	links []ns.Link
	bits  map[int]int // prefix length by family
	tuns  tunSet
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

func (p *deleteIfacePlan) configure(n *ns.Namespace) error {
	return quiet(n, p.spec.Families)
}

func (p *deleteIfacePlan) create() *Phase {
	return createLinks(p.links, &p.tuns)
}

func (p *deleteIfacePlan) setLinks(name string, up bool) *Phase {
	ph := setLinks(name, p.links, up)
	ph.Subnets = p.load()
	return ph
}

func (p *deleteIfacePlan) add() *Phase {
	what, template := "address", rtnl.NewAddress
	if p.spec.Load == "routes" {
		what, template = "route", newRouteThrough
	}
	ph := &Phase{Name: "add", Subnets: p.load(), Ops: int(p.load()), PerCall: requestsPerCall}
	ph.Describe = func(i int) string {
		link, prefix := p.item(i)
		return "add " + what + " " + prefix.String() + " to " + link.Name
	}
	ph.Fill = func(b *rtnl.Batch, from, to int) error {
		var t *rtnl.Template
		var index uint32
		var family int
		for i := from; i < to; i++ {
			link, prefix := p.item(i)
			if f := familyOf(prefix); t == nil || link.Index != index || f != family {
				var err error
				if t, err = template(f, link.Index); err != nil {
					return err
				}
				index, family = link.Index, f
			}
			b.AppendPrefix(t, prefix)
		}
		return nil
	}
	return ph
}

func newRouteThrough(family int, index uint32) (*rtnl.Template, error) {
	return rtnl.NewRoute(rtnl.Route{Family: family, Table: unix.RT_TABLE_MAIN, Index: index})
}

func (p *deleteIfacePlan) remove() *Phase {
	return &Phase{
		Name: "delete", Subnets: p.load(), Ops: len(p.links), Quiet: true,
		Fill: func(b *rtnl.Batch, from, to int) error {
			for _, l := range p.links[from:to] {
				if err := b.DelLink(l.Index); err != nil {
					return err
				}
			}
			return nil
		},
		Describe: func(i int) string { return "delete " + p.links[i].Name },
		Check:    p.checkRemoved,
	}
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
