package churn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fibchurn/ns"
	"fibchurn/results"
)

// cellsOf are two small cells.
func cellsOf(t *testing.T) []Workload {
	return []Workload{
		spec(t, func(s *DeleteIfaceSpec) { s.Load, s.Subnets = "routes", 10 }),
		spec(t, func(s *DeleteIfaceSpec) { s.Load, s.Subnets = "empty", 10 }),
	}
}

func TestSessionInterleaves(t *testing.T) {
	type place struct {
		cell string
		run  int
	}
	var got []place
	s := Session{Runner: &Runner{}, Cells: cellsOf(t), Runs: 6, Warmup: 2, Seed: 3,
		Emit:     func(r *results.Run) error { got = append(got, place{r.Cell, r.Run}); return nil },
		Progress: func(int, int, Workload) {},
	}
	if err := s.Measure(context.Background(), context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 12 {
		t.Fatalf("%d runs recorded, want 12 without the warm-up", len(got))
	}
	orders := map[string]int{}
	for i := 0; i < len(got); i += 2 {
		if got[i].run != i/2+1 || got[i+1].run != i/2+1 || got[i].cell == got[i+1].cell {
			t.Errorf("round %d is %v and %v", i/2+1, got[i], got[i+1])
		}
		orders[got[i].cell]++
	}
	if len(orders) != 2 {
		t.Errorf("the order never changed: %v", got)
	}
}

func TestSessionStops(t *testing.T) {
	stop, cancel := context.WithCancel(context.Background())
	var runs []*results.Run
	s := Session{Runner: &Runner{}, Cells: cellsOf(t), Runs: 5, Seed: 1,
		Emit: func(r *results.Run) error {
			if runs = append(runs, r); len(runs) == 3 {
				cancel()
			}
			return nil
		},
		Progress: func(int, int, Workload) {},
	}
	if err := s.Measure(stop, context.Background()); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if len(runs) != 3 || slices.ContainsFunc(runs, func(r *results.Run) bool { return !r.Sample() }) {
		t.Errorf("%d runs after a stop in the third, or not all complete", len(runs))
	}
}

// What cannot be written ends the session.
func TestSessionEndsWhenEmitFails(t *testing.T) {
	full := errors.New("no space left on device")
	s := Session{Runner: &Runner{}, Cells: cellsOf(t), Runs: 5,
		Emit:     func(*results.Run) error { return full },
		Progress: func(int, int, Workload) {},
	}
	if err := s.Measure(context.Background(), context.Background()); !errors.Is(err, full) {
		t.Fatal(err)
	}
}

// An instrument marks the runs it watches.
type instrument struct {
	trace  bool
	starts int
}

func (i *instrument) Start(*ns.Namespace) error { i.starts++; return nil }
func (i *instrument) Stop(run *results.Run) error {
	if i.trace {
		run.Trace = &results.Trace{}
	} else {
		run.Profile = &results.Profile{}
	}
	return nil
}

// Each instrument has a run of its own of every cell and round, with the number of the
// one without; warm-up rounds have none.
func TestSessionInstruments(t *testing.T) {
	type kind struct {
		cell            string
		run             int
		profiled, trace bool
	}
	got, orders := map[kind]int{}, map[string]bool{}
	order := ""
	instruments := []*instrument{{}, {trace: true}}
	total := 0
	s := Session{Runner: &Runner{}, Cells: cellsOf(t), Runs: 4, Warmup: 2, Seed: 3,
		Instruments: []Observer{instruments[0], instruments[1]},
		Emit: func(r *results.Run) error {
			got[kind{r.Cell, r.Run, r.Profile != nil, r.Trace != nil}]++
			order += fmt.Sprint(r.Cell, r.Profile != nil, r.Trace != nil, " ")
			if strings.Count(order, " ") == 6 {
				orders[order], order = true, ""
			}
			return nil
		},
		Progress: func(_, of int, _ Workload) { total = of },
	}
	if err := s.Measure(context.Background(), context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, cell := range []string{"routes", "empty"} {
		for run := 1; run <= 4; run++ {
			for _, k := range []kind{{cell, run, false, false}, {cell, run, true, false}, {cell, run, false, true}} {
				if got[k] != 1 {
					t.Errorf("%d runs %+v", got[k], k)
				}
			}
		}
	}
	if len(got) != 24 || total != 24+4 || instruments[0].starts != 8 || instruments[1].starts != 8 {
		t.Errorf("%d kinds of runs, %d in all, instruments started %d and %d times", len(got), total, instruments[0].starts, instruments[1].starts)
	}
	if len(orders) < 2 {
		t.Errorf("the order never changed: %v", orders)
	}
}
