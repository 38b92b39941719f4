package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// warnOverhead is the share of a phase's time, as a fraction, above which what
// watching it adds is a warning.
const warnOverhead = 0.03

// profiled and traced report whether the run's profile or trace may be shown: as of
// a sample, all its checks held.
func (r *Run) profiled() bool { return r.Profile != nil && r.Held() && !r.Partial }
func (r *Run) traced() bool   { return r.Trace != nil && r.Held() && !r.Partial }

// A watchedCell is a cell's runs that were watched from within, and beside them
// those that were not, which tell the times.
type watchedCell struct {
	name          string
	watched, bare []Run
}

// watchedCells returns the cells that have runs of that kind, in the order of the
// table of phases; those without a sample come last.
func watchedCells(b block, kind func(*Run) bool) []watchedCell {
	var cells []watchedCell
	for _, c := range b.cells {
		cells = append(cells, watchedCell{name: c.name, bare: c.runs})
	}
	for i := range b.runs {
		r := &b.runs[i]
		if !kind(r) {
			continue
		}
		at := slices.IndexFunc(cells, func(c watchedCell) bool { return c.name == r.Cell })
		if at < 0 {
			at = len(cells)
			cells = append(cells, watchedCell{name: r.Cell})
		}
		cells[at].watched = append(cells[at].watched, *r)
	}
	return slices.DeleteFunc(cells, func(c watchedCell) bool { return len(c.watched) == 0 })
}

// overhead summarises by what fraction watching made a figure of a run larger, run by
// run: a run that was watched against the one of its boot and number that was not.
func (c *watchedCell) overhead(figure func(*Run) float64) Summary {
	var s byBoot
	for _, p := range match(c.watched, c.bare, func(*Run) bool { return true }, (*Run).Sample) {
		if base := figure(p.empty); base > 0 {
			s.add(p.loaded.Boot, figure(p.loaded)/base-1)
		}
	}
	return s.summarize()
}

// cpuPace is the run's CPU time, in ns, of an operation of the phase, NaN where it is
// not known.
func (r *Run) cpuPace(phase string) float64 {
	if ns, _, why := r.cpuOf(phase, ""); why == "" && r.lookupsIn(phase) == nil {
		return ns
	}
	return math.NaN()
}

// pace is the run's wall time, in ns, of an operation of the phase, or of a lookup of
// the stretch; of lookups by several probes the geometric mean. NaN where the run
// has none.
func (r *Run) pace(phase string) float64 {
	if kinds := r.lookupsIn(phase); kinds != nil {
		sum := 0.0
		for _, l := range kinds {
			sum -= math.Log(l.Reached)
		}
		return 1e9 * math.Exp(sum/float64(len(kinds)))
	}
	p := r.Phase(phase)
	if p == nil || p.Wall == 0 {
		return math.NaN()
	}
	return float64(p.Wall) / max(1, float64(p.Ops))
}

// lookupsIn returns the run's lookups of the stretch, nil where it is none.
func (r *Run) lookupsIn(stretch string) []*Latency {
	var found []*Latency
	for i := range r.Latency {
		if l := &r.Latency[i]; l.Stretch == stretch && l.Count > 0 && l.Reached > 0 {
			found = append(found, l)
		}
	}
	return found
}

// An overheads collects the phases of a cell that watching slowed by more than
// warnOverhead.
type overheads struct{ shown, perhaps []string }

// of says how much slower watching, "profiling" or "tracing", made a phase. CPU time
// tells it too where other work keeps the run from its CPU.
func (o *overheads) of(c *watchedCell, verb, phase string) string {
	s := c.overhead(func(r *Run) float64 { return r.pace(phase) })
	onCPU := c.overhead(func(r *Run) float64 { return r.cpuPace(phase) })
	text := fmt.Sprintf("%s%s%s", plain(phase), nbsp, percentText(s.Median))
	switch {
	case s.Median > warnOverhead && s.HasInterval() && s.Lo > 0:
		o.shown = append(o.shown, text)
	case onCPU.Median > warnOverhead && onCPU.HasInterval() && onCPU.Lo > 0:
		o.shown = append(o.shown, fmt.Sprintf("%s%s%s of its CPU time", plain(phase), nbsp, percentText(onCPU.Median)))
	case s.Median > warnOverhead:
		o.perhaps = append(o.perhaps, text)
	}
	cpu := ""
	if onCPU.HasInterval() {
		cpu = fmt.Sprintf("; its CPU time: %s (%s)", percentText(onCPU.Median), percentWithin(onCPU))
	}
	switch {
	case s.N == 0:
		return fmt.Sprintf("what %s adds to this phase is not known: no run without it beside one with it", verb)
	case !s.HasInterval() || s.Lo <= 0 && s.Hi >= 0:
		return fmt.Sprintf("%s is not shown to change this phase's time: %s (%s)", verb, percentText(s.Median), percentWithin(s)) + cpu
	case s.Median < 0:
		return fmt.Sprintf("%s made this phase %s%s%% faster (%s)", verb, fixed(-100*s.Median, 1), nbsp, percentWithin(s)) + cpu
	}
	return fmt.Sprintf("%s made this phase %s%s%% slower (%s)", verb, fixed(100*s.Median, 1), nbsp, percentWithin(s)) + cpu
}

// percentWithin is the interval of a fraction.
func percentWithin(s Summary) string {
	if !s.HasInterval() {
		return "too few pairs of runs for a 95" + nbsp + "%" + nbsp + "interval"
	}
	return fmt.Sprintf("95%s%%%sinterval %s to %s%s%%", nbsp, nbsp, signedText(100*s.Lo, 1), signedText(100*s.Hi, 1), nbsp)
}

// warnings names the phases.
func (o *overheads) warnings(c *watchedCell, verb string) []string {
	var texts []string
	if o.shown != nil {
		texts = append(texts, fmt.Sprintf("warning: %s slowed phases of %s by more than %.0f%s%%, so that they are not quite what they are without it: %s",
			verb, plain(c.name), 100*warnOverhead, nbsp, strings.Join(o.shown, ", ")))
	}
	if o.perhaps != nil {
		texts = append(texts, fmt.Sprintf("warning: %s may have slowed phases of %s by more than %.0f%s%%; their times differ too much from run to run to tell: %s",
			verb, plain(c.name), 100*warnOverhead, nbsp, strings.Join(o.perhaps, ", ")))
	}
	return texts
}

// watchedWarnings returns the warnings of runs of that kind that no run told the
// times with, such as those of the profile itself.
func watchedWarnings(b block, kind func(*Run) bool, noun string) []string {
	pattern := figurePattern()
	known := map[string]bool{}
	key := func(w Warning) string { p := takeApart(w, pattern); return fmt.Sprintf("%q %q", p.kind, p.words) }
	var runs []Run
	for i := range b.runs {
		r := b.runs[i]
		switch {
		case r.Sample():
			for _, w := range r.Warnings {
				known[key(w)] = true
			}
		case kind(&r):
			runs = append(runs, r)
		}
	}
	for i := range runs {
		runs[i].Warnings = slices.DeleteFunc(slices.Clone(runs[i].Warnings), func(w Warning) bool { return known[key(w)] })
	}
	return rangedWarnings(runs, noun+nbsp+"run", noun+nbsp+"runs")
}
