package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// leastBlocked is the fraction of a phase's time below which nothing is said of what
// its threads waited for.
const leastBlocked = 0.01

// blocked writes what threads waited for.
func (p *page) blocked(b block) {
	texts, warnings := blockedTexts(b)
	for i, text := range texts {
		if i == 0 {
			p.gap()
		}
		p.paragraph(text, 4, none)
	}
	p.section(warnings, yellow)
}

// blockedTexts says for each cell and phase what its threads waited for, largest
// first: means over the runs that were watched, so that the parts make up the whole.
func blockedTexts(b block) (texts, warnings []string) {
	cells := verifiedCells(b, func(r *Run) bool { return r.Blocked != nil })
	var lost int64
	for _, of := range cells {
		for i := range of {
			lost = plus(lost, of[i].Blocked.Lost)
		}
		for i := range of[0].Phases {
			if text := waitsText(of, of[0].Phases[i].Name); text != "" {
				texts = append(texts, nbsp+nbsp+text)
			}
		}
	}
	if len(texts) > 0 {
		texts = slices.Insert(texts, 0, fmt.Sprintf("what the timed threads waited for, a run: means of %s", watchedText(cells)))
	}
	if lost > 0 {
		warnings = append(warnings, fmt.Sprintf("warning: waits are missing: the kernel had no room for %s of them", count(lost, "record", "records")))
	}
	return texts, warnings
}

// verifiedCells returns the runs of that kind whose checks held, cell by cell in the
// order of the table of phases.
func verifiedCells(b block, kind func(*Run) bool) [][]Run {
	var runs []Run
	for _, r := range b.runs {
		if kind(&r) && r.Held() && !r.Partial {
			runs = append(runs, r)
		}
	}
	cells := groupBy(runs, func(r *Run) string { return r.Cell })
	place := func(name string) int {
		return slices.IndexFunc(b.cells, func(c cell) bool { return c.name == name })
	}
	slices.SortStableFunc(cells, func(x, y []Run) int { return cmp.Compare(place(x[0].Cell), place(y[0].Cell)) })
	return cells
}

// watchedText is "6 profiled runs", "6 profiled runs of each cell", or "5 to 6".
func watchedText(cells [][]Run) string {
	least, most := len(cells[0]), len(cells[0])
	for _, runs := range cells {
		least, most = min(least, len(runs)), max(most, len(runs))
	}
	text := count(most, "profiled run", "profiled runs")
	if least != most {
		text = fmt.Sprintf("%d to %s", least, text)
	}
	if len(cells) > 1 {
		text += " of each cell"
	}
	return text
}

// A waiting is what a phase of several runs waited for of one kind.
type waiting struct {
	kind        string
	count, wall int64
}

// waitsText is one line, "" where the phase waited for next to nothing or the thread
// that was timed is not the one that worked.
func waitsText(runs []Run, phase string) string {
	var wall, blocked, ready, sum, lost int64
	var kinds []waiting
	for i := range runs {
		p, waits := runs[i].Phase(phase), runs[i].Blocked.Phase(phase)
		if p == nil || waits == nil || p.CPUUnknown {
			continue
		}
		wall, blocked, ready, sum = plus(wall, p.Wall), plus(blocked, p.Blocked), plus(ready, p.RunDelay), plus(sum, waits.Wall())
		lost = plus(lost, runs[i].Blocked.Lost)
		for _, w := range waits.Waits {
			at := slices.IndexFunc(kinds, func(k waiting) bool { return k.kind == w.Kind })
			if at < 0 {
				at = len(kinds)
				kinds = append(kinds, waiting{kind: w.Kind})
			}
			kinds[at].count, kinds[at].wall = plus(kinds[at].count, w.Count), plus(kinds[at].wall, w.Wall)
		}
	}
	if float64(max(sum, blocked)) <= leastBlocked*float64(wall) {
		return ""
	}
	slices.SortStableFunc(kinds, func(x, y waiting) int { return cmp.Compare(y.wall, x.wall) })
	n := float64(len(runs))
	var parts []string
	for i, k := range kinds {
		waits := countText(float64(k.count) / n)
		if i == 0 && k.count == int64(len(runs)) {
			waits += nbsp + "wait"
		} else if i == 0 {
			waits += nbsp + "waits"
		}
		parts = append(parts, fmt.Sprintf("%s%s%s%s(%s)", waitName(k.kind), nbsp, duration(float64(k.wall)/n), nbsp, waits))
	}
	rest := blocked - sum
	if float64(rest) > leastBlocked*float64(blocked) {
		// No wait: the thread had a CPU and the CPU clock did not count it.
		what := "CPU time not accounted for"
		if lost > 0 {
			what = "unexplained"
		}
		parts = append(parts, what+nbsp+duration(float64(rest)/n))
	}
	text := fmt.Sprintf("%s %s: blocked%s%s: %s", plain(runs[0].Cell), plain(phase), nbsp, duration(float64(blocked)/n), strings.Join(parts, ", "))
	// What the kernel holds to be time without a CPU in a thread that is ready is that of
	// being preempted, that on a CPU which is not accounted for, and this.
	for _, k := range kinds {
		if k.kind == WaitCPU {
			ready -= k.wall
			sum -= k.wall
		}
	}
	if woken := min(ready-max(0, rest), sum); float64(woken) > leastBlocked*float64(blocked) {
		text += fmt.Sprintf("; for%s%s of it already woken, without a CPU", nbsp, duration(float64(woken)/n))
	}
	return text
}

// countText is a mean number of waits.
func countText(mean float64) string {
	if mean == float64(int64(mean)) {
		return fixed(mean, 0)
	}
	if mean < 0.1 {
		return fixed(mean, 2)
	}
	return fixed(mean, 1)
}

// waitName is a kind in words.
func waitName(kind string) string {
	switch kind {
	case WaitRTNL:
		return "RTNL"
	case WaitLock:
		return "other locks"
	case WaitCPU:
		return "preempted"
	case WaitSelf:
		return "threads of fibchurn"
	}
	return plain(kind)
}
