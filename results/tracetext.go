package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// traces writes a table for each cell and phase that was traced.
func (p *page) traces(b block) {
	var warnings []string
	for _, c := range watchedCells(b, (*Run).traced) {
		var slowed overheads
		for _, phase := range tracePhases(c.watched) {
			warnings = append(warnings, p.trace(&c, phase, &slowed)...)
		}
		warnings = append(warnings, slowed.warnings(&c, "tracing")...)
	}
	warnings = append(warnings, watchedWarnings(b, (*Run).traced, "traced")...)
	p.section(warnings, yellow)
}

// tracePhases returns the phases in which some function was called, in the order of
// the records.
func tracePhases(runs []Run) []string {
	var names []string
	for i := range runs {
		for _, p := range runs[i].Trace.Phases {
			called := slices.ContainsFunc(p.Functions, func(f FunctionTrace) bool { return f.Calls > 0 })
			if called && !slices.Contains(names, p.Phase) {
				names = append(names, p.Phase)
			}
		}
	}
	return names
}

// traceOf returns what was traced of a function in a phase, nil where it was not.
func (r *Run) traceOf(phase, function string) *FunctionTrace {
	if r.Trace == nil {
		return nil
	}
	for i := range r.Trace.Phases {
		p := &r.Trace.Phases[i]
		if p.Phase != phase {
			continue
		}
		for j := range p.Functions {
			if p.Functions[j].Function == function {
				return &p.Functions[j]
			}
		}
	}
	return nil
}

// tracedFunctions returns the functions that were traced in the phase, those that
// took most of it first.
func tracedFunctions(runs []Run, phase string) []string {
	var names []string
	wall := map[string]int64{}
	for i := range runs {
		for _, p := range runs[i].Trace.Phases {
			if p.Phase != phase {
				continue
			}
			for _, f := range p.Functions {
				if !slices.Contains(names, f.Function) {
					names = append(names, f.Function)
				}
				wall[f.Function] = plus(wall[f.Function], f.Wall)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case wall[a] > wall[b]:
			return -1
		case wall[a] < wall[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// ofTrace summarises a figure of a function over the traced runs, boots as in Of. What
// is NaN is left out.
func ofTrace(runs []Run, phase, function string, m func(*Run, *FunctionTrace) float64) Summary {
	var s byBoot
	for i := range runs {
		if f := runs[i].traceOf(phase, function); f != nil {
			s.add(runs[i].Boot, m(&runs[i], f))
		}
	}
	return s.summarize()
}

func traceCalls(_ *Run, f *FunctionTrace) float64 { return float64(f.Calls) }
func traceTotal(_ *Run, f *FunctionTrace) float64 { return float64(f.Wall) }
func traceMax(_ *Run, f *FunctionTrace) float64   { return float64(f.Max) }

// tracePerCall is the time of a call, of those whose time is known.
func tracePerCall(_ *Run, f *FunctionTrace) float64 {
	if f.Calls <= f.Missed {
		return math.NaN()
	}
	return float64(f.Wall) / float64(f.Calls-f.Missed)
}

// tracePerOperation is the calls of an operation of the phase, of a route where the
// command counts those.
func tracePerOperation(phase string) func(*Run, *FunctionTrace) float64 {
	return func(r *Run, f *FunctionTrace) float64 {
		n, _ := r.operationsOf(phase)
		return float64(f.Calls) / divisor(n)
	}
}

// traceShare is the fraction of the traced run's own wall time.
func traceShare(phase string) func(*Run, *FunctionTrace) float64 {
	return func(r *Run, f *FunctionTrace) float64 {
		p := r.Phase(phase)
		if p == nil || p.Wall == 0 {
			return math.NaN()
		}
		return float64(f.Wall) / float64(p.Wall)
	}
}

// operationsOf is how many operations the phase has and what they are called.
func (r *Run) operationsOf(phase string) (n int64, unit string) {
	p := r.Phase(phase)
	if p == nil {
		return 0, "op"
	}
	l := layoutOf(r.Command)
	switch n := l.per(p); {
	case n == 0 && (r.Forward != nil || r.Flood != nil):
		return p.Ops, "packet"
	case n != 0:
		return n, strings.TrimPrefix(l.perTitle, "ns per\n")
	}
	return p.Ops, "op"
}

// trace writes the table of one phase, and returns what its calls leave unknown.
func (p *page) trace(c *watchedCell, phase string, slowed *overheads) (warnings []string) {
	runs := 0
	for i := range c.watched {
		if slices.Contains(tracePhases(c.watched[i:i+1]), phase) {
			runs++
		}
	}
	p.gap()
	p.paragraph(fmt.Sprintf("calls in %s, phase %s: medians of %s; times have the probes' own in them, and the functions called within",
		plain(c.name), plain(phase), count(runs, "traced run", "traced runs")), 2, bold)
	p.lines(traceGrid(c, phase).clipped(p.opts.Width))
	p.paragraph(nbsp+nbsp+slowed.of(c, "tracing", phase), 4, none)
	for _, function := range tracedFunctions(c.watched, phase) {
		var missed, calls int64
		for i := range c.watched {
			if f := c.watched[i].traceOf(phase, function); f != nil {
				missed, calls = missed+f.Missed, calls+f.Calls
			}
		}
		if missed > 0 {
			warnings = append(warnings, fmt.Sprintf("warning: %d of %s of %s in the phase %s of %s were counted and not timed: the kernel had no free return probe",
				missed, count(calls, "call", "calls"), plain(function), plain(phase), plain(c.name)))
		}
	}
	return warnings
}

// traceGrid lays out a phase's functions. Totals are in ms and share their digits.
func traceGrid(c *watchedCell, phase string) grid {
	_, unit := c.watched[0].operationsOf(phase)
	g := grid{columns: []column{
		{title: "function", left: true},
		{title: "calls", drop: 3},
		{title: "calls per\n" + unit},
		{title: "ns per\ncall"},
		{title: "total\nms", drop: 2},
		{title: "max\nus", drop: 4},
		{title: "of the\nphase %", drop: 1},
	}}
	for _, function := range tracedFunctions(c.watched, phase) {
		of := func(m func(*Run, *FunctionTrace) float64) Summary { return ofTrace(c.watched, phase, function, m) }
		calls := of(traceCalls)
		if calls.Max == 0 {
			g.rows = append(g.rows, []string{plain(function), "0", "0", "", "", "", ""})
			continue
		}
		g.rows = append(g.rows, []string{
			plain(function), strconv.FormatFloat(calls.Median, 'f', 0, 64), orBlank(of(tracePerOperation(phase)).Median, 3),
			orBlank(of(tracePerCall).Median, 0), fixed(of(traceTotal).Median/1e6, 3), fixed(of(traceMax).Max/1e3, 1),
			orBlank(100*of(traceShare(phase)).Median, 1),
		})
	}
	return g
}
