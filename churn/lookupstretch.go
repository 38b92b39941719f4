package churn

import (
	"net/netip"
	"time"

	"fibchurn/internal/rtnl"
	"fibchurn/results"
)

// stretches are those of one run.
type stretches struct {
	spec    *LookupSpec
	sampler Sampler
	churn   *lookupChurn
	cut     bool // one was ended early
}

// phases are the stretches: rest, or before, the churn's two phases, and after. Of
// the two the first takes the whole time, and each accounts for its own calls.
func (s *stretches) phases() []*Phase {
	f := s.churn.flapper
	if f == nil {
		return []*Phase{s.quiet("rest", true)}
	}
	s.tellTimes()
	during := &Phase{Name: s.churn.names[0], Times: f.tallies[0].distribution}
	during.Timed = func(c *rtnl.Conn) (rtnl.Cost, error) {
		err := s.disturb(c)
		return f.tallies[0].cost, err
	}
	rest := &Phase{Name: s.churn.names[1], Times: f.tallies[1].distribution}
	rest.Timed = func(*rtnl.Conn) (rtnl.Cost, error) { return f.tallies[1].cost, nil }
	return []*Phase{s.quiet("before", false), during, rest, s.quiet("after", true)}
}

// quiet is a stretch in which nothing churns. After the last one the sampler pauses:
// what comes then are the run's checks.
func (s *stretches) quiet(name string, last bool) *Phase {
	return &Phase{Name: name, Timed: func(*rtnl.Conn) (cost rtnl.Cost, err error) {
		if !s.cut {
			if err := s.sampler.Stretch(name); err != nil {
				return cost, err
			}
			s.pause()
		}
		if last {
			err = s.sampler.Stretch("")
		}
		return cost, err
	}}
}

// pause waits for the end of the stretch.
func (s *stretches) pause() {
	end := time.NewTimer(s.spec.Duration)
	defer end.Stop()
	select {
	case <-end.C:
	case <-s.spec.stop:
		s.cut = true
	}
}

// disturb is the stretch in which something churns.
func (s *stretches) disturb(c *rtnl.Conn) error {
	if s.cut {
		return nil
	}
	if err := s.sampler.Stretch("during"); err != nil {
		return err
	}
	err := s.churn.flapper.run(c, s.spec.stop)
	s.cut = s.churn.flapper.stopped
	return err
}

// record says how the churn went.
func (s *stretches) record(run *results.Run, _ []time.Duration) {
	run.Partial = s.cut
	if f := s.churn.flapper; f != nil {
		f.record(run)
		run.Churn, run.Flap = &results.Churn{Under: s.spec.Under, Flap: *run.Flap}, nil
	}
}

// The rate and number of changes up to which a sampler is told of each: it keeps them
// until the run ends.
const (
	toldRate    = 5000
	toldChanges = 1 << 20
)

// tellTimes has the flapper tell a sampler that wants to know when each route went
// and came.
func (s *stretches) tellTimes() {
	rate, seconds := float64(s.spec.ChurnRate), s.spec.Duration.Seconds()
	witness, ok := s.sampler.(interface {
		Toggled(p netip.Prefix, present bool, sent, acknowledged time.Time)
	})
	if ok && s.spec.Under == underFlap && rate > 0 && rate <= toldRate && rate*seconds <= toldChanges {
		s.churn.flapper.spec.Toggled = witness.Toggled
	}
}
