package results

import (
	"fmt"
	"slices"
	"strings"
)

// An Unjudged is what of a new side no limit can be held to.
type Unjudged struct {
	Side   Side
	Failed []FailedCell // its runs that failed their checks, which were left out
	// Cells and Rows are those of base that it has nothing to compare with, for people.
	// A row is of a cell that both sides have. Cells that were asked to be the sides, and
	// what CompareOptions chose to leave out, are not among them.
	Cells, Rows []string
}

// A FailedCell counts the runs of a cell that failed their checks.
type FailedCell struct {
	Name string // workload and cell
	Runs int
}

// failedCells counts the runs of a side that failed their checks, also those that were
// profiled or traced, in order of appearance.
func failedCells(runs []Run) []FailedCell {
	var cells []FailedCell
	for i := range runs {
		r := &runs[i]
		if r.Partial || r.Held() {
			continue
		}
		name := cellKey{r.Command, r.Cell}.String()
		at := slices.IndexFunc(cells, func(c FailedCell) bool { return c.Name == name })
		if at < 0 {
			at = len(cells)
			cells = append(cells, FailedCell{Name: name})
		}
		cells[at].Runs++
	}
	return cells
}

// alone is the strand that base's runs make with themselves.
func (p *pairing) alone(k cellKey, runs []Run) strand {
	controls := controlsOf(runs, p.base)
	return strand{command: k.command, cell: k.cell, base: runs, new: runs, controls: [2][]Run{controls, controls}}
}

// rowsOf are the rows that base's figures alone would make, without any figure.
func (s *strand) rowsOf(opts CompareOptions) []CompareRow {
	var rows []CompareRow
	for _, g := range s.gauges(opts) {
		if len(byBootOf(s.base, g).boots) > 0 {
			rows = append(rows, CompareRow{Command: s.command, Cell: s.cell, Phase: g.phase, Metric: g.metric})
		}
	}
	return rows
}

// missCell notes runs of base whose cell, or whose parameters, new has not.
func (p *pairing) missCell(k cellKey, runs []Run, name string) {
	s := p.alone(k, runs)
	if p.opts.By != "cell" && len(s.rowsOf(p.opts)) > 0 {
		p.missingCells = append(p.missingCells, name)
	}
}

// missRows notes the rows that base has and s, of the same cell, has not. CPU times that
// come in ticks on one side are left out by default and not missing.
func (p *pairing) missRows(s *strand, rows []CompareRow) {
	if p.opts.By == "cell" {
		return
	}
	alone := p.alone(cellKey{s.command, s.cell}, s.base)
	for _, r := range alone.rowsOf(p.opts) {
		ticks := p.opts.Metrics == nil && s.ticks() && (r.Metric == metricCPU || r.Metric == metricPacketCPU)
		has := slices.ContainsFunc(rows, func(o CompareRow) bool { return o.Phase == r.Phase && o.Metric == r.Metric })
		if !has && !ticks {
			p.missingRows = append(p.missingRows, r.Name())
		}
	}
}

// warnMissing says which rows base alone has; of cells strands does.
func (p *pairing) warnMissing() {
	if p.missingRows != nil {
		p.warnings = append(p.warnings, Warning{"one-side", fmt.Sprintf("only base has %s: %s",
			count(len(p.missingRows), "row", "rows"), namedOf(p.missingRows))})
	}
}

// An UnjudgedError is of a limit that new sides were not held to in all that base has: a
// gate must not pass what it has not seen.
type UnjudgedError struct{ Sides []Unjudged }

func (e *UnjudgedError) Error() string {
	var texts []string
	for _, u := range e.Sides {
		new := fmt.Sprintf("new (%s)", plain(u.Side.Name))
		var failed []string
		n := 0
		for _, c := range u.Failed {
			n += c.Runs
			failed = append(failed, fmt.Sprintf("%s (%d)", c.Name, c.Runs))
		}
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%s of %s failed %s checks: %s", count(n, "run", "runs"), new, their(n), namedOf(failed)))
		}
		for _, m := range []struct {
			names     []string
			one, many string
		}{{u.Cells, "cell of base has", "cells of base have"}, {u.Rows, "row of base has", "rows of base have"}} {
			if len(m.names) > 0 {
				texts = append(texts, fmt.Sprintf("%s nothing to compare with in %s: %s", count(len(m.names), m.one, m.many), new, namedOf(m.names)))
			}
		}
	}
	return unbreak(strings.Join(texts, "; "))
}

func their(n int) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

// namedOf names the first of a list.
func namedOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], "; ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Unheld returns an *UnjudgedError where there is a limit and some of it was held to
// nothing, else nil.
func (c Comparison) Unheld() error {
	var sides []Unjudged
	for _, u := range c.Unjudged {
		if len(u.Failed)+len(u.Cells)+len(u.Rows) > 0 {
			sides = append(sides, u)
		}
	}
	if c.FailAbove == nil || sides == nil {
		return nil
	}
	return &UnjudgedError{sides}
}
