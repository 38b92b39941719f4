package churn

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A RoutesSpec is one cell of routes: a table is filled, all next hops are changed,
// it is emptied route by route, filled again, and flushed by taking the link down.
type RoutesSpec struct {
	TableSpec
}

// Command, Cell and Spec make the spec a Workload.
func (s *RoutesSpec) Command() string { return "routes" }

// Cell is the number of routes of each family.
func (s *RoutesSpec) Cell() string { return strconv.Itoa(s.Count) }

// Spec returns s.
func (s *RoutesSpec) Spec() any { return s }

// Plan has the phases add, replace, delete, re-add and flush. The routes go through
// one link, and through another after replace.
func (s *RoutesSpec) Plan() (*Plan, error) {
	links := []ns.Link{ns.NewLink(s.LinkKind, 0), ns.NewLink(s.LinkKind, 1)}
	first, second := rtnl.Route{Index: links[0].Index}, rtnl.Route{Index: links[1].Index}
	tuns := &tunSet{}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	create.Untimed, up.Untimed = true, true

	add := s.phase("add", "add route", rtnl.NewRoute, first, nil)
	add.Loaded, add.Check = true, s.check("add", first.Index, s.routes())
	replace := s.phase("replace", "replace route", rtnl.ReplaceRoute, second, nil)
	replace.Check = s.check("replace", second.Index, s.routes())
	order := s.removalOrder()
	remove := s.phase("delete", "delete route", rtnl.DelRoute, second, order)
	remove.Check = s.check("delete", second.Index, 0)
	again := s.phase("re-add", "add route", rtnl.NewRoute, first, nil)
	again.Check = s.check("re-add", first.Index, s.routes())
	flush := setLinks("flush", links[:1], false)
	flush.Subnets, flush.Check = int64(s.routes()), s.check("flush", first.Index, 0)

	return &Plan{
		Configure: s.configure, Families: s.Families,
		Phases: []*Phase{create, up, add, replace, remove, again, flush},
		Close:  tuns.close,
	}, nil
}

// check demands n routes through an interface in the spec's tables, and none
// elsewhere in them.
func (s *RoutesSpec) check(phase string, index uint32, n int) func(*Inventory) []results.Check {
	return func(inv *Inventory) []results.Check {
		var checks []results.Check
		for _, family := range s.Families {
			ours := func(c rtnl.RouteClass) bool {
				return c.Table >= s.Table && c.Table-s.Table < uint32(s.Tables) && c.Type == unix.RTN_UNICAST && c.Index >= ns.NewLink("", 0).Index
			}
			through := func(c rtnl.RouteClass) bool { return ours(c) && c.Index == index }
			want := int64(n / len(s.Families))
			checks = append(checks,
				results.Check{Name: fmt.Sprintf("IPv%d routes after %s", family, phase), Want: want, Got: inv.routes(family, through)},
				results.Check{Name: fmt.Sprintf("IPv%d routes in all after %s", family, phase), Want: want, Got: inv.routes(family, ours)})
		}
		return checks
	}
}
