package churn

import (
	"fmt"
	"strconv"
	"time"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A FlapSpec is one cell of flap: a table is filled, and then its routes are
// withdrawn and announced for a time.
type FlapSpec struct {
	TableSpec
	ListenerSpec
	Rate      int           `json:"rate"`        // operations a second, open loop; 0: one after the other
	Duration  time.Duration `json:"duration_ns"` // of the flapping
	FlapBatch int           `json:"flap_batch"`  // routes withdrawn, and then announced, in one call

	// Toggled, where it is not nil, is told of every operation.
	Toggled Toggled `json:"-"`

	stop <-chan struct{} // closed: end early
}

// The bounds of a FlapSpec.
const (
	maxRate     = 10_000_000
	maxDuration = 24 * time.Hour
)

// Validate returns the first thing that is wrong, in the words of the command
// line.
func (s *FlapSpec) Validate() error {
	switch {
	case s.Rate < 0 || s.Rate > maxRate:
		return fmt.Errorf("--rate %d: must be 1 to %d, or max", s.Rate, maxRate)
	case s.Duration <= 0 || s.Duration > maxDuration:
		return fmt.Errorf("--duration %v: must be more than 0 and at most %v", s.Duration, maxDuration)
	case s.FlapBatch < 1 || s.FlapBatch > MaxBatch:
		return fmt.Errorf("--flap-batch %d: must be 1 to %d", s.FlapBatch, MaxBatch)
	}
	if err := s.ListenerSpec.validate(); err != nil {
		return err
	}
	return s.TableSpec.Validate()
}

// Command, Cell and Spec make the spec a Workload.
func (s *FlapSpec) Command() string { return "flap" }

// Cell is the number of routes of each family.
func (s *FlapSpec) Cell() string { return strconv.Itoa(s.Count) }

// Spec returns s.
func (s *FlapSpec) Spec() any { return s }

// Interrupt makes runs end early, with their table complete, once stop is closed.
func (s *FlapSpec) Interrupt(stop <-chan struct{}) { s.stop = stop }

// Plan has the phases add, withdraw and announce. The last two are one stretch of
// time, which the first of them spends and each accounts for its own calls.
func (s *FlapSpec) Plan() (*Plan, error) {
	links := []ns.Link{ns.NewLink(s.LinkKind, 0)}
	index := links[0].Index
	tuns := &tunSet{}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	create.Untimed, up.Untimed = true, true

	add := s.phase("add", "add route", rtnl.NewRoute, rtnl.Route{Index: index}, nil)
	add.Loaded, add.Check = true, s.check("add", index, s.routes())
	f := NewFlapper(s, index)
	withdrawals := &Phase{
		Name: "withdraw", Times: f.tallies[withdraw].distribution,
		Timed: func(c *rtnl.Conn) (rtnl.Cost, error) {
			err := f.run(c, s.stop)
			return f.tallies[withdraw].cost, err
		},
	}
	announcements := &Phase{
		Name: "announce", Times: f.tallies[announce].distribution,
		Timed: func(*rtnl.Conn) (rtnl.Cost, error) { return f.tallies[announce].cost, nil },
		Check: s.check("flap", index, s.routes()),
		After: func(run *results.Run, _ []time.Duration) {
			f.record(run)
			run.Partial = f.stopped
		},
	}
	return &Plan{
		Configure: s.configure, Families: s.Families,
		Phases:  []*Phase{create, up, add, withdrawals, announcements},
		Watched: func(w Watching) { f.watching = w },
		Close:   tuns.close,
	}, nil
}
