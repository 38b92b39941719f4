package churn

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"fibchurn/internal/rtnl"
)

// A writer is one of a parallel phase's threads.
type writer struct {
	c        *rtnl.Conn
	from, to int // its share of the requests
	watching rtnl.Watching
	cost     rtnl.Cost
	end      time.Time
	err      error
}

// parallel shares a phase's requests out to its writers. Each encodes its whole
// share before the start, since the clock runs from the start of all to the end of
// the last.
func (e *execution) parallel(ph *Phase) (phaseCost, error) {
	writers := make([]*writer, ph.Writers)
	for i := range writers {
		w := &writer{from: i * ph.Ops / ph.Writers, to: (i + 1) * ph.Ops / ph.Writers}
		if !ph.Untimed {
			w.watching = func() (rtnl.Witness, func() error, error) { return e.watching(ph.Name) }
		}
		own := e.spaces[i%len(e.spaces)]
		var err error
		if w.c, err = own.n.Dial(); err != nil {
			return phaseCost{}, err
		}
		defer w.c.Close()
		writers[i] = w
	}
	start := make(chan struct{})
	var ready, ended sync.WaitGroup
	for _, w := range writers {
		ready.Add(1)
		ended.Go(func() { w.write(ph, &ready, start) })
	}
	ready.Wait()
	began := time.Now()
	close(start)
	ended.Wait()

	var total phaseCost
	var errs []error
	for _, w := range writers {
		total.Add(w.cost)
		total.elapsed = max(total.elapsed, w.end.Sub(began))
		errs = append(errs, w.err)
	}
	return total, errors.Join(errs...)
}

// write encodes and sends the writer's share from a thread of its own.
func (w *writer) write(ph *Phase, ready *sync.WaitGroup, start <-chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var b rtnl.Batch
	err := ph.Fill(&b, w.from, w.to)
	witness, end, watchErr := w.watching.Begin()
	ready.Done()
	<-start
	if watchErr != nil {
		w.err = errors.Join(err, watchErr)
		return
	}
	defer func() { w.err = errors.Join(w.err, end()) }()
	if err != nil {
		w.err = err
		return
	}
	w.c.SetWitness(witness)
	out, err := w.c.Send(&b, rtnl.Options{PerCall: ph.PerCall, Ack: ph.Ack})
	w.end = time.Now()
	w.cost = out.Cost
	if err == nil && len(out.Failures) > 0 {
		err = fmt.Errorf("%s: %w", ph.Describe(w.from+out.Failures[0].Request), out.Err())
	}
	w.err = err
}
