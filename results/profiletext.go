package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What the table of a profile shows of a phase.
const (
	minSamples  = 20   // fewer in all runs make no table
	fewSamples  = 200  // fewer are a warning
	maxSymbols  = 12   // in a table
	leastShare  = 0.01 // of a symbol with a row of its own
	leastSymbol = 24   // columns: no symbol is cut shorter
)

// profiles writes a table for each cell and phase that was profiled.
func (p *page) profiles(b block) {
	var warnings, few, untold []string
	for _, c := range watchedCells(b, (*Run).profiled) {
		var thin []string
		var slowed overheads
		clusters, unit := MinRuns, ""
		for _, phase := range profilePhases(c.watched) {
			s := sharesOf(c.watched, phase)
			if s.samples < minSamples {
				thin = append(thin, fmt.Sprintf("%s%s%d", plain(phase), nbsp, s.samples)+othersWork(c.watched, phase))
				continue
			}
			p.profile(&c, s, &slowed)
			if s.samples < fewSamples {
				few = append(few, fmt.Sprintf("%s %s%s%d", plain(c.name), plain(phase), nbsp, s.samples))
			}
			if s.clusters < clusters {
				clusters, unit = s.clusters, s.clusterUnit()
			}
		}
		if thin != nil {
			untold = append(untold, fmt.Sprintf("profile of %s: no table of phases with fewer than %d samples in all runs: %s",
				plain(c.name), minSamples, strings.Join(thin, ", ")))
		}
		if unit != "" {
			warnings = append(warnings, fmt.Sprintf("warning: %s was profiled in %s: the intervals of the shares take all samples for independent and know nothing of what "+
				"differs between %ss, which takes %d", plain(c.name), count(clusters, unit, unit+"s"), unit, MinRuns))
		}
		warnings = append(append(warnings, slowed.warnings(&c, "profiling")...), lostText(&c)...)
	}
	if untold != nil && few == nil {
		untold = append(untold, nbsp+nbsp+"more runs, longer phases or a higher --profile-hz have more samples")
	}
	p.section(untold, none)
	if few != nil {
		warnings = append(warnings, fmt.Sprintf("warning: fewer than %d samples: %s; more runs, longer phases or a higher --profile-hz have more", fewSamples, strings.Join(few, ", ")))
	}
	p.section(append(warnings, watchedWarnings(b, (*Run).profiled, "profiled")...), yellow)
}

// othersWork says how to sample a phase in which the timed threads only watch.
func othersWork(runs []Run, phase string) string {
	for i := range runs {
		if p := runs[i].Phase(phase); p == nil || !p.CPUUnknown || runs[i].Profile.Scope == scopeCPUs {
			return ""
		}
	}
	return " (other threads do the work: --profile-scope" + nbsp + "cpus)"
}

// profile writes the table of one phase.
func (p *page) profile(c *watchedCell, s phaseShares, slowed *overheads) {
	whole := c.perOperation(s.phase)
	p.gap()
	p.paragraph(profileTitle(c, s, whole), 2, bold)
	p.lines(profileGrid(s, whole).clipped(p.opts.Width))
	p.paragraph(nbsp+nbsp+slowed.of(c, "profiling", s.phase), 4, none)
	switch {
	case whole.why != "":
		p.paragraph(nbsp+nbsp+"ns of an operation are not known: "+whole.why, 4, none)
	case whole.note != "":
		p.paragraph(nbsp+nbsp+whole.note, 4, none)
	}
}

// profileTitle says what was sampled, how much of it there is, and how long the
// phase was on a CPU at all.
func profileTitle(c *watchedCell, s phaseShares, whole cost) string {
	text := fmt.Sprintf("profile of %s, phase %s: %s, %s in %s", plain(c.name), plain(s.phase), samplingText(c.watched),
		count(s.samples, "sample", "samples"), count(s.runs, "profiled run", "profiled runs"))
	if whole.why == "" {
		text += fmt.Sprintf("; on a CPU %s per %s", duration(whole.ns.Median), whole.unit)
	}
	if off := Of(c.bare, s.phase, blockedShare); off.N > 0 {
		text += fmt.Sprintf("; not on a CPU: %s%s%% of the phase's time", fixed(100*off.Median, 1), nbsp)
	}
	return text
}

// samplingText is e.g. "cpu-clock at 997 Hz, timed threads". Runs that were sampled
// in different ways are named all.
func samplingText(runs []Run) string {
	var texts []string
	for i := range runs {
		p := runs[i].Profile
		scope := "timed threads"
		if p.Scope == scopeCPUs {
			scope = "all CPUs"
		}
		text := fmt.Sprintf("%s at %d%sHz, %s", plain(p.Event), p.Hz, nbsp, scope)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " and ")
}

// blockedShare is the fraction of the timed threads' time in which they had no CPU,
// NaN where it is not known.
func blockedShare(p *Phase) float64 {
	all := p.User + p.System + p.Blocked
	if p.CPUUnknown || all == 0 {
		return math.NaN()
	}
	return float64(p.Blocked) / float64(all)
}

func profileGrid(s phaseShares, whole cost) grid {
	unit := whole.unit
	if unit == "" {
		unit = "op"
	}
	g := grid{columns: []column{
		{title: "symbol", left: true},
		{title: "share\n%"},
		{title: "95 % interval\n%", drop: 2},
		{title: "ns per\n" + unit},
		{title: "95 % interval\nns", drop: 3},
		{title: "samples", drop: 1},
	}}
	if whole.why != "" {
		g.columns = slices.Delete(g.columns, 3, 5)
	}
	shown := 0
	for shown < min(len(s.symbols), maxSymbols) && s.symbols[shown].of >= leastShare {
		shown++
	}
	if shown == len(s.symbols)-1 {
		shown++ // a line for one symbol may as well name it
	}
	rows := slices.Clone(s.symbols[:shown])
	if rest := s.symbols[shown:]; len(rest) > 0 {
		var names []string
		for _, r := range rest {
			names = append(names, r.symbol)
		}
		rows = append(rows, symbolShare{fmt.Sprintf("others (%d symbols)", len(rest)), s.shareOf(names...)})
	}
	d := 0
	if len(rows) > 0 {
		d = nsDecimals(rows[0].of * whole.ns.Median)
	}
	var lows, highs, lowNs, highNs, ns []string
	for _, r := range rows {
		lows, highs = append(lows, fixed(100*r.lo, 2)), append(highs, fixed(100*r.hi, 2))
		x, lo, hi := timesShare(r.portion, whole.ns)
		ns = append(ns, fixed(x, d))
		if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			lowNs, highNs = append(lowNs, ""), append(highNs, "")
		} else {
			lowNs, highNs = append(lowNs, fixed(lo, d)), append(highNs, fixed(hi, d))
		}
	}
	shares, times := alignPairs(lows, highs), alignPairs(lowNs, highNs)
	for i, r := range rows {
		row := []string{plain(r.symbol), fixed(100*r.of, 2), shares[i], ns[i], times[i], strconv.FormatInt(r.samples, 10)}
		if whole.why != "" {
			row = slices.Delete(row, 3, 5)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// nsDecimals is how many digits the times of functions have beside one of ns: those of
// a lookup in the kernel are of a few ns.
func nsDecimals(ns float64) int {
	switch {
	case ns < 99.995:
		return 2
	case ns < 999.95:
		return 1
	}
	return 0
}

// lostText warns of samples that the kernel had no room for.
func lostText(c *watchedCell) []string {
	var lost, kept int64
	for i := range c.watched {
		lost = plus(lost, c.watched[i].Profile.Lost)
		for _, phase := range c.watched[i].Profile.Phases {
			kept = plus(kept, phase.Samples)
		}
	}
	if lost == 0 {
		return nil
	}
	return []string{fmt.Sprintf("warning: the profile of %s lost %s of %d, which the kernel had no room for: the shares are of those that are left",
		plain(c.name), count(lost, "sample", "samples"), lost+kept)}
}
