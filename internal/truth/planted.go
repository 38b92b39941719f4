package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"fibchurn/churn"
	"fibchurn/internal/machine"
	"fibchurn/internal/prefixes"
	"fibchurn/ns"
	"fibchurn/results"
)

// The test workload, the phase that is slowed down, and the level at which it must show:
// that of one among 20 rows at alpha 0.05, to which docs/compare.md's numbers of samples
// are.
const (
	brakedRoutes = 1000
	brakedPhase  = "add"
	plantedAlpha = "0.0025"
	pilotRuns    = 150 // a side
	mostSamples  = 600 // a side: more is no test of a method, but of patience
	plantedShare = 0.8
)

// slowDowns are planted.
func slowDowns() []float64 { return []float64{0.05, 0.10, 0.25} }

// planted slows the kernel down by known shares, and counts how often `fibchurn compare`
// finds it with as many runs as it asks for itself.
func (p *proof) planted() error {
	off, err := newBrake(1)
	if err != nil {
		return err
	}
	defer off.close()
	var wrong error
	for _, change := range slowDowns() {
		err := p.plantedBy(off, change)
		if err != nil && !errors.Is(err, errFalse) {
			return err
		}
		wrong = errors.Join(wrong, err)
	}
	return wrong
}

// plantedBy proves one size. It has a pilot of its own, for the machine may have changed
// since that of another.
func (p *proof) plantedBy(off *brake, change float64) error {
	pilot, err := p.pilot(fmt.Sprintf("pilot-%g", change), off, change)
	if err != nil {
		return err
	}
	t, err := p.plant(off, change, pilot)
	if err != nil {
		return err
	}
	return t.verdict(p)
}

// A pilot is what runs without a slow-down say of what is to come.
type pilot struct {
	route   time.Duration // median wall time of a route in the phase
	spread  float64       // relative, 1.5 times the MAD
	samples int           // a side, that the comparison asks for
}

// pilot compares equals and takes from the comparison how many samples find the change.
func (p *proof) pilot(name string, off *brake, change float64) (pilot, error) {
	sides := p.sides(name)
	if err := measureBraked(p.ctx, sides, pilotRuns, off, off); err != nil {
		return pilot{}, err
	}
	found, err := p.compareBraked(sides, "--fail-above", fmt.Sprintf("%g%%", 100*change))
	if err != nil {
		return pilot{}, err
	}
	route, err := routeTime(sides)
	if err != nil {
		return pilot{}, err
	}
	times, err := phaseTimes(sides, p.metric)
	if err != nil {
		return pilot{}, err
	}
	middle := median(times)
	out := pilot{route: route, samples: found.SamplesForLimit}
	for i, t := range times {
		times[i] = math.Abs(t - middle)
	}
	out.spread = 1.5 * median(times) / middle
	if out.samples < 1 || out.samples > mostSamples {
		return out, fmt.Errorf("runs differ by %.1f %%, so that a slow-down of %g %% takes %d a side (-1: more than %d): too noisy a machine to prove it on: %w",
			100*out.spread, 100*change, out.samples, results.MaxSamples, errFalse)
	}
	return out, nil
}

// A planting is what came of the tries.
type planting struct {
	change, measured    float64 // planted, and the median of the deltas
	spread              float64
	samples             int
	tries, found, wrong int // wrong: shown to be faster
}

func (t *planting) verdict(p *proof) error {
	p.say("planted %g %% of %s time, runs differ by %.1f %%, %d runs a side: found in %d of %d tries, shown as faster in %d, median delta %+.1f %%",
		100*t.change, p.metric, 100*t.spread, t.samples, t.found, t.tries, t.wrong, 100*t.measured)
	if float64(t.found) < plantedShare*float64(t.tries) || t.wrong > 0 {
		return fmt.Errorf("a slow-down of %g %% was found in %d of %d tries, shown as faster in %d: %w", 100*t.change, t.found, t.tries, t.wrong, errFalse)
	}
	return nil
}

// plant makes the tries of one size.
func (p *proof) plant(off *brake, change float64, from pilot) (*planting, error) {
	loops, err := loopsFor(time.Duration(change * float64(from.route)))
	if err != nil {
		return nil, err
	}
	on, err := newBrake(loops)
	if err != nil {
		return nil, err
	}
	defer on.close()
	t := &planting{change: change, spread: from.spread, samples: from.samples, tries: p.tries}
	var deltas []float64
	for try := range p.tries {
		sides := p.sides(fmt.Sprintf("planted-%g-%d", change, try))
		if err := measureBraked(p.ctx, sides, from.samples, off, on); err != nil {
			return nil, err
		}
		found, err := p.compareBraked(sides)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, found.Delta.Estimate)
		switch results.Result(found.Result) {
		case results.Slower:
			t.found++
		case results.Faster:
			t.wrong++
		}
	}
	t.measured = median(deltas)
	return t, nil
}

// sides are the files of a base and a new side.
func (p *proof) sides(name string) [2]string {
	return [2]string{p.file(name + "-base.jsonl"), p.file(name + "-new.jsonl")}
}

// compareBraked compares the phase of the two sides.
func (p *proof) compareBraked(sides [2]string, more ...string) (row, error) {
	rows, err := p.compare(append([]string{sides[0], sides[1], "--phase", brakedPhase, "--metric", p.metric, "--alpha", plantedAlpha}, more...)...)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%d rows instead of 1", len(rows))
	}
	if err != nil {
		return row{}, err
	}
	return rows[0], nil
}

// measureBraked appends runs with one brake to the file of base, and as many with
// another to that of new, in turn: by the program's own session and runner.
func measureBraked(ctx context.Context, sides [2]string, runs int, base, new *brake) (err error) {
	var files [2]*results.File
	for i, path := range sides {
		if files[i], err = results.Append(path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, files[i].Close()) }()
	}
	kind, err := ns.ChooseKind(ns.KindAuto)
	if err != nil {
		return err
	}
	set, err := prefixes.Generate(prefixes.Dense, prefixes.IPv4, brakedRoutes, 0)
	if err != nil {
		return err
	}
	spec := &churn.RoutesSpec{Parallel: 1, ParallelIn: churn.WriteTargets()[0], TableSpec: churn.TableSpec{
		Layout: prefixes.Dense, Count: brakedRoutes, Families: []int{4}, Table: 254, Tables: 1,
		Order: "added", LinkKind: kind, Batch: 256, Ack: "last", Sets: map[int]*prefixes.Set{4: set},
	}}
	env := machine.Environment("truth")
	env.LinkKind = kind
	session := churn.Session{
		Runner: &churn.Runner{Environment: env, Boot: machine.Boot()},
		Cells:  []churn.Workload{&braked{spec, 0, base}, &braked{spec, 1, new}},
		Runs:   runs, Warmup: 1, Seed: uint64(time.Now().UnixNano()), // the order of the cells
		Emit: func(run *results.Run) error {
			side := run.Cell
			run.Cell = spec.Cell()
			if side == sideName(0) {
				return files[0].Write(run)
			}
			return files[1].Write(run)
		},
		Progress: func(int, int, churn.Workload) {},
	}
	return session.Measure(ctx, ctx)
}

// routeTime is the median wall time of a route. A delay is a share of it whatever the
// metric: on a busy machine CPU time is counted short, of what is planted as of the rest
// (churn's runDelays).
func routeTime(sides [2]string) (time.Duration, error) {
	walls, err := phaseTimes(sides, "wall")
	if err != nil {
		return 0, err
	}
	return time.Duration(median(walls) / brakedRoutes), nil
}

// phaseTimes are what the phase of each run took, in ns, by the metric.
func phaseTimes(sides [2]string, metric string) (times []float64, err error) {
	for _, path := range sides {
		runs, err := runsOf(path)
		if err != nil {
			return nil, err
		}
		for i := range runs {
			phase := runs[i].Phase(brakedPhase)
			ns := phase.Wall
			if metric == "cpu" {
				ns = phase.User + phase.System
			}
			times = append(times, float64(ns))
		}
	}
	return times, nil
}

// median is that of values, which it leaves as they are.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
