package churn

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A nexthopsPlan is what the phases of one run of nexthops share.
type nexthopsPlan struct {
	spec  *NexthopsSpec
	links []ns.Link // the one that all gateways are on
	tuns  tunSet

	routes  map[int]map[rtnl.HopClass]int64 // by family: what the last survey counted
	objects []rtnl.Nexthop
}

func newNexthopsPlan(s *NexthopsSpec) *nexthopsPlan {
	return &nexthopsPlan{spec: s, links: []ns.Link{ns.NewLink(s.LinkKind, 0)}}
}

// configure also sets whether routes through objects show their next hops, and are
// announced anew when the object changes (nexthop_replace_notify,
// net/ipv4/nexthop.c).
func (p *nexthopsPlan) configure(n *ns.Namespace) error {
	if err := p.spec.configure(n); err != nil {
		return err
	}
	if !p.spec.NoCompat {
		return nil
	}
	err := n.SetSysctl("net.ipv4.nexthop_compat_mode", "0")
	if errors.Is(err, fs.ErrNotExist) {
		return &ns.UnsupportedError{What: "--no-compat", Why: "the kernel has no sysctl net.ipv4.nexthop_compat_mode", Help: "use Linux 5.8 or later, or leave it out"}
	}
	return err
}

// A stage is what a survey expects.
type stage int

const (
	first   stage = iota // routes through the first set of gateways
	second               // routes through the second
	none                 // no routes, and the single objects only
	nothing              // no routes and no objects
)

// gatewayNet is the subnet that a family's gateways are in, and whose first address
// is the interface's, so that the kernel resolves gateways as it does in real life
// (fib_check_nh, net/ipv4/fib_semantics.c) and not as with the flag onlink. No
// layout has prefixes there: 240.0.0.0/4 is outside of what they use, as is
// fd00::/8.
func gatewayNet(family int) netip.Prefix {
	if family == 6 {
		return netip.MustParsePrefix("fd00:0:0:fc::/64")
	}
	return netip.MustParsePrefix("240.0.0.0/16")
}

// gateway is a family's i-th gateway of a set.
func (p *nexthopsPlan) gateway(family int, set stage, i int) netip.Addr {
	return host(gatewayNet(family), uint64(1+int(set)*p.spec.Paths+i)).Addr()
}

// hops are the next hops of every route.
func (p *nexthopsPlan) hops(family int, set stage) []rtnl.NextHop {
	hops := make([]rtnl.NextHop, p.spec.Paths)
	for i := range hops {
		hops[i] = rtnl.NextHop{Index: p.links[0].Index, Gateway: p.gateway(family, set, i)}
	}
	return hops
}

// gateways gives the interface its address in each family's subnet of gateways.
func (p *nexthopsPlan) gateways() *Phase {
	families := p.spec.Families
	return &Phase{
		Name: "gateways", Ops: len(families),
		Describe: func(i int) string { return "add " + host(gatewayNet(families[i]), 0).String() },
		Fill: func(b *rtnl.Batch, from, to int) error {
			for _, family := range families[from:to] {
				t, err := rtnl.NewAddress(family, p.links[0].Index)
				if err != nil {
					return err
				}
				b.AppendPrefix(t, host(gatewayNet(family), 0))
			}
			return nil
		},
	}
}

// newRoute, replaceRoute and newByID are routeMakers: r has family and table.
func (p *nexthopsPlan) newRoute(r rtnl.Route) (*rtnl.Template, error) {
	if p.spec.Hops == MultipathHops {
		return rtnl.NewMultipathRoute(r, p.hops(r.Family, first))
	}
	r.Index, r.Gateway = p.links[0].Index, p.gateway(r.Family, first, 0)
	return rtnl.NewRoute(r)
}

func (p *nexthopsPlan) replaceRoute(r rtnl.Route) (*rtnl.Template, error) {
	if p.spec.Hops == MultipathHops {
		return rtnl.ReplaceMultipathRoute(r, p.hops(r.Family, second))
	}
	r.Index, r.Gateway = p.links[0].Index, p.gateway(r.Family, second, 0)
	return rtnl.ReplaceRoute(r)
}

func (p *nexthopsPlan) newByID(r rtnl.Route) (*rtnl.Template, error) {
	return rtnl.NewRouteByID(r, p.shared(r.Family))
}

// shared is the identifier of the object or group that all routes of a family go
// through.
func (p *nexthopsPlan) shared(family int) uint32 { return uint32(family) << 16 }

// members are the identifiers of the objects in a family's group, for each set of
// gateways others; none where the routes go through a single object.
func (p *nexthopsPlan) members(family int, set stage) []uint32 {
	if p.spec.Paths == 1 {
		return nil
	}
	ids := make([]uint32, p.spec.Paths)
	for i := range ids {
		ids[i] = p.shared(family) + uint32(1+int(set)*p.spec.Paths+i)
	}
	return ids
}

// makeObjects makes each family's shared object, or all members and the group.
func (p *nexthopsPlan) makeObjects() *Phase {
	return p.requests("objects", true, func(b *rtnl.Batch, family int) error {
		for _, set := range []stage{first, second} {
			hops := p.hops(family, set)
			for i, id := range p.members(family, set) {
				if err := b.NewNexthop(family, id, hops[i], false); err != nil {
					return err
				}
			}
		}
		return p.setShared(b, family, first, false)
	})
}

// setShared makes or replaces what all routes of a family go through.
func (p *nexthopsPlan) setShared(b *rtnl.Batch, family int, set stage, replace bool) error {
	if members := p.members(family, set); members != nil {
		return b.NewNexthopGroup(p.shared(family), members, replace)
	}
	return b.NewNexthop(family, p.shared(family), p.hops(family, set)[0], replace)
}

func (p *nexthopsPlan) replaceObjects() *Phase {
	return p.requests("replace", false, func(b *rtnl.Batch, family int) error {
		return p.setShared(b, family, second, true)
	})
}

func (p *nexthopsPlan) deleteObjects() *Phase {
	return p.requests("delete", false, func(b *rtnl.Batch, family int) error {
		return b.DelNexthop(p.shared(family))
	})
}

// clear removes the members that a deleted group leaves behind.
func (p *nexthopsPlan) clear() *Phase {
	return p.requests("clear", true, func(b *rtnl.Batch, family int) error {
		for _, id := range slices.Concat(p.members(family, first), p.members(family, second)) {
			if err := b.DelNexthop(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// requests is a phase of requests that are few: those that appendAll appends for
// each family, all in one call.
func (p *nexthopsPlan) requests(name string, untimed bool, appendAll func(*rtnl.Batch, int) error) *Phase {
	ph := &Phase{Name: name, Untimed: untimed, Subnets: int64(p.spec.routes())}
	ph.Timed = func(c *rtnl.Conn) (rtnl.Cost, error) {
		var b rtnl.Batch
		for _, family := range p.spec.Families {
			if err := appendAll(&b, family); err != nil {
				return rtnl.Cost{}, err
			}
		}
		out, err := c.Send(&b, rtnl.Options{})
		if err == nil {
			err = out.Err()
		}
		out.Cost.Calls = out.Cost.Requests
		return out.Cost, err
	}
	return ph
}

// survey counts routes and objects by dump after a phase, untimed, and demands what
// the stage says.
func (p *nexthopsPlan) survey(after string, want stage) *Phase {
	return &Phase{
		Name: "survey after " + after, Untimed: true,
		Timed: func(c *rtnl.Conn) (rtnl.Cost, error) { return rtnl.Cost{}, p.count(c) },
		Check: func(*Inventory) []results.Check { return p.checks(after, want) },
	}
}

func (p *nexthopsPlan) count(c *rtnl.Conn) (err error) {
	if p.objects, err = c.Nexthops(); err != nil {
		if p.spec.Hops == ObjectHops || !errors.Is(err, unix.EOPNOTSUPP) {
			return nexthopsError(err)
		}
	}
	p.routes = map[int]map[rtnl.HopClass]int64{}
	for _, family := range p.spec.Families {
		counts, err := dumpAgain(func() (map[rtnl.HopClass]int64, error) { return c.RoutesByHop(rtnl.AddressFamily(family)) })
		if err != nil {
			return fmt.Errorf("count IPv%d routes: %w", family, err)
		}
		p.routes[family] = counts
	}
	return nil
}

// dumpAgain repeats a dump that was disturbed.
func dumpAgain[T any](dump func() (T, error)) (T, error) {
	for deadline := time.Now().Add(loadPatience); ; time.Sleep(5 * time.Millisecond) {
		out, err := dump()
		if !errors.Is(err, rtnl.ErrInterrupted) || time.Now().After(deadline) {
			return out, err
		}
	}
}

func (p *nexthopsPlan) checks(after string, want stage) []results.Check {
	var checks []results.Check
	for _, family := range p.spec.Families {
		var all, right int64
		for class, n := range p.routes[family] {
			all += n
			if p.right(family, class, want) {
				right += n
			}
		}
		routes := int64(p.spec.Count)
		if want >= none {
			routes = 0
		}
		name := familyName(family)
		checks = append(checks,
			results.Check{Name: name + " routes after " + after, Want: routes, Got: right},
			results.Check{Name: name + " routes in all after " + after, Want: routes, Got: all})
	}
	shared, others := p.countObjects(want)
	wantShared, wantOthers := p.wantObjects(want)
	return append(checks,
		results.Check{Name: "nexthop objects under the routes after " + after, Want: wantShared, Got: shared},
		results.Check{Name: "other nexthop objects after " + after, Want: wantOthers, Got: others})
}

// right reports whether routes of that class are as the stage wants them.
func (p *nexthopsPlan) right(family int, class rtnl.HopClass, want stage) bool {
	s := p.spec
	hops, id, gateway := s.Paths, uint32(0), p.gateway(family, want, 0)
	if s.Hops == ObjectHops {
		id = p.shared(family)
		if s.NoCompat {
			hops, gateway = 0, netip.Addr{}
		}
	}
	return class.Table >= s.Table && class.Table-s.Table < uint32(s.tables()) &&
		class == rtnl.HopClass{Table: class.Table, ID: id, Hops: hops, Gateway: gateway}
}

// countObjects counts the objects that routes go through and that are as the stage
// wants them, and all others.
func (p *nexthopsPlan) countObjects(want stage) (shared, others int64) {
	for _, object := range p.objects {
		as := slices.ContainsFunc(p.spec.Families, func(family int) bool {
			if object.ID != p.shared(family) {
				return false
			}
			if members := p.members(family, want); members != nil {
				return slices.Equal(object.Members, members)
			}
			return object.Gateway == p.gateway(family, want, 0)
		})
		if as {
			shared++
		} else {
			others++
		}
	}
	return shared, others
}

func (p *nexthopsPlan) wantObjects(want stage) (shared, others int64) {
	families := int64(len(p.spec.Families))
	if p.spec.Hops != ObjectHops || want == nothing {
		return 0, 0
	}
	if p.spec.Paths > 1 {
		others = 2 * int64(p.spec.Paths) * families
	}
	if want == none {
		return 0, others
	}
	return families, others
}
