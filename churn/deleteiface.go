package churn

import (
	"errors"
	"fmt"
	"slices"

	"fibchurn/ns"
)

// Loads are what delete-iface can put on an interface before removing it: its
// cells, in the order of the table.
func Loads() []string { return []string{"addrs", "routes", "secondaries", "empty"} }

// A DeleteIfaceSpec is one cell of delete-iface: the cost of removing interfaces
// that carry local subnets or routes.
//
// The load "addrs" gives every interface Subnets addresses, each in a subnet of
// its own; "routes" gives it Subnets routes and no address; "secondaries" gives it
// Subnets addresses in one subnet; "empty" nothing, which is the calibration.
type DeleteIfaceSpec struct {
	Load      string `json:"load"`
	Subnets   int    `json:"subnets"` // per interface and family
	Ifaces    int    `json:"ifaces"`
	Families  []int  `json:"families"`   // 4, 6
	PrefixLen int    `json:"prefix_len"` // 0: 24 and 64, or what secondaries need
	LinkKind  string `json:"link_kind"`
	Setup     string `json:"setup"`      // "down": addresses first, link up after; "up": the reverse
	DownFirst bool   `json:"down_first"` // take the links down before removing them
	Seed      uint64 `json:"seed"`       // of the order of runs
}

// maxRequests bounds a run's load, and with it the memory of its encoding.
const maxRequests = 1 << 24

// Validate returns the first thing that is wrong with the spec, in the words of
// the command line.
func (s *DeleteIfaceSpec) Validate() error {
	switch {
	case !slices.Contains(Loads(), s.Load):
		return fmt.Errorf("--as %s: must be one of addrs, routes, secondaries, empty", s.Load)
	case s.Subnets < 1:
		return fmt.Errorf("--subnets %d: must be at least 1", s.Subnets)
	case s.Ifaces < 1 || s.Ifaces > ns.MaxLinks:
		return fmt.Errorf("--ifaces %d: must be 1 to %d", s.Ifaces, ns.MaxLinks)
	case s.Setup != "down" && s.Setup != "up":
		return fmt.Errorf("--setup %s: must be auto, down or up", s.Setup)
	case len(s.Families) == 0:
		return errors.New("no address family")
	}
	for _, family := range s.Families {
		if family != 4 && family != 6 {
			return fmt.Errorf("unknown address family %d", family)
		}
		if err := s.validateFamily(family); err != nil {
			return err
		}
	}
	if s.Subnets > maxRequests/s.Ifaces/len(s.Families) {
		return fmt.Errorf("--subnets %d on %d interfaces: one run takes at most %d addresses or routes", s.Subnets, s.Ifaces, maxRequests)
	}
	return nil
}

func (s *DeleteIfaceSpec) validateFamily(family int) error {
	room := poolOf(family)
	if s.PrefixLen != 0 && (s.PrefixLen < room.minBits || s.PrefixLen > room.maxBits) {
		return fmt.Errorf("--prefix-len %d: must be %d to %d for IPv%d", s.PrefixLen, room.minBits, room.maxBits, family)
	}
	bits, err := s.bits(family)
	if err != nil {
		return err
	}
	subnets := uint64(s.Subnets) * uint64(s.Ifaces)
	if s.Load == "secondaries" {
		if subnets = uint64(s.Ifaces); hosts(family, bits) < uint64(s.Subnets) {
			return fmt.Errorf("--subnets %d: an IPv%d /%d holds %d addresses", s.Subnets, family, bits, hosts(family, bits))
		}
	}
	if most := room.capacity(bits); subnets > most {
		return fmt.Errorf("--subnets %d on %d interfaces: there are %d IPv%d /%d subnets to choose from", s.Subnets, s.Ifaces, most, family, bits)
	}
	return nil
}

// bits is the prefix length of a family's subnets.
func (s *DeleteIfaceSpec) bits(family int) (int, error) {
	usual := usualBits(family)
	switch {
	case s.PrefixLen != 0:
		return s.PrefixLen, nil
	case s.Load == "secondaries":
		return bitsForHosts(family, usual, uint64(s.Subnets))
	}
	return usual, nil
}

// Command, Cell and Spec make the spec a Workload.
func (s *DeleteIfaceSpec) Command() string { return "delete-iface" }

// Cell is the load.
func (s *DeleteIfaceSpec) Cell() string { return s.Load }

// Spec returns s.
func (s *DeleteIfaceSpec) Spec() any { return s }

// Plan encodes the phases create, add, up, (down,) delete. Routes are added after
// up: the kernel takes none through an interface that is down (ENETDOWN,
// fib_check_nh_nongw, net/ipv4/fib_semantics.c).
func (s *DeleteIfaceSpec) Plan() (*Plan, error) {
	p, err := newDeleteIfacePlan(s)
	if err != nil {
		return nil, err
	}
	phases := []*Phase{p.create()}
	up := p.setLinks("up", true)
	switch {
	case s.Load == "empty":
		phases = append(phases, up)
	case s.Load == "routes" || s.Setup == "up":
		up.Subnets = 0 // there are none yet
		phases = append(phases, up, p.add())
	default:
		phases = append(phases, p.add(), up)
	}
	loaded := phases[len(phases)-1]
	loaded.Loaded, loaded.Check = true, p.checkLoaded
	if s.DownFirst {
		down := p.setLinks("down", false)
		down.Quiet = true
		phases = append(phases, down)
	}
	phases = append(phases, p.remove())
	return &Plan{Configure: p.configure, Families: s.Families, Phases: phases, Close: p.tuns.close}, nil
}

// Links is the kind of the links.
func (s *DeleteIfaceSpec) Links() *string { return &s.LinkKind }
