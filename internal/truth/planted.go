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
	brakedRoutes = 2000
	brakedPhase  = "add"
	plantedAlpha = "0.0025"
	pilotRuns    = 60 // a side
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
	for i, change := range slowDowns() {
		// Each size has a pilot of its own: the machine may have changed meanwhile.
		pilot, err := p.pilot(fmt.Sprint("pilot", i, ".jsonl"), off, change)
		if err != nil {
			return err
		}
		t, err := p.plant(off, change, pilot)
		if err != nil {
			return err
		}
		wrong = errors.Join(wrong, t.verdict(p))
	}
	return wrong
}

// A pilot is what runs without a slow-down say of what is to come.
type pilot struct {
	route   time.Duration // median of a route in the phase
	spread  float64       // relative, 1.5 times the MAD
	samples int           // a side, that the comparison asks for
}

// pilot compares equals and takes from the comparison how many samples find the change.
func (p *proof) pilot(name string, off *brake, change float64) (pilot, error) {
	file := p.file(name)
	if err := measureBraked(file, pilotRuns, off, off); err != nil {
		return pilot{}, err
	}
	rows, err := p.compareBraked(file, "--fail-above", fmt.Sprintf("%g%%", 100*change))
	if err != nil {
		return pilot{}, err
	}
	walls, err := phaseWalls(file)
	if err != nil {
		return pilot{}, err
	}
	all := slices.Concat(walls["base"], walls["new"])
	middle := median(all)
	off1 := make([]float64, len(all))
	for i, w := range all {
		off1[i] = math.Abs(w - middle)
	}
	out := pilot{route: time.Duration(middle / brakedRoutes), spread: 1.5 * median(off1) / middle, samples: rows[0].SamplesForLimit}
	if out.samples < 1 || out.samples > 400 {
		return out, fmt.Errorf("runs differ so much (%.1f %%) that a slow-down of %g %% takes %d a side (-1: more than 1000): too noisy a machine to prove it on: %w",
			100*out.spread, 100*change, out.samples, errFalse)
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
	p.say("planted %g %%, runs differ by %.1f %%, %d runs a side: found in %d of %d tries, shown as faster in %d, median delta %+.1f %%",
		100*t.change, 100*t.spread, t.samples, t.found, t.tries, t.wrong, 100*t.measured)
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
		file := p.file(fmt.Sprintf("planted-%g-%d.jsonl", change, try))
		if err := measureBraked(file, from.samples, off, on); err != nil {
			return nil, err
		}
		rows, err := p.compareBraked(file)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, rows[0].Delta.Estimate)
		switch results.Result(rows[0].Result) {
		case results.Slower:
			t.found++
		case results.Faster:
			t.wrong++
		}
	}
	t.measured = median(deltas)
	return t, nil
}

// compareBraked compares the two cells of a file.
func (p *proof) compareBraked(file string, more ...string) ([]row, error) {
	rows, err := p.compare(append([]string{"--by", "cell", "--phase", brakedPhase, "--metric", "wall", "--alpha", plantedAlpha, file}, more...)...)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%d rows instead of 1", len(rows))
	}
	return rows, err
}

// measureBraked appends runs with one brake, as cell base, and as many with another, as
// cell new, in turn: by the program's own session and runner.
func measureBraked(path string, runs int, base, new *brake) (err error) {
	file, err := results.Append(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
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
		Cells:  []churn.Workload{&braked{spec, "base", base}, &braked{spec, "new", new}},
		Runs:   runs, Warmup: 1, Seed: uint64(time.Now().UnixNano()), // the order of the cells
		Emit:     file.Write,
		Progress: func(int, int, churn.Workload) {},
	}
	return session.Measure(context.Background(), context.Background())
}

// phaseWalls are the wall times of the phase in ns, by cell.
func phaseWalls(path string) (map[string][]float64, error) {
	runs, err := runsOf(path)
	if err != nil {
		return nil, err
	}
	walls := map[string][]float64{}
	for i := range runs {
		walls[runs[i].Cell] = append(walls[runs[i].Cell], float64(runs[i].Phase(brakedPhase).Wall))
	}
	return walls, nil
}

// median is that of values, which it leaves as they are.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
