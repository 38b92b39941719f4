package results

import (
	"slices"
	"strings"
	"time"
)

// counts say how the runs of a cell ended.
type counts struct {
	command, cell string
	runs          int // all of them
	samples       int
	failed        int // a check did not hold
	partial       int // interrupted
	instrumented  int // profiled or traced: they tell no times
	failedChecks  int // checks that did not hold, of all runs, at least one of each that failed
	last          time.Time
	wall          time.Duration // of the timed phases
	warnings      map[string]int
	broken        []string // what did not hold, in words
}

// countsOf counts the runs of each cell of a block, also of those without samples: the
// former in the order in which cells are shown.
func countsOf(b block) []counts {
	var all []counts
	for _, c := range b.cells {
		all = append(all, counts{cell: c.name})
	}
	for i := range b.runs {
		r := &b.runs[i]
		n := slices.IndexFunc(all, func(c counts) bool { return c.cell == r.Cell })
		if n < 0 {
			n = len(all)
			all = append(all, counts{cell: r.Cell})
		}
		all[n].add(r)
	}
	return all
}

func (c *counts) add(r *Run) {
	c.command = r.Command
	c.runs++
	switch {
	case r.Partial:
		c.partial++
	case !r.Held():
		c.failed++
		c.broken = append(c.broken, brokenText(r))
	case r.Instrumented():
		c.instrumented++
	default:
		c.samples++
	}
	if !r.Partial {
		c.failedChecks += r.FailedChecks()
	}
	if r.Time.After(c.last) {
		c.last = r.Time
	}
	for _, p := range r.Phases {
		c.wall = time.Duration(plus(int64(c.wall), p.Wall))
	}
	if r.Instrumented() {
		return // no figure is of it
	}
	if c.warnings == nil {
		c.warnings = map[string]int{}
	}
	seen := map[string]bool{}
	for _, w := range r.Warnings {
		if !seen[w.Kind] {
			c.warnings[w.Kind]++
		}
		seen[w.Kind] = true
	}
}

// brokenText says which checks of a run did not hold.
func brokenText(r *Run) string {
	var texts []string
	for _, c := range r.Checks {
		if !c.OK() {
			texts = append(texts, plain(c.Name)+": "+decimal(float64(c.Got))+" instead of "+decimal(float64(c.Want)))
		}
	}
	if texts == nil {
		texts = []string{"not verified"}
	}
	return "run " + decimal(float64(r.Run)) + ": " + strings.Join(texts, ", ")
}

// remarks say in lines of text what a block was measured on, what was left out, and what
// makes its figures doubtful.
func remarks(b block) []string {
	var lines []string
	for _, text := range slices.Concat(heading(b), leftOut(b), warningTexts(b)) {
		lines = append(lines, strings.TrimSpace(unbreak(text)))
	}
	return lines
}

// unbreak makes non-breaking spaces plain ones, for a line that is not wrapped.
func unbreak(text string) string { return strings.ReplaceAll(text, nbsp, " ") }
