package churn

import (
	"errors"
	"time"

	"fibchurn/internal/rtnl"
)

// A Watching tells a run's PhaseObservers that the calling thread begins to work on
// a phase. The witness, unless it is nil, is to be told of every stretch of time that
// the thread's clocks measure of it; end is to be called on the same thread when it is
// done with the phase. One thread may work on two phases that share a stretch of time.
type Watching = func(phase string) (witness rtnl.Witness, end func() error, err error)

// A Watchable is an Observer that has timed threads of its own. Watched is called
// before Start.
type Watchable interface {
	Observer
	Watched(Watching)
}

// watching is the Watching of the run's observers.
func (e *execution) watching(phase string) (rtnl.Witness, func() error, error) {
	var all witnesses
	var ends []func() error
	end := func() error {
		var errs []error
		for i := len(ends) - 1; i >= 0; i-- {
			errs = append(errs, ends[i]())
		}
		return errors.Join(errs...)
	}
	for _, o := range e.observers {
		observer, ok := o.(PhaseObserver)
		if !ok {
			continue
		}
		w, ended, err := observer.Phase(phase)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		ends = append(ends, ended)
		if w != nil {
			all = append(all, w)
		}
	}
	switch len(all) {
	case 0:
		return nil, end, nil
	case 1:
		return all[0], end, nil
	}
	return all, end, nil
}

// witnesses are several.
type witnesses []rtnl.Witness

func (all witnesses) Timed(start time.Time, wall time.Duration) {
	for _, w := range all {
		w.Timed(start, wall)
	}
}

// watch calls f, which works on the phase through c, with the observers told of it.
func (e *execution) watch(ph *Phase, c *rtnl.Conn, f func() error) (err error) {
	if ph.Untimed {
		return f()
	}
	witness, end, err := e.watching(ph.Name)
	if err != nil {
		return err
	}
	c.SetWitness(witness)
	defer func() {
		c.SetWitness(nil)
		err = errors.Join(err, end())
	}()
	return f()
}
