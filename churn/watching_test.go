package churn

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A phaseWatch writes down the phases, and what the clocks of each held.
type phaseWatch struct {
	mu    sync.Mutex
	walls map[string]time.Duration
	calls map[string]int64
	begun int
	ended int
}

func (p *phaseWatch) Start(*ns.Namespace) error {
	p.walls, p.calls = map[string]time.Duration{}, map[string]int64{}
	return nil
}
func (p *phaseWatch) Stop(*results.Run) error { return nil }
func (p *phaseWatch) Phase(name string) (rtnl.Witness, func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	thread := unix.Gettid()
	return &phaseWitness{p, name}, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended++
		if unix.Gettid() != thread {
			return errors.New("the end is on another thread")
		}
		return nil
	}, nil
}

type phaseWitness struct {
	p    *phaseWatch
	name string
}

func (w *phaseWitness) Timed(_ time.Time, wall time.Duration) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.walls[w.name] += wall
	w.p.calls[w.name]++
}

// Witnesses are told of exactly what the clocks of the recorded phases held, on the
// threads that did the work.
func TestWitnesses(t *testing.T) {
	for _, w := range []Workload{
		spec(t, func(s *DeleteIfaceSpec) { s.Load, s.Subnets = "addrs", 50 }),
		flapSpec(t, func(s *FlapSpec) { s.Duration, s.Rate = 50*time.Millisecond, 0 }),
		netnsSpec(t, func(s *NetnsSpec) { s.Load, s.Namespaces = "routes", 3 }),
		onLink(t, resizeSpec(t, nil)),
		nexthopsSpec(t, func(*NexthopsSpec) {}),
		addrsSpec(t, func(*AddrsSpec) {}),
	} {
		watch := &phaseWatch{}
		r := Runner{Observers: []Observer{watch}}
		run, err := r.Run(context.Background(), w, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, ph := range run.Phases {
			if got := watch.walls[ph.Name]; got.Nanoseconds() != ph.Wall {
				t.Errorf("%s: phase %s took %v, the witness was told of %v in %d calls", w.Command(), ph.Name, time.Duration(ph.Wall), got, watch.calls[ph.Name])
			}
		}
		if watch.begun != watch.ended || watch.begun < len(run.Phases) {
			t.Errorf("%s: %d begun, %d ended", w.Command(), watch.begun, watch.ended)
		}
	}
}

// Writers are each told of on their own threads, and their calls are what the clocks of
// all held together.
func TestParallelWitnesses(t *testing.T) {
	watch := &phaseWatch{}
	r := Runner{Observers: []Observer{watch}}
	run, err := r.Run(context.Background(), routesSpec(t, func(s *RoutesSpec) { s.Parallel = 3 }), 1)
	if err != nil {
		t.Fatal(err)
	}
	add := run.Phase("add")
	if held := time.Duration(add.User + add.System + add.Blocked); watch.walls["add"] < held || watch.calls["add"] < 3 || watch.begun != watch.ended {
		t.Errorf("told of %v in %d calls, the writers took %v; %d begun, %d ended", watch.walls["add"], watch.calls["add"], held, watch.begun, watch.ended)
	}
}
