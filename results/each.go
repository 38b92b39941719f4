package results

import (
	"math"
	"strconv"
)

// An eachRow is one row of the table of single operations: of a phase whose
// operations were timed one by one, in ns.
type eachRow struct {
	cell, phase string
	count       float64 // operations of a run
	times       []float64
}

// eachRows returns a row for each cell and phase that has such times. Percentiles
// are those of each run, of which the row has the median; the maximum is that of
// all runs.
func eachRows(b block) []eachRow {
	var rows []eachRow
	for _, c := range b.cells {
		for _, phase := range PhaseNames(c.runs) {
			of := func(f func(*Distribution) int64) Summary {
				return Of(timedEach(c.runs, phase), phase, func(p *Phase) float64 { return float64(f(p.Each)) })
			}
			row := eachRow{cell: c.name, phase: phase, count: of(func(d *Distribution) int64 { return d.Count }).Median}
			if math.IsNaN(row.count) {
				continue
			}
			for _, f := range []func(*Distribution) int64{
				func(d *Distribution) int64 { return d.P50 }, func(d *Distribution) int64 { return d.P90 },
				func(d *Distribution) int64 { return d.P99 }, func(d *Distribution) int64 { return d.P999 },
			} {
				row.times = append(row.times, of(f).Median)
			}
			row.times = append(row.times, of(func(d *Distribution) int64 { return d.Max }).Max)
			rows = append(rows, row)
		}
	}
	return rows
}

// timedEach returns the runs that have the times of a phase's operations.
func timedEach(runs []Run, phase string) []Run {
	var timed []Run
	for i := range runs {
		if p := runs[i].Phase(phase); p != nil && p.Each != nil {
			timed = append(timed, runs[i])
		}
	}
	return timed
}

// eachGrid lays the rows out. All times share the unit that shows the shortest
// with three significant digits.
func eachGrid(b block) grid {
	rows := eachRows(b)
	shortest := math.Inf(1)
	for _, r := range rows {
		shortest = min(shortest, r.times[0])
	}
	u := unitOf(shortest)
	digits := decimals(shortest / u.ns)
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "phase", left: true},
		{title: "single\noperations", drop: 1},
		{title: "p50\n" + u.name}, {title: "p90\n" + u.name, drop: 2}, {title: "p99\n" + u.name},
		{title: "p99.9\n" + u.name, drop: 3}, {title: "max\n" + u.name},
	}}
	for _, r := range rows {
		line := []string{plain(r.cell), plain(r.phase), strconv.FormatFloat(r.count, 'f', 0, 64)}
		for _, t := range r.times {
			line = append(line, fixed(t/u.ns, digits))
		}
		g.rows = append(g.rows, line)
	}
	return g
}
