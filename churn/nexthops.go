package churn

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// Kinds of next hops that nexthops compares.
const (
	PlainHops     = "plain"     // one gateway in every route
	MultipathHops = "multipath" // several gateways in every route (RTA_MULTIPATH)
	ObjectHops    = "objects"   // a nexthop object, or a group of them (RTA_NH_ID)
)

// A NexthopsSpec is one cell of nexthops: routes are added, the next hops under all
// of them are replaced, and then go away.
//
// For plain and multipath next hops replacing is one request a route, and going
// away is the removal of every route, one request each: what a routing daemon has to
// do. For objects each is one request a family, to the object or group that all
// routes of the family share (replace_nexthop, remove_nexthop, net/ipv4/nexthop.c).
type NexthopsSpec struct {
	TableSpec
	Hops     string `json:"hops"`      // "plain", "multipath" or "objects"
	Paths    int    `json:"paths"`     // next hops of every route
	NoCompat bool   `json:"no_compat"` // the sysctl net.ipv4.nexthop_compat_mode is 0
}

// MaxPaths bounds the next hops of a route, and with it the size of a request.
const MaxPaths = 128

// Validate returns the first thing that is wrong, in the words of the command line.
func (s *NexthopsSpec) Validate() error {
	if err := s.TableSpec.Validate(); err != nil {
		return err
	}
	switch {
	case s.Paths < 1 || s.Paths > MaxPaths:
		return fmt.Errorf("--paths %d: must be 1 to %d", s.Paths, MaxPaths)
	case s.Hops == PlainHops && s.Paths != 1, s.Hops == MultipathHops && s.Paths == 1:
		return fmt.Errorf("%d paths are not %s", s.Paths, s.Hops)
	case !slices.Contains([]string{PlainHops, MultipathHops, ObjectHops}, s.Hops):
		return fmt.Errorf("unknown kind of next hops %q", s.Hops)
	}
	return nil
}

// Memory estimates what the table will take of the kernel's memory, in bytes. IPv4
// routes share their next hops (struct fib_info), while IPv6 has a whole route for
// each path of a multipath route (ip6_route_multipath_add, net/ipv6/route.c).
func (s *NexthopsSpec) Memory(cpus int) (int64, error) {
	total, err := s.TableSpec.Memory(cpus)
	if err != nil || s.Hops != MultipathHops || !slices.Contains(s.Families, 6) {
		return total, err
	}
	more, err := prefixes.Estimate(s.Layout, prefixes.IPv6, s.Count, cpus)
	return total + int64(s.Paths-1)*more, err
}

// Command, Cell and Spec make the spec a Workload.
func (s *NexthopsSpec) Command() string { return "nexthops" }

// Cell is the number of next hops of every route and their kind.
func (s *NexthopsSpec) Cell() string { return fmt.Sprintf("%d %s", s.Paths, s.Hops) }

// Spec returns s.
func (s *NexthopsSpec) Spec() any { return s }

// Plan has the phases add, replace and delete. Between them, untimed, routes and
// objects are counted by dump.
func (s *NexthopsSpec) Plan() (*Plan, error) {
	p := newNexthopsPlan(s)
	create, up := createLinks(p.links, &p.tuns), setLinks("up", p.links, true)
	gateways := p.gateways()
	create.Untimed, up.Untimed, gateways.Untimed = true, true, true
	phases := []*Phase{create, up, gateways}
	order := s.removalOrder(1)
	switch s.Hops {
	case ObjectHops:
		add := s.phase("add", "add route", p.newByID, rtnl.Route{}, nil)
		phases = append(phases, p.makeObjects(), add, p.survey("add", first),
			p.replaceObjects(), p.survey("replace", second),
			p.deleteObjects(), p.survey("delete", none), p.clear(), p.survey("clear", nothing))
	default:
		add := s.phase("add", "add route", p.newRoute, rtnl.Route{}, nil)
		replace := s.phase("replace", "replace route", p.replaceRoute, rtnl.Route{}, nil)
		remove := s.phase("delete", "delete route", rtnl.DelRouteAnyHop, rtnl.Route{}, order)
		phases = append(phases, add, p.survey("add", first),
			replace, p.survey("replace", second), remove, p.survey("delete", nothing))
	}
	for _, ph := range phases {
		ph.Loaded = ph.Name == "add"
	}
	return &Plan{Configure: p.configure, Phases: phases, Close: p.tuns.close}, nil
}

// Probe makes sure that this kernel has nexthop objects, which came with Linux 5.3,
// where the cell needs them.
func (s *NexthopsSpec) Probe() error {
	if s.Hops != ObjectHops {
		return nil
	}
	n, err := ns.New()
	if err != nil {
		return err
	}
	defer n.Close()
	c, err := n.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Nexthops()
	return nexthopsError(err)
}

func nexthopsError(err error) error {
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &ns.UnsupportedError{What: "nexthop objects", Why: "the kernel has none", Help: "use Linux 5.3 or later"}
	}
	if err != nil {
		return fmt.Errorf("list nexthop objects: %w", err)
	}
	return nil
}
