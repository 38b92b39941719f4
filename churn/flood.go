package churn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fibchurn/internal/packets"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A FloodSpec is one cell of flood: SYNs from many sources arrive at a listening
// socket, which answers each with a SYN cookie. It has one family.
type FloodSpec struct {
	Families  []int         `json:"families"`    // one of 4, 6
	Rules     int           `json:"rules"`       // before the first that matches the answers
	FlowCount int           `json:"flows"`       // different sources
	Burst     int           `json:"burst"`       // packets taken in together
	Duration  time.Duration `json:"duration_ns"` // 0: until Packets have gone in
	Packets   int64         `json:"packets"`
	LinkKind  string        `json:"link_kind"`

	// Name is the cell's.
	Name string `json:"-"`

	deaf bool // nobody listens: for tests
	stop <-chan struct{}
}

// FloodKinds are the kinds of link that take a packet with nobody at the other end.
func FloodKinds() []string { return []string{"dummy", "ifb", "veth"} }

// The other end of the flood. Sources are in 10.0.0.0/8 or 2001:db8::/32.
const (
	floodPort    = 80
	floodBacklog = 4096
)

func floodTarget(family int) netip.AddrPort {
	if family == 6 {
		return netip.AddrPortFrom(netip.MustParseAddr("2001:2:0:ffff::2"), floodPort) // RFC 5180
	}
	return netip.AddrPortFrom(netip.MustParseAddr("198.19.255.2"), floodPort) // RFC 2544
}

// floodSource is the i-th of up to 2^24 sources, all different, scattered.
func floodSource(family int, i int) netip.Addr {
	at := (uint32(i)*0x9e3779b1 + 1) & (1<<24 - 1)
	if family == 6 {
		return ip6(0x20010db8_00000000|uint64(at), uint64(i)+1)
	}
	return ip4(10<<24 | at)
}

// Validate returns the first thing that is wrong, in the words of the command line.
func (s *FloodSpec) Validate() error {
	switch {
	case len(s.Families) != 1 || s.Families[0] != 4 && s.Families[0] != 6:
		return fmt.Errorf("a flood is of one family")
	case s.Rules < 0 || s.Rules > maxRules:
		return fmt.Errorf("--rules %d: must be 0 to %d", s.Rules, maxRules)
	case s.LinkKind != ns.KindAuto && !slices.Contains(FloodKinds(), s.LinkKind):
		return fmt.Errorf("--link-kind %s: must be %s, which take answers without anybody there", s.LinkKind, strings.Join(FloodKinds(), ", "))
	}
	return validateInjecting(s.FlowCount, s.Burst, s.Packets, s.Duration)
}

// validateInjecting is what is checked of every command that injects packets.
func validateInjecting(flows, burst int, sent int64, duration time.Duration) error {
	switch {
	case flows < 1 || flows > packets.MaxFlows:
		return fmt.Errorf("--flows %d: must be 1 to %d", flows, packets.MaxFlows)
	case burst < 1 || burst > packets.MaxBurst:
		return fmt.Errorf("--burst %d: must be 1 to %d", burst, packets.MaxBurst)
	case sent < 0 || sent > MaxPackets:
		return fmt.Errorf("--packets %d: must be 1 to %d", sent, int64(MaxPackets))
	case sent == 0 && (duration <= 0 || duration > maxDuration):
		return fmt.Errorf("--duration %v: must be more than 0 and at most %v", duration, maxDuration)
	}
	return nil
}

// Command, Cell and Spec make the spec a Workload.
func (s *FloodSpec) Command() string { return "flood" }

// Cell is Name.
func (s *FloodSpec) Cell() string { return s.Name }

// Spec returns s.
func (s *FloodSpec) Spec() any { return s }

// Links is the kind of the link.
func (s *FloodSpec) Links() *string { return &s.LinkKind }

// Interrupt makes runs end early once stop is closed.
func (s *FloodSpec) Interrupt(stop <-chan struct{}) { s.stop = stop }

// Probe finds out whether frames can be injected here.
func (s *FloodSpec) Probe() error { return probeInjecting() }

// Plan has the one phase flood.
func (s *FloodSpec) Plan() (*Plan, error) {
	links := []ns.Link{ns.NewLink(s.LinkKind, 0)}
	f := &flooding{spec: s, socket: -1, injected: injected{flows: int64(s.FlowCount), packets: s.Packets, duration: s.Duration, stop: s.stop}}
	phases := []*Phase{
		createLinks(links, &tunSet{}),
		{Name: "silence", Timed: func(*rtnl.Conn) (rtnl.Cost, error) { return rtnl.Cost{}, silence(links[0]) }},
		setLinks("up", links, true),
		{Name: "connect", Timed: f.connect}, {Name: "open", Timed: f.open},
	}
	for _, ph := range phases {
		ph.Untimed = true
	}
	phases = append(phases, &Phase{
		Name: "flood", Timed: f.flood, After: f.record,
		Check: func(*Inventory) []results.Check { return f.checks },
	})
	return &Plan{
		Configure: f.configure, Families: s.Families, Phases: phases, Close: f.close,
		Elsewhere: true, // what matters are rules and not tables, which have a handful of routes
	}, nil
}
