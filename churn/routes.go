package churn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A RoutesSpec is one cell of routes: a table is filled, all next hops are changed,
// it is emptied route by route, filled again, and flushed by taking the link down.
type RoutesSpec struct {
	TableSpec
	ListenerSpec
	Parallel   int    `json:"parallel"`    // writers that share the routes
	ParallelIn string `json:"parallel_in"` // what they write to: one "table", "tables" or "namespaces" of their own
}

// MaxWriters bounds the number of parallel writers.
const MaxWriters = 1024

// Validate returns the first thing that is wrong, in the words of the command
// line.
func (s *RoutesSpec) Validate() error {
	t := s.TableSpec
	if s.ParallelIn == "tables" {
		t.Tables = max(t.Tables, s.Parallel)
	}
	if err := t.Validate(); err != nil {
		return err
	}
	switch {
	case s.Parallel < 1 || s.Parallel > MaxWriters:
		return fmt.Errorf("--parallel %d: must be 1 to %d", s.Parallel, MaxWriters)
	case s.Parallel > s.routes():
		return fmt.Errorf("--parallel %d: more writers than the %d routes", s.Parallel, s.routes())
	case !slices.Contains(WriteTargets(), s.ParallelIn):
		return fmt.Errorf("--parallel-in %s: must be %s", s.ParallelIn, strings.Join(WriteTargets(), ", "))
	case s.ParallelIn == "tables" && s.Tables > 1:
		return fmt.Errorf("--tables %d: --parallel-in tables makes one for each writer", s.Tables)
	}
	return s.ListenerSpec.validate()
}

// WriteTargets are what parallel writers can write to.
func WriteTargets() []string { return []string{"table", "tables", "namespaces"} }

// Command, Cell and Spec make the spec a Workload.
func (s *RoutesSpec) Command() string { return "routes" }

// Cell is the number of routes of each family, and of writers where they are several.
func (s *RoutesSpec) Cell() string {
	if s.Parallel == 1 {
		return strconv.Itoa(s.Count)
	}
	return fmt.Sprintf("%d, %d writers", s.Count, s.Parallel)
}

// Spec returns s.
func (s *RoutesSpec) Spec() any { return s }

// Plan has the phases add, replace, delete, re-add and flush. The routes go through
// one link, and through another after replace.
func (s *RoutesSpec) Plan() (*Plan, error) {
	if s.ParallelIn == "tables" {
		s.ownTables = s.Parallel
	}
	links := []ns.Link{ns.NewLink(s.LinkKind, 0), ns.NewLink(s.LinkKind, 1)}
	first, second := rtnl.Route{Index: links[0].Index}, rtnl.Route{Index: links[1].Index}
	tuns := &tunSet{}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	create.Untimed, up.Untimed = true, true

	add := s.phase("add", "add route", rtnl.NewRoute, first, nil)
	add.Loaded, add.Check = true, s.check("add", first.Index, s.routes())
	replace := s.phase("replace", "replace route", rtnl.ReplaceRoute, second, nil)
	replace.Check = s.check("replace", second.Index, s.routes())
	order := s.removalOrder(s.Parallel) // a writer removes what it added
	remove := s.phase("delete", "delete route", rtnl.DelRoute, second, order)
	remove.Check = s.check("delete", second.Index, 0)
	again := s.phase("re-add", "add route", rtnl.NewRoute, first, nil)
	again.Check = s.check("re-add", first.Index, s.routes())
	flush := setLinks("flush", links[:1], false)
	for _, ph := range []*Phase{add, replace, remove, again} {
		ph.Writers = s.Parallel
	}
	flush.Subnets, flush.Check = int64(s.routes()), s.check("flush", first.Index, 0)

	spaces := 1
	if s.ParallelIn == "namespaces" {
		spaces = s.Parallel
	}
	return &Plan{
		Spaces: spaces, Configure: s.configure, Families: s.Families,
		Phases: []*Phase{create, up, add, replace, remove, again, flush},
		Close:  tuns.close,
	}, nil
}

// check demands n routes through an interface in the spec's tables, and none
// elsewhere in them.
func (s *TableSpec) check(phase string, index uint32, n int) func(*Inventory) []results.Check {
	return func(inv *Inventory) []results.Check {
		var checks []results.Check
		for _, family := range s.Families {
			ours := func(c rtnl.RouteClass) bool {
				return c.Table >= s.Table && c.Table-s.Table < uint32(s.tables()) && c.Type == unix.RTN_UNICAST && c.Index >= ns.NewLink("", 0).Index
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
