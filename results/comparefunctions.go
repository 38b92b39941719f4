package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The metrics of Comparison.Functions.
const (
	metricSelf  = "self"  // ns of an operation in a function itself, by its share of the profile
	metricCalls = "calls" // calls of a function, an operation
)

// What of the functions of a phase is compared: fewer comparisons need fewer samples.
// The choice looks at all runs of both sides alike, not at which side they are of, so
// that it does not favour changes.
const (
	maxCompared  = 16
	leastOfPhase = 0.005 // mean share of all runs: 1 % on one side alone
)

// functionRows compares the profiles and traces that were made beside the strand's
// samples.
func (p *pairing) functionRows(s *strand) []CompareRow {
	base, new := watchedOf(p, p.watchedBase, s.base), watchedOf(p, p.watchedNew, s.new)
	if len(base) == 0 || len(new) == 0 {
		return nil
	}
	return append(p.selfRows(s, only(base, (*Run).profiled), only(new, (*Run).profiled)),
		p.callRows(s, only(base, (*Run).traced), only(new, (*Run).traced))...)
}

// watchedOf returns the watched runs of the cell and parameters of these samples.
func watchedOf(p *pairing, watched, samples []Run) []Run {
	return only(watched, func(r *Run) bool {
		return p.key(r) == p.key(&samples[0]) && comparableSpec(r) == comparableSpec(&samples[0])
	})
}

func only(runs []Run, kind func(*Run) bool) []Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !kind(&r) })
}

// wantsPhase reports whether the phase was asked for.
func (p *pairing) wantsPhase(phase string) bool {
	return p.opts.Phases == nil || slices.Contains(p.opts.Phases, phase)
}

// A selfSide is what one side's profiles tell of a phase: of each profiled run the
// functions' shares, and the CPU time of an operation of the run beside it.
type selfSide struct {
	boots  []string
	shares []map[string]float64
	whole  []float64
	unit   string
	total  int64 // samples
	why    string
}

func selfSideOf(watched, bare []Run, phase string, clock lookupTiming) selfSide {
	var s selfSide
	has := func(r *Run) bool { return r.profileOf(phase) != nil }
	for _, pair := range match(watched, bare, has, (*Run).Sample) {
		symbols, total := pair.loaded.profileOf(phase).selfSamples()
		s.total = plus(s.total, total)
		ns, unit, why := pair.empty.cpuOf(phase, pair.loaded.Profile.Scope)
		if clock.bySamples && why == "" {
			ns, _ = pair.loaded.sampledGap(phase)
		}
		switch why = cmp.Or(why, clock.why); {
		case why != "":
			s.why = why
			continue
		case total == 0 || ns == 0:
			continue
		}
		shares := map[string]float64{}
		for symbol, n := range symbols {
			shares[symbol] = float64(n) / float64(total)
		}
		s.unit = unit
		s.boots, s.shares, s.whole = append(s.boots, pair.loaded.Boot), append(s.shares, shares), append(s.whole, ns)
	}
	return s
}

// of returns a function's time of an operation, run by run.
func (s *selfSide) of(symbol string) byBoot {
	var b byBoot
	for i := range s.shares {
		b.add(s.boots[i], s.shares[i][symbol]*s.whole[i])
	}
	return b
}

// selfRows compares the functions of each phase by their own time of an operation.
func (p *pairing) selfRows(s *strand, base, new []Run) []CompareRow {
	if len(base) == 0 || len(new) == 0 {
		return nil
	}
	if b, n := samplingText(base), samplingText(new); b != n {
		p.warnings = append(p.warnings, Warning{"profile", fmt.Sprintf("base was sampled by %s, new by %s: shares of the one need not be those of the other", b, n)})
	}
	var rows []CompareRow
	for _, phase := range profilePhases(base) {
		clock := lookupClock(base, phase)
		if other := lookupClock(new, phase); clock == (lookupTiming{}) || other.why != "" {
			clock = other // both sides by the same clock
		}
		b, n := selfSideOf(base, s.base, phase, clock), selfSideOf(new, s.new, phase, clock)
		if !p.wantsPhase(phase) || min(b.total, n.total) < minSamples {
			continue
		}
		if why := cmp.Or(b.why, n.why); why != "" && min(len(b.whole), len(n.whole)) == 0 {
			p.warnings = append(p.warnings, Warning{"profile", fmt.Sprintf("%s, %s: functions are not compared: %s",
				cellKey{s.command, s.cell}, plain(phase), why)})
			continue
		}
		if clock.note != "" {
			p.warnings = append(p.warnings, Warning{"profile", fmt.Sprintf("%s, %s: %s", cellKey{s.command, s.cell}, plain(phase), clock.note)})
		}
		for _, symbol := range comparedSymbols(b, n) {
			r := CompareRow{Command: s.command, Cell: s.cell, Spec: s.specText(), Phase: phase, Metric: metricSelf, Function: symbol, Per: b.unit}
			if r.take(b.of(symbol), n.of(symbol)) {
				r.Delta = differenceOf(r.base, r.new)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// comparedSymbols returns those of the largest mean share of all runs.
func comparedSymbols(base, new selfSide) []string {
	mean := map[string]float64{}
	all := slices.Concat(base.shares, new.shares)
	for _, shares := range all {
		for symbol, x := range shares {
			mean[symbol] += x / float64(len(all))
		}
	}
	var symbols []string
	for symbol, x := range mean {
		if x >= leastOfPhase {
			symbols = append(symbols, symbol)
		}
	}
	slices.SortFunc(symbols, func(a, b string) int { return cmp.Or(cmp.Compare(mean[b], mean[a]), cmp.Compare(a, b)) })
	return symbols[:min(len(symbols), maxCompared)]
}

// callRows compares the functions of each phase by their calls an operation.
func (p *pairing) callRows(s *strand, base, new []Run) []CompareRow {
	if len(base) == 0 || len(new) == 0 {
		return nil
	}
	var rows []CompareRow
	for _, phase := range tracePhases(slices.Concat(base, new)) {
		if !p.wantsPhase(phase) {
			continue
		}
		_, unit := base[0].operationsOf(phase)
		calls := func(runs []Run, function string) byBoot {
			var b byBoot
			for i := range runs {
				if f := runs[i].traceOf(phase, function); f != nil {
					b.add(runs[i].Boot, tracePerOperation(phase)(&runs[i], f))
				}
			}
			return b
		}
		for _, function := range tracedFunctions(slices.Concat(base, new), phase) {
			r := CompareRow{Command: s.command, Cell: s.cell, Spec: s.specText(), Phase: phase, Metric: metricCalls, Function: function, Per: unit}
			if r.take(calls(base, function), calls(new, function)) && max(r.BaseSummary.Max, r.NewSummary.Max) > 0 {
				r.Delta = differenceOf(r.base, r.new)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// sortFunctions puts the largest change of each phase first: those that are shown,
// then the others.
func sortFunctions(rows []CompareRow) {
	type part struct{ new, command, cell, spec, phase, metric string }
	of := func(r *CompareRow) part { return part{r.New, r.Command, r.Cell, r.Spec, r.Phase, r.Metric} }
	order := map[part]int{}
	for i := range rows {
		if _, known := order[of(&rows[i])]; !known {
			order[of(&rows[i])] = len(order)
		}
	}
	unshown := func(r *CompareRow) int {
		if r.Result == Unshown {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b CompareRow) int {
		return cmp.Or(cmp.Compare(order[of(&a)], order[of(&b)]), cmp.Compare(unshown(&a), unshown(&b)),
			cmp.Compare(math.Abs(b.Delta.Estimate), math.Abs(a.Delta.Estimate)), cmp.Compare(a.Function, b.Function))
	})
}
