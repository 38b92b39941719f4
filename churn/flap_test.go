package churn

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// tableSpec is a small valid one of the kind that works here.
func tableSpec(t testing.TB, families ...int) TableSpec {
	t.Helper()
	s := TableSpec{
		Layout: prefixes.Dense, Count: 200, Families: families, Table: 254, Tables: 1,
		Order: "added", LinkKind: netnstest.Kind(t), Batch: 64, Ack: "last", Seed: 1,
	}
	if err := s.Generate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func flapSpec(t testing.TB, change func(*FlapSpec)) *FlapSpec {
	t.Helper()
	s := &FlapSpec{TableSpec: tableSpec(t, 4), Duration: 100 * time.Millisecond, FlapBatch: 1}
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Withdrawals and announcements are as many as each other, and the table is
// complete afterwards, at a rate and without, in every order and family.
func TestFlapVerifies(t *testing.T) {
	for name, change := range map[string]func(*FlapSpec){
		"closed loop":   func(*FlapSpec) {},
		"open loop":     func(s *FlapSpec) { s.Rate = 2000 },
		"random order":  func(s *FlapSpec) { s.Order = "random" },
		"in calls of 7": func(s *FlapSpec) { s.FlapBatch, s.Rate = 7, 20000 },
		"all at once":   func(s *FlapSpec) { s.FlapBatch = 1000 },
		"IPv6":          func(s *FlapSpec) { s.TableSpec = tableSpec(t, 6) },
		"both, tables":  func(s *FlapSpec) { s.TableSpec = tableSpec(t, 4, 6); s.Table, s.Tables = 1000, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			s := flapSpec(t, change)
			run := mustRun(t, s)
			f, down, up := run.Flap, run.Phase("withdraw"), run.Phase("announce")
			if !run.Sample() || phaseNames(run) != "add withdraw announce" || f == nil || f.Stopped {
				t.Fatalf("%+v", run)
			}
			if down.Ops == 0 || down.Ops != up.Ops || f.Operations != down.Ops+up.Ops {
				t.Errorf("%d withdrawn, %d announced, %d in all", down.Ops, up.Ops, f.Operations)
			}
			for _, p := range []*results.Phase{down, up} {
				calls := (p.Ops + int64(s.FlapBatch) - 1) / int64(s.FlapBatch)
				if d := p.Each; d == nil || d.Count < calls || d.Min <= 0 || d.Min > d.P50 || d.P50 > d.P99 || d.P99 > d.Max || p.Wall <= 0 {
					t.Errorf("%+v, each %+v", p, p.Each)
				}
			}
			if f.Elapsed < s.Duration.Nanoseconds() || f.Reached <= 0 || s.Rate > 0 && f.Reached > 1.1*float64(s.Rate)+100 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A table that is not complete at the end, and an operation that is refused, are
// errors.
func TestFlapFaultsAreFound(t *testing.T) {
	drop := func(s *FlapSpec, c *rtnl.Conn) error {
		var b rtnl.Batch
		route := rtnl.Route{Index: ns.NewLink("", 0).Index}
		if err := s.fill(rtnl.DelRoute, route, nil)(&b, 3, 4); err != nil {
			return err
		}
		out, err := c.Send(&b, rtnl.Options{})
		return errors.Join(err, out.Err())
	}
	for _, test := range []struct{ phase, want string }{
		{"announce", "IPv4 routes after flap: 199 instead of 200"},
		{"withdraw", "phase withdraw: withdraw 20.0.3.0/24 in table 254: no such process"},
	} {
		s := flapSpec(t, func(*FlapSpec) {})
		w := faulty{s, func(p *Plan) {
			ph := planPhase(p, test.phase)
			timed := ph.Timed
			ph.Timed = func(c *rtnl.Conn) (rtnl.Cost, error) {
				if err := drop(s, c); err != nil {
					return rtnl.Cost{}, err
				}
				return timed(c)
			}
		}}
		run, err := (&Runner{}).Run(context.Background(), w, 1)
		if err == nil || !strings.Contains(err.Error(), test.want) || run.Sample() {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// Told to stop, a session ends the flapping at once, and the run that was cut short
// is checked, recorded and no sample.
func TestFlapEndsEarly(t *testing.T) {
	stop, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	var runs []*results.Run
	s := Session{Runner: &Runner{}, Cells: []Workload{flapSpec(t, func(s *FlapSpec) { s.Duration, s.Rate = time.Hour, 500 })}, Runs: 1,
		Emit:     func(r *results.Run) error { runs = append(runs, r); return nil },
		Progress: func(int, int, Workload) {},
	}
	start := time.Now()
	if err := s.Measure(stop, context.Background()); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if len(runs) != 1 || !runs[0].Verified || !runs[0].Partial || !runs[0].Flap.Stopped || runs[0].Flap.Operations == 0 {
		t.Errorf("runs: %+v", runs)
	}
}

// In an open loop operations that one long one made late are charged from when they
// were due; the time of the calls themselves is not longer for it.
func TestFlapChargesLateness(t *testing.T) {
	const pause = 80 * time.Millisecond
	paused := false
	run := mustRun(t, flapSpec(t, func(s *FlapSpec) {
		s.Rate, s.Duration = 1000, 300*time.Millisecond
		s.Toggled = func(netip.Prefix, bool, time.Time, time.Time) {
			if !paused {
				paused = true
				time.Sleep(pause)
			}
		}
	}))
	up := run.Phase("announce")
	if up.Each.Max < (pause - 10*time.Millisecond).Nanoseconds() {
		t.Errorf("nothing was charged for a pause of %v: %+v", pause, up.Each)
	}
	if run.Flap.Late < 20 {
		t.Errorf("%d operations late of some 80", run.Flap.Late)
	}
}

// What toggles is told in order: each prefix goes and comes back, and no two
// changes overlap.
func TestFlapTellsWhatToggles(t *testing.T) {
	type change struct {
		prefix             netip.Prefix
		present            bool
		sent, acknowledged time.Time
	}
	var changes []change
	run := mustRun(t, flapSpec(t, func(s *FlapSpec) {
		s.Order = "reverse"
		s.Toggled = func(p netip.Prefix, present bool, sent, acknowledged time.Time) {
			changes = append(changes, change{p, present, sent, acknowledged})
		}
	}))
	if int64(len(changes)) != run.Flap.Operations {
		t.Fatalf("told of %d of %d operations", len(changes), run.Flap.Operations)
	}
	for i, c := range changes {
		if c.present != (i%2 == 1) || c.acknowledged.Before(c.sent) || i%2 == 1 && c.prefix != changes[i-1].prefix {
			t.Fatalf("change %d: %+v", i, c)
		}
		if i > 0 && c.sent.Before(changes[i-1].acknowledged) {
			t.Fatalf("change %d was sent before the one before it was acknowledged", i)
		}
	}
	if changes[0].prefix != netip.MustParsePrefix("20.0.199.0/24") {
		t.Errorf("the first is %v", changes[0].prefix)
	}
}

// A flapper beside a test, as lookups have it.
func TestFlapperOnItsOwn(t *testing.T) {
	n, c := netnstest.New(t)
	link := netnstest.Link(t, c)
	s := flapSpec(t, func(s *FlapSpec) { s.Rate = 5000 })
	s.Duration = 0 // until stopped
	var b rtnl.Batch
	if err := s.fill(rtnl.NewRoute, rtnl.Route{Index: link.Index}, nil)(&b, 0, s.routes()); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Send(&b, rtnl.Options{}); err != nil || out.Err() != nil {
		t.Fatal(err, out.Err())
	}
	f := NewFlapper(s, link.Index)
	if err := f.Start(n); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	var run results.Run
	if err := f.Stop(&run); err != nil {
		t.Fatal(err)
	}
	if run.Flap == nil || run.Flap.Operations < 20 || phaseNames(&run) != "withdraw announce" || run.Phases[1].Each == nil {
		t.Errorf("%+v", run)
	}
	routes, err := c.Routes(rtnl.AddressFamily(4))
	if got := routes[rtnl.RouteClass{Table: 254, Type: 1, Index: link.Index}]; err != nil || got != 200 {
		t.Errorf("%d routes, %v", got, err)
	}
}

// The loop allocates nothing, however long it goes on.
func TestFlapAllocatesNothing(t *testing.T) {
	n, c := netnstest.New(t)
	link := netnstest.Link(t, c)
	s := flapSpec(t, func(s *FlapSpec) { s.Order = "random" })
	var b rtnl.Batch
	if err := s.fill(rtnl.NewRoute, rtnl.Route{Index: link.Index}, nil)(&b, 0, s.routes()); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Send(&b, rtnl.Options{}); err != nil || out.Err() != nil {
		t.Fatal(err, out.Err())
	}
	f := NewFlapper(s, link.Index)
	var before, after runtime.MemStats
	for range 2 { // the first makes templates and grows the batch
		runtime.ReadMemStats(&before)
		if err := n.Do(func() error { return f.run(c, nil) }); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	if made := after.Mallocs - before.Mallocs; made > 50 || f.operations < 1000 {
		t.Errorf("%d allocations in %d operations", made, f.operations)
	}
}

func TestPace(t *testing.T) {
	p := pace{start: time.Unix(100, 0), rate: 3}
	for i, want := range []int64{0, 333333333, 666666666, 1000000000, 1333333333} {
		if got := p.due(int64(i), time.Time{}).Sub(p.start).Nanoseconds(); got != want {
			t.Errorf("operation %d is due after %d ns, want %d", i, got, want)
		}
	}
	if got := p.due(3*86400*365, time.Time{}).Sub(p.start); got != 365*24*time.Hour {
		t.Errorf("after a year it has drifted to %v", got)
	}
	now := time.Unix(7, 0)
	if closed := (pace{start: p.start}); closed.due(5, now) != now {
		t.Error("in a closed loop an operation is not due at once")
	}
}

// The percentiles of a tally are those of its times, to three figures.
func TestTally(t *testing.T) {
	y := newTally()
	if y.distribution() != nil {
		t.Error("a distribution of nothing")
	}
	for i := range 10000 {
		if err := y.note(time.Duration(i+1) * time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}
	d := y.distribution()
	near := func(got int64, us float64) bool { return float64(got) > us*999 && float64(got) < us*1001 }
	if d.Count != 10000 || d.Min != 1000 || d.Max != 10_000_000 || !near(d.P50, 5000) || !near(d.P99, 9900) || !near(d.P999, 9990) {
		t.Errorf("%+v", d)
	}
	if err := y.note(2 * time.Hour); err == nil {
		t.Error("a time that is not counted is no error")
	}
}

func TestFlapValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*FlapSpec)
		want   string
	}{
		{"too fast", func(s *FlapSpec) { s.Rate = maxRate + 1 }, "--rate 10000001: must be 1 to 10000000, or max"},
		{"no time", func(s *FlapSpec) { s.Duration = 0 }, "--duration 0s: must be more than 0 and at most 24h0m0s"},
		{"days", func(s *FlapSpec) { s.Duration = 25 * time.Hour }, "--duration 25h0m0s: must be more than 0"},
		{"no batch", func(s *FlapSpec) { s.FlapBatch = 0 }, "--flap-batch 0: must be 1 to 32768"},
		{"slow without listeners", func(s *FlapSpec) { s.Slow = true }, "--slow: there are no --listeners"},
		{"the table's faults", func(s *FlapSpec) { s.Count = 0 }, "--count 0: must be at least 1"},
	} {
		s := flapSpec(t, func(*FlapSpec) {})
		test.change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
