package churn

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fibchurn/internal/packets"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A ForwardSpec is one cell of forward: a table is filled, and then packets that come
// in by one interface are forwarded out of another, for one stretch of time or for
// three, before, during and after something that churns. It has one family.
type ForwardSpec struct {
	TableSpec               // Order is that in which its routes churn
	Path      string        `json:"path"`        // one of results.Paths
	FlowCount int           `json:"flows"`       // different destinations
	Burst     int           `json:"burst"`       // packets taken in together
	Under     string        `json:"under"`       // one of Unders
	ChurnRate int           `json:"churn_rate"`  // as in LookupSpec
	ChurnSize int           `json:"churn_size"`  // as in LookupSpec
	Duration  time.Duration `json:"duration_ns"` // of each stretch; 0: until Packets have gone in
	Packets   int64         `json:"packets"`     // of the one stretch, where Duration is 0
	// ChurnKind is the kind of the interface that --under delete-iface makes and removes;
	// Probe chooses it. A veth's two ends would send and take multicast listener reports
	// (net/ipv6/mcast.c), which the stack's counters do not tell from packets.
	ChurnKind string `json:"churn_link_kind,omitempty"`

	// Name is the cell's.
	Name string `json:"-"`
	// Flows are the destinations, which take turns.
	Flows []netip.Addr `json:"-"`

	stale bool // frames are not written anew: for tests
	stop  <-chan struct{}
}

// MaxPackets bounds the packets of a stretch.
const MaxPackets = 1 << 40

// ForwardLinkKind is the kind of the links: an XDP program can only redirect to an
// interface whose driver takes frames (ndo_xdp_xmit), and of those that need no
// hardware the veth does.
const ForwardLinkKind = "veth"

// Validate returns the first thing that is wrong, in the words of the command line.
func (s *ForwardSpec) Validate() error {
	switch {
	case !slices.Contains(results.Paths(), s.Path):
		return fmt.Errorf("--path %s: must be %s", s.Path, strings.Join(results.Paths(), ", "))
	case s.Count < 1:
		return fmt.Errorf("--count %d: must be at least 1", s.Count)
	case s.Packets > 0 && s.Under != underNone:
		return fmt.Errorf("--packets: is for --under none; something that churns takes a --duration")
	}
	if err := validateInjecting(s.FlowCount, s.Burst, s.Packets, s.Duration); err != nil {
		return err
	}
	l := s.lookup()
	if s.Packets > 0 {
		l.Duration = time.Second // it has none
	}
	return l.Validate()
}

// lookup is the same cell of lookup, whose churn it shares.
func (s *ForwardSpec) lookup() *LookupSpec {
	return &LookupSpec{
		TableSpec: s.TableSpec, Under: s.Under, ChurnRate: s.ChurnRate, ChurnSize: s.ChurnSize, Duration: s.Duration,
		churnKind: s.ChurnKind, hops: hopsOf(s.Families[0]),
	}
}

// hopsOf are two next hops at the other end of the outgoing link.
func hopsOf(family int) *[2]rtnl.Route {
	if family == 6 {
		return &[2]rtnl.Route{
			{Index: LookupOut(), Gateway: netip.MustParseAddr("fe80::1")},
			{Index: LookupOut(), Gateway: netip.MustParseAddr("fe80::2")},
		}
	}
	return &[2]rtnl.Route{ // RFC 2544
		{Index: LookupOut(), Gateway: netip.MustParseAddr("198.19.255.254")},
		{Index: LookupOut(), Gateway: netip.MustParseAddr("198.19.255.253")},
	}
}

// Command, Cell and Spec make the spec a Workload.
func (s *ForwardSpec) Command() string { return "forward" }

// Cell is Name.
func (s *ForwardSpec) Cell() string { return s.Name }

// Spec returns s.
func (s *ForwardSpec) Spec() any { return s }

// Interrupt makes runs end early, with their table as it was, once stop is closed.
func (s *ForwardSpec) Interrupt(stop <-chan struct{}) { s.stop = stop }

// Probe finds out whether frames can be injected here, and chooses the ChurnKind.
func (s *ForwardSpec) Probe() error {
	err := probeInjecting()
	if err == nil && s.Under == underDeleteIface {
		s.ChurnKind, err = ns.ChooseKind(ns.KindAuto)
	}
	return err
}

func probeInjecting() error {
	n, err := ns.New()
	if err != nil {
		return err
	}
	defer n.Close()
	return n.Do(packets.Probe)
}

// Covered reports whether a destination may not be forwarded out of the link while
// something churns that brings local addresses.
func (s *ForwardSpec) Covered() (func(netip.Addr) bool, error) {
	c, err := newLookupChurn(s.lookup())
	if err != nil {
		return nil, err
	}
	taken := map[netip.Prefix]bool{}
	bits := 24
	if s.Families[0] == 6 {
		bits = 64
	}
	for _, p := range c.scene.Props {
		if p.Index == LookupOut() {
			continue
		}
		for _, prefix := range p.Set.All() {
			taken[netip.PrefixFrom(prefix.Addr(), bits).Masked()] = true
		}
	}
	return func(a netip.Addr) bool { return taken[netip.PrefixFrom(a, bits).Masked()] }, nil
}

// Plan fills the table, connects the links, and then forwards for its stretches. At
// the end every packet must be accounted for, and the table as it was.
func (s *ForwardSpec) Plan() (*Plan, error) {
	l := s.lookup()
	c, err := newLookupChurn(l)
	if err != nil {
		return nil, err
	}
	links := []ns.Link{ns.NewLink(s.LinkKind, lookupOut), ns.NewLink(s.LinkKind, lookupIn)}
	b := &forwarding{spec: s, churn: c, injected: injected{flows: int64(s.FlowCount), packets: s.Packets, duration: s.Duration, stop: s.stop}}
	add := &Phase{Name: "add", Timed: func(conn *rtnl.Conn) (rtnl.Cost, error) { return l.addTables(conn, c) }}
	add.Loaded, add.Check = true, s.checkTable("add", c)
	untimed := []*Phase{
		createLinks(links, &tunSet{}), {Name: "address", Timed: b.address}, setLinks("up", links, true),
		{Name: "connect", Timed: b.connect}, add, {Name: "open", Timed: b.open},
	}
	for _, ph := range untimed {
		ph.Untimed = true
	}
	phases := append(untimed, b.phases()...)
	last := phases[len(phases)-1]
	table := s.checkTable("forwarding", c)
	last.Check = func(inv *Inventory) []results.Check { return append(b.checks, table(inv)...) }
	last.After = b.record
	return &Plan{
		Configure: b.configure, Families: s.Families, Phases: phases, Close: b.close,
	}, nil
}

// checkTable demands the table's routes, and those to the next hops themselves.
func (s *ForwardSpec) checkTable(after string, c *lookupChurn) func(*Inventory) []results.Check {
	own := 0
	if s.Families[0] == 4 {
		own = len(hopsOf(4))
	}
	return c.checkTable(&s.TableSpec, own, after)
}

// routerSysctls make a namespace forward, without looking at where packets come from.
// Up to Linux 6.2 an IPv6 destination cache bounds how many routes are in use.
func routerSysctls(n *ns.Namespace, family int) error {
	settings := [][2]string{
		{"net.ipv4.ip_forward", "1"},
		{"net.ipv4.conf.all.rp_filter", "0"},
		{"net.ipv4.conf.default.rp_filter", "0"},
	}
	if family == 6 {
		settings = [][2]string{{"net.ipv6.conf.all.forwarding", "1"}}
	}
	for _, set := range settings {
		if err := n.SetSysctl(set[0], set[1]); err != nil {
			return err
		}
	}
	if family == 4 {
		return nil
	}
	for _, limit := range []string{"net.ipv6.route.max_size", "net.ipv6.route.gc_thresh"} {
		if err := n.SetSysctl(limit, "2147483647"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
