package results

import (
	"fmt"
	"slices"
	"strings"
)

// maxFailures is how many failed runs are told one by one.
const maxFailures = 5

// leftOut says which runs are no samples and why.
func leftOut(b block) []string {
	var partial, failed int
	var failures []string
	for i := range b.runs {
		switch r := &b.runs[i]; {
		case r.Partial:
			partial++
		case !r.Held():
			failed++
			failures = append(failures, failureText(r))
		}
	}
	if partial+failed == 0 {
		return nil
	}
	var why []string
	if partial > 0 {
		why = append(why, fmt.Sprintf("%d interrupted", partial))
	}
	if failed > 0 {
		why = append(why, fmt.Sprintf("%d failed their checks", failed))
		if failed == 1 {
			why[len(why)-1] = "1 failed its checks"
		}
	}
	lines := []string{fmt.Sprintf("left out: %s of %d (%s)", count(partial+failed, "run", "runs"), len(b.runs), strings.Join(why, ", "))}
	if len(failures) > maxFailures {
		failures = append(failures[:maxFailures], fmt.Sprintf("and %d more", len(failures)-maxFailures))
	}
	for _, f := range failures {
		lines = append(lines, nbsp+nbsp+f)
	}
	return lines
}

func failureText(r *Run) string {
	var broken []string
	for _, c := range r.Checks {
		if !c.OK() {
			broken = append(broken, fmt.Sprintf("%s: want %d, got %d", plain(c.Name), c.Want, c.Got))
		}
	}
	if len(broken) == 0 {
		broken = []string{"not verified"}
	}
	return fmt.Sprintf("%s run %d: %s", plain(r.Cell), r.Run, strings.Join(broken, "; "))
}

// warningTexts returns each warning once, with the number of runs that bear it,
// in order of first appearance. Texts that differ in their figures alone are one
// warning, with the ranges of the figures.
func warningTexts(b block) []string {
	return append(rangedWarnings(warned(b), "run", "runs"), tooFew(b)...)
}

func rangedWarnings(runs []Run, one, many string) []string {
	pattern := figurePattern()
	var seen []*ranged
	for i := range runs {
		for _, w := range runs[i].Warnings {
			p := takeApart(w, pattern)
			at := slices.IndexFunc(seen, func(r *ranged) bool { return r.takes(p) })
			if at < 0 {
				at = len(seen)
				seen = append(seen, newRanged(p))
			}
			seen[at].add(p, i)
		}
	}
	var texts []string
	for _, r := range seen {
		texts = append(texts, fmt.Sprintf("warning: %d of %s: %s: %s",
			r.runs, count(len(runs), one, many), plain(r.kind), plain(r.text())))
	}
	return texts
}

// warned returns the runs whose warnings count: the samples, whose figures are
// shown, or where there are none all runs.
func warned(b block) []Run {
	samples := slices.DeleteFunc(slices.Clone(b.runs), func(r Run) bool { return !r.Sample() })
	if len(samples) == 0 {
		return b.runs
	}
	return samples
}

// tooFew names the cells whose samples have no interval.
func tooFew(b block) []string {
	var small []string
	unit := "runs"
	for _, c := range b.cells {
		n := len(c.runs)
		if k := boots(c.runs); k > 1 {
			n, unit = k, "boots"
		}
		if n < MinRuns {
			small = append(small, fmt.Sprintf("%s%s%d", plain(c.name), nbsp, n))
		}
	}
	if small == nil {
		return nil
	}
	return []string{fmt.Sprintf("warning: too few %s for a 95%s%%%sinterval of the median, which takes %d: %s",
		unit, nbsp, nbsp, MinRuns, strings.Join(small, ", "))}
}
