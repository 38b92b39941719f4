package churn

import (
	"context"
	"errors"
	"slices"
	"testing"

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
