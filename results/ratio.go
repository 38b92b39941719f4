package results

import (
	"fmt"
	"math"
)

// ratioWithin summarises, run by run, how many times the figure of base that of new
// is. Runs are interleaved, so each is set against the one of its boot and number,
// as in Net.
func ratioWithin(base, new []Run, phase string, m Metric) Summary {
	var s byBoot
	for _, p := range pairs(new, base, phase) {
		s.add(p.loaded.Boot, quotient(m(p.loaded.Phase(phase)), m(p.empty.Phase(phase))))
	}
	return bounded(s.summarize())
}

// netRatio summarises, run by run, how many times what the other load costs this
// one does, both net of the empty interface. A run in which the other cost nothing
// has no ratio and counts as unbounded.
func netRatio(l, other, empty load, m Metric) Summary {
	net := map[*Run]float64{}
	for _, p := range pairs(other.cell.runs, empty.cell.runs, deletePhase) {
		net[p.loaded] = m(p.loaded.Phase(deletePhase)) - m(p.empty.Phase(deletePhase))
	}
	own := map[*Run]float64{}
	for _, p := range pairs(l.cell.runs, empty.cell.runs, deletePhase) {
		own[p.loaded] = m(p.loaded.Phase(deletePhase)) - m(p.empty.Phase(deletePhase))
	}
	var s byBoot
	for _, p := range pairs(l.cell.runs, other.cell.runs, deletePhase) {
		x, okX := own[p.loaded]
		y, okY := net[p.empty]
		if okX && okY {
			s.add(p.loaded.Boot, quotient(x, y))
		}
	}
	return bounded(s.summarize())
}

// unbounded is the ratio to nothing. Infinity is not, as means of two of them are
// needed for medians.
const unbounded = math.MaxFloat64 / 4

// quotient is unbounded where there is nothing to divide by.
func quotient(x, y float64) float64 {
	if y <= 0 {
		return unbounded
	}
	return x / y
}

// bounded takes the interval from a ratio that has none: where its upper end, or the
// median, is unbounded, or the mean of an unbounded ratio and another.
func bounded(s Summary) Summary {
	if s.Hi >= unbounded/4 || s.Median >= unbounded/4 {
		s.Lo, s.Hi = math.Inf(-1), math.Inf(1)
	}
	return s
}

// ratioText renders a ratio that has an interval, e.g. "6.0 times (95 % interval
// 5.87 to 6.20)". One on both sides of 1 is no difference, and the text says so.
func ratioText(s Summary) string {
	decimals := 2
	if s.Median >= 9.95 {
		decimals = 1
	}
	within := fmt.Sprintf("95%s%%%sinterval %s to %s", nbsp, nbsp, fixed(s.Lo, decimals), fixed(s.Hi, decimals))
	if s.Lo <= 1 && s.Hi >= 1 {
		within += ", no difference is shown"
	}
	return fmt.Sprintf("%s (%s)", times(s.Median), within)
}
