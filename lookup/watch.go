package lookup

import (
	"errors"

	"fibchurn/internal/rtnl"
)

// A Watching is called by each reader when it begins with a stretch. The witness,
// unless it is nil, is told of every lookup's time, or of every call's where the
// kernel makes many lookups a call; calibration is none of its business. end is
// called on the same thread when the reader is done with the stretch.
type Watching = func(stretch string) (witness rtnl.Witness, end func() error, err error)

// Watched has the sampler call w from its readers. It is to be called before Start.
func (s *Sampler) Watched(w Watching) { s.watching = w }

// A watched is the stretch that a reader's lookups are told of.
type watched struct {
	phase   *phase // nil: none
	witness rtnl.Witness
	end     func() error
}

// watch begins with a phase, unless that has been done.
func (r *reader) watch(p *phase) error {
	if r.s.watching == nil || r.watched.phase == p {
		return nil
	}
	if err := r.unwatch(); err != nil {
		return err
	}
	witness, end, err := r.s.watching(stretches()[p.stretch])
	if err == nil {
		r.watched = watched{p, witness, end}
	}
	return err
}

// unwatch ends the phase under way.
func (r *reader) unwatch() error {
	end := r.watched.end
	r.watched = watched{}
	if end == nil {
		return nil
	}
	return end()
}

// rest ends the phase under way where its stretch has ended.
func (r *reader) rest() error {
	if p := r.watched.phase; p != nil && p.ended.Load() != 0 {
		return r.unwatch()
	}
	return nil
}

// follow calls live, and ends what it left under way.
func (r *reader) follow() error {
	err := r.live()
	return errors.Join(err, r.unwatch())
}
