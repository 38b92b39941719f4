package churn

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// An AddrsSpec is one cell of addrs: an interface that is up gets addresses one by
// one, and loses them one by one.
//
// Every address is in a subnet of its own, or with Secondaries all of a family are
// in one. The first IPv4 address of a subnet is its primary, and what becomes of
// the others when it goes is up to Promote: the next one takes its place
// (promote_secondaries), or all go with it (__inet_del_ifa, net/ipv4/devinet.c).
// The removal of addresses that have gone is not asked for: without Promote the
// phase delete ends, as to IPv4, with the primary. IPv6 has no such ranks.
type AddrsSpec struct {
	ListenerSpec
	Count       int    `json:"count"`      // addresses of each family
	Families    []int  `json:"families"`   // 4, 6
	PrefixLen   int    `json:"prefix_len"` // 0: 24 and 64, or what one subnet for all needs
	Secondaries bool   `json:"secondaries"`
	Promote     bool   `json:"promote"`
	Order       string `json:"order"` // of removals: as added, "reverse" or "random"
	LinkKind    string `json:"link_kind"`
	Batch       int    `json:"batch"` // requests of one call
	Seed        uint64 `json:"seed"`
}

// Validate returns the first thing that is wrong, in the words of the command
// line.
func (s *AddrsSpec) Validate() error {
	switch {
	case s.Count < 1:
		return fmt.Errorf("--count %d: must be at least 1", s.Count)
	case s.Batch < 1 || s.Batch > MaxBatch:
		return fmt.Errorf("--batch %d: must be 1 to %d", s.Batch, MaxBatch)
	case !slices.Contains(Orders(), s.Order):
		return fmt.Errorf("--order %s: must be added, reverse or random", s.Order)
	case len(s.Families) == 0:
		return errors.New("no address family")
	case s.Promote && !s.Secondaries:
		return errors.New("--promote: there are none to promote without --secondaries")
	case s.Promote && !slices.Contains(s.Families, 4):
		return errors.New("--promote: IPv6 addresses are not primary or secondary")
	case s.Count > maxRequests/len(s.Families):
		return fmt.Errorf("--count %d: one run takes at most %d addresses", s.Count, maxRequests)
	}
	for _, family := range s.Families {
		if err := s.validateFamily(family); err != nil {
			return err
		}
	}
	return s.ListenerSpec.validate()
}

func (s *AddrsSpec) validateFamily(family int) error {
	if family != 4 && family != 6 {
		return fmt.Errorf("unknown address family %d", family)
	}
	room := poolOf(family)
	if s.PrefixLen != 0 && (s.PrefixLen < room.minBits || s.PrefixLen > room.maxBits) {
		return fmt.Errorf("--prefix-len %d: must be %d to %d for IPv%d", s.PrefixLen, room.minBits, room.maxBits, family)
	}
	bits, err := s.bits(family)
	if err != nil {
		return fmt.Errorf("--count %d: %w", s.Count, err)
	}
	if s.Secondaries {
		if most := hosts(family, bits); uint64(s.Count) > most {
			return fmt.Errorf("--count %d: an IPv%d /%d holds %d addresses", s.Count, family, bits, most)
		}
	} else if most := room.capacity(bits); uint64(s.Count) > most {
		return fmt.Errorf("--count %d: there are %d IPv%d /%d subnets to choose from", s.Count, most, family, bits)
	}
	return nil
}

// bits is the prefix length of a family's addresses.
func (s *AddrsSpec) bits(family int) (int, error) {
	usual := usualBits(family)
	switch {
	case s.PrefixLen != 0:
		return s.PrefixLen, nil
	case s.Secondaries:
		return bitsForHosts(family, usual, uint64(s.Count))
	}
	return usual, nil
}

// Command, Cell and Spec make the spec a Workload.
func (s *AddrsSpec) Command() string { return "addrs" }

// Cell is the number of addresses of each family.
func (s *AddrsSpec) Cell() string { return strconv.Itoa(s.Count) }

// Spec returns s.
func (s *AddrsSpec) Spec() any { return s }

// Plan has the phases add and delete. The link is up before and after.
func (s *AddrsSpec) Plan() (*Plan, error) {
	p := &addrsPlan{spec: s, link: ns.NewLink(s.LinkKind, 0), bits: map[int]int{}}
	for _, family := range s.Families {
		var err error
		if p.bits[family], err = s.bits(family); err != nil {
			return nil, err
		}
	}
	tuns := &tunSet{}
	links := []ns.Link{p.link}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	create.Untimed, up.Untimed = true, true
	add := p.phase("add", rtnl.NewAddress, nil, p.addresses())
	add.Loaded, add.Check = true, func(inv *Inventory) []results.Check { return p.check("add", s.Count, inv) }
	order := p.removals()
	remove := p.phase("delete", rtnl.DelAddress, order, len(order))
	remove.Check = func(inv *Inventory) []results.Check { return p.check("delete", 0, inv) }
	return &Plan{
		Configure: p.configure, Families: s.Families,
		Phases: []*Phase{create, up, add, remove}, Close: tuns.close,
	}, nil
}

// An addrsPlan is what the phases of one run of addrs share.
type addrsPlan struct {
	spec *AddrsSpec
	link ns.Link
	bits map[int]int // prefix length by family
}

// configure silences the namespace, and says what becomes of secondaries: a new
// namespace has the initial one's setting (devinet_init_net, net/ipv4/devinet.c),
// and that of "all" or of the interface is enough (IN_DEV_PROMOTE_SECONDARIES).
func (p *addrsPlan) configure(n *ns.Namespace) error {
	if err := quiet(n, p.spec.Families); err != nil {
		return err
	}
	promote := "0"
	if p.spec.Promote {
		promote = "1"
	}
	for _, whose := range []string{"all", "default"} {
		if err := n.SetSysctl("net.ipv4.conf."+whose+".promote_secondaries", promote); err != nil {
			return err
		}
	}
	return nil
}

// addresses is the number of addresses of all families.
func (p *addrsPlan) addresses() int { return p.spec.Count * len(p.spec.Families) }

// item is the i-th address: family by family. The first of a family is the primary.
func (p *addrsPlan) item(i int) netip.Prefix {
	family, k := p.spec.Families[i/p.spec.Count], uint64(i%p.spec.Count)
	if p.spec.Secondaries {
		return host(subnet(family, p.bits[family], 0), k)
	}
	return host(subnet(family, p.bits[family], k), 0)
}

// removals are the addresses to remove, in order: all, but for those that go with
// their primary.
func (p *addrsPlan) removals() []int32 {
	s := p.spec
	order := (&TableSpec{Count: s.Count, Families: s.Families, Order: s.Order, Seed: s.Seed}).removalOrder(1)
	if order == nil {
		order = make([]int32, p.addresses())
		for i := range order {
			order[i] = int32(i)
		}
	}
	if !s.Secondaries || s.Promote {
		return order
	}
	gone := false
	return slices.DeleteFunc(order, func(i int32) bool {
		if s.Families[int(i)/s.Count] != 4 {
			return false
		}
		went := gone
		gone = gone || int(i)%s.Count == 0
		return went
	})
}

// phase is a phase of n requests for the addresses that at gives (nil: as added).
func (p *addrsPlan) phase(name string, template func(family int, index uint32) (*rtnl.Template, error), at []int32, n int) *Phase {
	item := func(i int) netip.Prefix {
		if at != nil {
			i = int(at[i])
		}
		return p.item(i)
	}
	templates := map[int]*rtnl.Template{}
	return &Phase{
		Name: name, Subnets: int64(p.addresses()), Ops: n,
		PerCall: p.spec.Batch, Each: p.spec.Batch == 1,
		Describe: func(i int) string { return name + " " + item(i).String() + " on " + p.link.Name },
		Fill: func(b *rtnl.Batch, from, to int) error {
			for i := from; i < to; i++ {
				address := item(i)
				family := familyOf(address)
				if templates[family] == nil {
					var err error
					if templates[family], err = template(family, p.link.Index); err != nil {
						return err
					}
				}
				b.AppendPrefix(templates[family], address)
			}
			return nil
		},
	}
}

// check demands n addresses of each family, their host routes in the local table,
// and the routes to their subnets.
func (p *addrsPlan) check(phase string, n int, inv *Inventory) []results.Check {
	ours := func(index uint32) bool { return index == p.link.Index }
	var checks []results.Check
	for _, family := range p.spec.Families {
		count := func(typ uint8, table uint32) int64 {
			return inv.routes(family, func(c rtnl.RouteClass) bool {
				return ours(c.Index) && c.Type == typ && c.Table == table
			})
		}
		name := familyName(family)
		checks = append(checks,
			results.Check{Name: name + " addresses after " + phase, Want: int64(n), Got: inv.addresses(family, ours)},
			results.Check{Name: name + " local routes after " + phase, Want: int64(n), Got: count(unix.RTN_LOCAL, unix.RT_TABLE_LOCAL)},
			results.Check{Name: name + " routes after " + phase, Want: p.subnetRoutes(family, n), Got: count(unix.RTN_UNICAST, unix.RT_TABLE_MAIN)})
	}
	return checks
}

// subnetRoutes is how many routes to subnets n addresses make.
func (p *addrsPlan) subnetRoutes(family, n int) int64 {
	switch {
	case family == 4 && p.bits[family] == 32:
		return 0 // fib_add_ifaddr makes none to the subnet of a /32
	case p.spec.Secondaries:
		return int64(min(n, 1))
	}
	return int64(n)
}

// Links is the kind of the links.
func (s *AddrsSpec) Links() *string { return &s.LinkKind }
