package churn

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// The two kinds of a flapper's operations.
const (
	withdraw = iota
	announce
)

// A Flapper withdraws and announces the routes of a spec, which must all be there,
// over and over, as a routing daemon does whose neighbours come and go. It goes
// through the table in the spec's order; FlapBatch routes are withdrawn in one
// call and announced in the next.
//
// The prefixes that toggle are those of the spec's Sets. Whenever it is not at work
// all of them are there.
type Flapper struct {
	spec     *FlapSpec
	at       []int32 // the order, nil: as added
	fill     [2]func(b *rtnl.Batch, from, to int) error
	describe [2]func(int) string
	batch    rtnl.Batch

	pace       pace
	operations int64 // sent
	late       int64 // of these, how many when the next was due already
	elapsed    time.Duration
	stopped    bool // before its time
	tallies    [2]tally

	names     [2]string       // of the kinds' phases
	watching  Watching        // nil: nobody watches
	witnesses [2]rtnl.Witness // of the kinds' calls

	stop chan struct{}
	done chan error
}

// NewFlapper prepares to flap the routes of s, which go through the interface of
// that index.
func NewFlapper(s *FlapSpec, index uint32) *Flapper {
	route := rtnl.Route{Index: index}
	return newFlapper(s, change{"withdraw", rtnl.DelRoute, route}, change{"announce", rtnl.NewRoute, route})
}

// A change is what a flapper does to a route.
type change struct {
	verb  string
	make  routeMaker
	route rtnl.Route
}

// newFlapper prepares to make one change of the routes of s and then another, which
// undoes it.
func newFlapper(s *FlapSpec, there, back change) *Flapper {
	f := &Flapper{spec: s, at: s.removalOrder(1), names: [2]string{there.verb, back.verb}}
	for i, c := range []change{there, back} {
		templates := map[rtnl.Route]*rtnl.Template{}
		f.fill[i] = func(b *rtnl.Batch, from, to int) error {
			return s.append(b, from, to, c.make, c.route, f.at, templates)
		}
		f.describe[i] = s.describe(c.verb, f.at)
		f.tallies[i] = newTally()
	}
	return f
}

// Start lets the flapper work on a thread and a socket of its own in the namespace,
// for the spec's Duration, or where that is 0 until Stop.
func (f *Flapper) Start(n *ns.Namespace) error {
	c, err := n.Dial()
	if err != nil {
		return err
	}
	f.stop, f.done = make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread, whose timer slack has changed, ends with it
		err := f.run(c, f.stop)
		f.done <- errors.Join(err, c.Close())
	}()
	return nil
}

// Stop ends the flapper once the routes in flight are announced again, and adds to
// the record what it did: Flap, and the phases withdraw and announce. The error is
// that of the operation that ended it.
func (f *Flapper) Stop(run *results.Run) error {
	close(f.stop)
	err := <-f.done
	f.record(run)
	for i, name := range []string{"withdraw", "announce"} {
		cost := f.tallies[i].cost
		p := phaseRecord(&Phase{Name: name}, phaseCost{Cost: cost, elapsed: cost.Wall})
		p.Each = f.tallies[i].distribution()
		run.Phases = append(run.Phases, p)
	}
	return err
}

// run flaps until the time is up or stop is closed. It allocates nothing but the
// memory of its batch, once.
func (f *Flapper) run(c *rtnl.Conn, stop <-chan struct{}) (err error) {
	end, err := f.watch(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if f.pace, err = newPace(f.spec.Rate); err != nil {
		return err
	}
	defer func() { f.elapsed = time.Since(f.pace.start) }()
	for from := 0; !f.over(stop); {
		to := min(f.spec.routes(), from+f.spec.FlapBatch)
		for kind := range f.tallies {
			if err := f.send(c, kind, from, to); err != nil {
				return err
			}
		}
		if from = to; from == f.spec.routes() {
			from = 0
		}
	}
	return nil
}

// watch has both kinds of calls told of: the first in whose phase the flapper works,
// and the second, which shares its time.
func (f *Flapper) watch(c *rtnl.Conn) (func() error, error) {
	if f.watching == nil {
		return func() error { return nil }, nil
	}
	first := c.Witness()
	second, end, err := f.watching(f.names[1])
	f.witnesses = [2]rtnl.Witness{first, second}
	return func() error {
		c.SetWitness(first)
		return end()
	}, err
}

// over reports whether it is time to end.
func (f *Flapper) over(stop <-chan struct{}) bool {
	if d := f.spec.Duration; d > 0 && time.Since(f.pace.start) >= d {
		return true
	}
	select {
	case <-stop:
		f.stopped = true
	default:
	}
	return f.stopped
}

// send withdraws or announces the routes [from, to) at their time, and takes the
// time from when they were due: an operation that starts late because one before
// it took long is charged for that.
func (f *Flapper) send(c *rtnl.Conn, kind, from, to int) error {
	f.batch.Reset()
	if err := f.fill[kind](&f.batch, from, to); err != nil {
		return err
	}
	due := f.pace.due(f.operations, time.Now())
	f.pace.wait(due)
	if f.watching != nil {
		c.SetWitness(f.witnesses[kind])
	}
	sent := time.Now()
	out, err := c.Send(&f.batch, rtnl.Options{Ack: f.spec.ack()})
	f.tallies[kind].cost.Add(out.Cost)
	if err == nil && len(out.Failures) > 0 {
		err = fmt.Errorf("%s: %w", f.describe[kind](from+out.Failures[0].Request), out.Err())
	}
	if err != nil {
		return err
	}
	if f.spec.Toggled != nil {
		f.toggled(kind, from, to, sent, time.Now())
	}
	f.operations += int64(to - from)
	var waited time.Duration
	if f.spec.Rate > 0 {
		waited = max(0, sent.Sub(due))
		if !sent.Before(f.pace.due(f.operations, sent)) {
			f.late += int64(to - from)
		}
	}
	return f.tallies[kind].note(waited + out.Cost.Wall)
}

// toggled passes the changes of a call on.
func (f *Flapper) toggled(kind, from, to int, sent, acknowledged time.Time) {
	for i := from; i < to; i++ {
		k := i
		if f.at != nil {
			k = int(f.at[i])
		}
		family, index := f.spec.item(k)
		f.spec.Toggled(f.spec.Sets[family].At(index), kind == announce, sent, acknowledged)
	}
}

// record adds to the record how the flapping went on the whole.
func (f *Flapper) record(run *results.Run) {
	run.Flap = &results.Flap{
		Rate: int64(f.spec.Rate), Operations: f.operations, Late: f.late,
		Elapsed: f.elapsed.Nanoseconds(), Duration: f.spec.Duration.Nanoseconds(), Stopped: f.stopped,
	}
	if f.elapsed > 0 {
		run.Flap.Reached = float64(f.operations) / f.elapsed.Seconds()
	}
}

// A Toggled is told of every withdrawal (present is false) and announcement: when
// its request was sent and when it was acknowledged. It is called on the flapper's
// thread between the timed calls.
type Toggled func(p netip.Prefix, present bool, sent, acknowledged time.Time)

// A tally sums up one kind of operation, in memory that does not grow.
type tally struct {
	cost        rtnl.Cost
	times       *hdrhistogram.Histogram // ns
	least, most int64
}

// longest is the longest time of an operation that a tally takes, in ns: an hour.
const longest = int64(time.Hour)

func newTally() tally { return tally{times: hdrhistogram.New(1, longest, 3)} }

// note enters the time of one call.
func (t *tally) note(d time.Duration) error {
	ns := max(1, d.Nanoseconds())
	if err := t.times.RecordValue(ns); err != nil {
		return fmt.Errorf("an operation took %v, more than is counted: %w", d, err)
	}
	if t.least == 0 {
		t.least = ns
	}
	t.least, t.most = min(t.least, ns), max(t.most, ns)
	return nil
}

// distribution describes the times: least and most are exact, percentiles right to
// three significant figures. It is nil of none.
func (t *tally) distribution() *results.Distribution {
	if t.times.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) int64 { return min(t.most, max(t.least, t.times.ValueAtQuantile(q))) }
	return &results.Distribution{
		Count: t.times.TotalCount(), Min: t.least,
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: t.most,
	}
}
