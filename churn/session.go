package churn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"fibchurn/results"
)

// A Session measures several cells against each other: Runs rounds, each with one
// run of every cell in an order drawn anew from Seed, after Warmup rounds that are
// not recorded.
//
// A round has one more run of every cell for each of the Instruments, with that one
// at work: what watching adds to the times shows between runs of one round, and the
// runs that tell the times are not watched.
type Session struct {
	Runner      *Runner
	Cells       []Workload
	Instruments []Observer // each makes the runs it watches Instrumented
	Runs   int
	Warmup int
	Seed   uint64

	// Emit takes every recorded run. An error ends the session.
	Emit func(*results.Run) error
	// Progress is told before every run how many have ended, of how many.
	Progress func(done, total int, w Workload)
}

// ErrStopped is returned by Measure where stop was cancelled before all runs had
// been made: those made are complete.
var ErrStopped = errors.New("interrupted")

// Measure executes the session. Cancelling stop ends it after the run in flight;
// cancelling abort ends it at once, with the run in flight emitted as partial.
func (s *Session) Measure(stop, abort context.Context) error {
	for _, w := range s.Cells {
		if i, ok := w.(Interruptible); ok {
			i.Interrupt(stop.Done())
		}
	}
	order := rand.New(rand.NewPCG(s.Seed, 0))
	total, done := (s.Warmup+s.Runs*(1+len(s.Instruments)))*len(s.Cells), 0
	for round := 1 - s.Warmup; round <= s.Runs; round++ {
		kinds := 1
		if round > 0 {
			kinds += len(s.Instruments)
		}
		for _, i := range order.Perm(kinds * len(s.Cells)) {
			if stop.Err() != nil {
				return ErrStopped
			}
			cell := s.Cells[i%len(s.Cells)]
			s.Progress(done, total, cell)
			if err := s.one(abort, s.runner(i/len(s.Cells)), cell, round); err != nil {
				return err
			}
			done++
		}
	}
	s.Progress(done, total, nil)
	return nil
}

// runner is that of runs without an instrument (0) or with one of them.
func (s *Session) runner(kind int) *Runner {
	if kind == 0 {
		return s.Runner
	}
	r := *s.Runner
	r.Observers = append(slices.Clone(r.Observers), s.Instruments[kind-1])
	return &r
}

// one makes a run and emits it, unless it belongs to the warm-up and went well.
func (s *Session) one(abort context.Context, r *Runner, w Workload, round int) error {
	run, err := r.Run(abort, w, round)
	if run != nil && (round > 0 || errors.Is(err, ErrCheck)) {
		if emitErr := s.Emit(run); emitErr != nil {
			return errors.Join(err, emitErr)
		}
	}
	if err != nil && abort.Err() != nil {
		return ErrStopped
	}
	if err != nil {
		return fmt.Errorf("%s, cell %s, run %d: %w", w.Command(), w.Cell(), round, err)
	}
	if run.Partial {
		return ErrStopped
	}
	return nil
}
