package churn

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"fibchurn/ns"
)

// NetnsLoads are what netns can put into every namespace before letting it go: its
// cells, in the order of the table.
func NetnsLoads() []string { return []string{"addrs", "routes", "both", "empty", "bare"} }

// A NetnsSpec is one cell of netns: the cost of dismantling network namespaces
// (cleanup_net, net/core/net_namespace.c).
//
// The load "addrs" gives every namespace one interface with Subnets addresses, each
// in a subnet of its own; "routes" one with Routes routes; "both" one with both;
// "empty" one with nothing, which is the calibration; "bare" no interface at all.
// They are made, filled, and let go all at once. With Loops, which takes the load
// "bare", that many threads make Namespaces each, one after the other, where making
// one lets go the one before.
type NetnsSpec struct {
	Load       string `json:"load"`
	Namespaces int    `json:"namespaces"`
	Loops      int    `json:"loops"`
	Routes     int    `json:"routes"`  // of each namespace and family
	Subnets    int    `json:"subnets"` // the same
	Families   []int  `json:"families"`
	LinkKind   string `json:"link_kind"`
	Seed       uint64 `json:"seed"` // of the order of runs

	// Sweep says that the cells differ in Namespaces too, so that it belongs to
	// their names.
	Sweep bool `json:"-"`
}

// Bounds of one run.
const (
	maxNamespaces = 1 << 16
	maxLoops      = 1 << 10
)

// Validate returns the first thing that is wrong, in the words of the command line.
func (s *NetnsSpec) Validate() error {
	switch {
	case !slices.Contains(NetnsLoads(), s.Load):
		return fmt.Errorf("--as %s: must be one of addrs, routes, both, empty, bare", s.Load)
	case s.Namespaces < 1 || s.Namespaces > maxNamespaces:
		return fmt.Errorf("--namespaces %d: must be 1 to %d", s.Namespaces, maxNamespaces)
	case s.Loops < 0 || s.Loops > maxLoops:
		return fmt.Errorf("--loops %d: must be at most %d", s.Loops, maxLoops)
	case s.Loops > 0 && s.Load != "bare":
		return fmt.Errorf("--loops %d: loops make bare namespaces; leave --as, --routes and --subnets out", s.Loops)
	case s.LinkKind == "tun":
		return errors.New("--link-kind tun: its interface goes with its file, before the namespace does")
	case len(s.Families) == 0:
		return errors.New("no address family")
	}
	if s.addresses() == 0 && slices.Contains([]string{"addrs", "both"}, s.Load) {
		return fmt.Errorf("--subnets 0: --as %s has nothing to add", s.Load)
	}
	if s.routes() == 0 && slices.Contains([]string{"routes", "both"}, s.Load) {
		return fmt.Errorf("--routes 0: --as %s has nothing to add", s.Load)
	}
	return s.validateRoom()
}

// validateRoom checks that the families hold the load, and a run all of it.
func (s *NetnsSpec) validateRoom() error {
	each := s.addresses() + s.routes()
	for _, family := range s.Families {
		if family != 4 && family != 6 {
			return fmt.Errorf("unknown address family %d", family)
		}
		bits := netnsBits(family)
		if most := poolOf(family).capacity(bits); uint64(each) > most {
			return fmt.Errorf("--subnets %d --routes %d: there are %d IPv%d /%d subnets to choose from", s.addresses(), s.routes(), most, family, bits)
		}
	}
	if each > maxRequests/s.Namespaces/len(s.Families) {
		return fmt.Errorf("--subnets %d --routes %d in %d namespaces: one run takes at most %d addresses and routes", s.addresses(), s.routes(), s.Namespaces, maxRequests)
	}
	return nil
}

// netnsBits is the length of a family's subnets.
func netnsBits(family int) int {
	if family == 6 {
		return 64
	}
	return 24
}

// addresses is the number of addresses of each namespace and family.
func (s *NetnsSpec) addresses() int {
	if s.Load == "addrs" || s.Load == "both" {
		return s.Subnets
	}
	return 0
}

// routes is the number of routes of each namespace and family, but for those that
// the kernel makes for addresses.
func (s *NetnsSpec) routes() int {
	if s.Load == "routes" || s.Load == "both" {
		return s.Routes
	}
	return 0
}

// Memory estimates what the namespaces take of the kernel's memory while all of
// them exist, in bytes: of each namespace twice what was measured (213 KiB;
// Linux 6.18, x86-64), of addresses and routes generously.
func (s *NetnsSpec) Memory() int64 {
	const namespace, item = 426 << 10, 2 << 10
	count := int64(s.Namespaces)
	if s.Loops > 0 {
		count *= int64(s.Loops) // letting go is slower than making
	}
	return count * (namespace + item*int64(s.addresses()+s.routes())*int64(len(s.Families)))
}

// Command, Cell and Spec make the spec a Workload.
func (s *NetnsSpec) Command() string { return "netns" }

// Cell is the load, "loops" for loops, and in a sweep after the number of namespaces.
func (s *NetnsSpec) Cell() string {
	cell := s.Load
	if s.Loops > 0 {
		cell = "loops"
	}
	if s.Sweep {
		cell = strconv.Itoa(s.Namespaces) + " " + cell
	}
	return cell
}

// Links is where the kind of the links is kept.
func (s *NetnsSpec) Links() *string { return &s.LinkKind }

// Probe makes sure that the namespaces can all be held and can keep their links.
func (s *NetnsSpec) Probe() error {
	if s.LinkKind == "tun" && s.Load != "bare" {
		return &ns.UnsupportedError{
			What: "an interface that goes with its namespace", Why: "this kernel makes tun interfaces only, which go with their file",
			Help: "load the module dummy or use a kernel with it, or --as bare",
		}
	}
	if s.Loops > 0 {
		return nil
	}
	return ns.MayHold(s.Namespaces)
}

// Spec returns s.
func (s *NetnsSpec) Spec() any { return s }

// Plan has the phases create, fill (but not of bare) and dismantle, or loops alone.
// The wall time of dismantle is from when the kernel begins on the namespaces, all
// of which have been let go, to the end of the last (ns.Watch). A thread of the
// kernel does that work, and its CPU time is not known. The wall time of loops is
// from the first unshare(2) to the end of the last namespace, its CPU time that of
// the threads that make namespaces, together.
func (s *NetnsSpec) Plan() (*Plan, error) {
	p := &netnsPlan{spec: s, link: ns.NewLink(s.LinkKind, 0)}
	plan := &Plan{Configure: p.configure, Close: p.close, Elsewhere: true, Watched: func(w Watching) { p.watching = w }}
	if s.Loops > 0 {
		plan.Phases = []*Phase{p.loops()}
		return plan, nil
	}
	plan.Phases = []*Phase{p.create()}
	if s.Load != "bare" {
		plan.Phases = append(plan.Phases, p.fill())
	}
	plan.Phases = append(plan.Phases, p.survey(), p.dismantle(), p.aftermath())
	return plan, nil
}
