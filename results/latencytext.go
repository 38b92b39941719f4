package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A lookupKind is what the lookups of one row have in common.
type lookupKind struct {
	probe, stretch string
	rate           int64
}

// latency returns the run's latency of that kind, or nil.
func (r *Run) latency(k lookupKind) *Latency {
	for i := range r.Latency {
		if l := &r.Latency[i]; l.Count > 0 && k == (lookupKind{l.Probe, l.Stretch, l.Rate}) {
			return l
		}
	}
	return nil
}

// lookupKinds lists those of the runs, probe by probe.
func lookupKinds(runs []Run) []lookupKind {
	var kinds []lookupKind
	var probes []string
	for i := range runs {
		for _, l := range runs[i].Latency {
			if k := (lookupKind{l.Probe, l.Stretch, l.Rate}); l.Count > 0 && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
				probes = append(probes, l.Probe)
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b lookupKind) int { return slices.Index(probes, a.probe) - slices.Index(probes, b.probe) })
	return kinds
}

// A latencyMetric takes one figure of a latency.
type latencyMetric func(*Latency) float64

func latencyP50(l *Latency) float64 { return float64(l.P50) }
func latencyP99(l *Latency) float64 { return float64(l.P99) }

// ofLatency summarises a metric over the runs, boots as in Of.
func ofLatency(runs []Run, k lookupKind, m latencyMetric) Summary {
	var s byBoot
	for i := range runs {
		if l := runs[i].latency(k); l != nil && runs[i].Sample() {
			s.add(runs[i].Boot, m(l))
		}
	}
	return s.summarize()
}

// latencyColumns are the figures of the table, in ns but for the first two.
// Percentiles are those of each run, of which the table has the median.
func latencyColumns() []latencyColumn {
	of := func(f func(*Latency) int64) latencyMetric { return func(l *Latency) float64 { return float64(f(l)) } }
	return []latencyColumn{
		{column{title: "reached\n/s", drop: 3}, func(l *Latency) float64 { return l.Reached }, medianOf},
		{column{title: "count\na run", drop: 7}, of(func(l *Latency) int64 { return l.Count }), medianOf},
		{column{title: "min\nns", drop: 5}, of(func(l *Latency) int64 { return l.Min }), leastOf},
		{column{title: "50th\nns"}, latencyP50, medianOf},
		{column{title: "90th\nns", drop: 4}, of(func(l *Latency) int64 { return l.P90 }), medianOf},
		{column{title: "95th\nns", drop: 6}, of(func(l *Latency) int64 { return l.P95 }), medianOf},
		{column{title: "99th\nns"}, latencyP99, medianOf},
		{column{title: "99.9th\nns", drop: 2}, of(func(l *Latency) int64 { return l.P999 }), medianOf},
		{column{title: "max\nns", drop: 1}, of(func(l *Latency) int64 { return l.Max }), mostOf},
		{column{title: "MAD\nns", drop: 5}, of(func(l *Latency) int64 { return l.MAD }), medianOf},
		{column{title: "calibration\n50th ns", drop: 4}, of(func(l *Latency) int64 { return l.CalibrationP50 }), medianOf},
		{column{title: "net\n50th ns"}, of(func(l *Latency) int64 { return l.NetP50 }), medianOf},
	}
}

type latencyColumn struct {
	column
	metric latencyMetric
	choose func(Summary) float64
}

func medianOf(s Summary) float64 { return s.Median }
func leastOf(s Summary) float64  { return s.Min }
func mostOf(s Summary) float64   { return s.Max }

// latencyGrid has a row for each cell, probe and stretch.
func latencyGrid(b block) grid {
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "probe", left: true},
		{title: "stretch", left: true},
		{title: "rate\n/s", drop: 6},
	}}
	columns := latencyColumns()
	for _, c := range columns {
		g.columns = append(g.columns, c.column)
	}
	for _, c := range b.cells {
		for _, k := range lookupKinds(c.runs) {
			row := []string{plain(c.name), plain(k.probe), plain(k.stretch), k.asked()}
			for _, col := range columns {
				row = append(row, fixed(col.choose(ofLatency(c.runs, k, col.metric)), 0))
			}
			g.rows = append(g.rows, row)
		}
	}
	return g
}

// asked is the rate asked for.
func (k lookupKind) asked() string {
	if k.rate == 0 {
		return "max"
	}
	return strconv.FormatInt(k.rate, 10)
}

// latencyNotes are what the table has no room for.
func latencyNotes(b block) []string {
	var notes []string
	kinds := lookupKinds(b.samples())
	if slices.ContainsFunc(kinds, func(k lookupKind) bool { return k.rate == 0 }) {
		notes = append(notes, "rate max is a closed loop: a lookup is asked when the one before is answered, so a stall is in the time of one lookup and not of those that it held up")
	}
	for _, k := range kinds {
		_, size, batched := strings.Cut(k.probe, "/")
		if note := fmt.Sprintf("%s: each value is the mean of %s lookups timed together", plain(k.probe), plain(size)); batched && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	for _, c := range b.cells {
		if text := depthText(c.runs); text != "" {
			notes = append(notes, plain(c.name)+": "+text)
		}
	}
	return notes
}

// depthText is the depth of the tables of the first run that has one; it is the
// same in all runs of a cell but for what a random layout makes of other seeds.
func depthText(runs []Run) string {
	for i := range runs {
		var texts []string
		for _, d := range runs[i].Depths {
			texts = append(texts, d.String())
		}
		if texts != nil {
			return strings.Join(texts, ", ")
		}
	}
	return ""
}

// latency writes what the lookups of a command took, nothing where there were none.
func (p *page) latency(b block) {
	g := latencyGrid(b)
	p.grid(g)
	if len(g.rows) == 0 {
		return
	}
	for _, n := range latencyNotes(b) {
		p.paragraph(n, 2, none)
	}
	if p.opts.Histograms {
		p.histograms(b)
	}
}

// histograms writes that of each row, from the run whose median is the median of
// the runs.
func (p *page) histograms(b block) {
	for _, c := range b.cells {
		for _, k := range lookupKinds(c.runs) {
			run := typicalRun(c.runs, k)
			o := HistogramOptions{Color: p.opts.Color, ASCII: p.opts.ASCII, Width: p.opts.Width}
			if len(run.Depths) > 0 {
				o.Depth = &run.Depths[0]
			}
			p.gap()
			p.paragraph(fmt.Sprintf("%s, run %d, whose 50th is the median of %s", plain(c.name), run.Run, count(len(c.runs), "run", "runs")), 2, bold)
			if err := WriteHistogram(&p.buf, *run.latency(k), o); err != nil {
				p.paragraph(err.Error(), 2, red)
			}
		}
	}
}

// typicalRun is the run of the median, the lower of the two where they are even.
func typicalRun(runs []Run, k lookupKind) *Run {
	var with []*Run
	for i := range runs {
		if runs[i].latency(k) != nil {
			with = append(with, &runs[i])
		}
	}
	slices.SortStableFunc(with, func(a, b *Run) int { return int(a.latency(k).P50 - b.latency(k).P50) })
	return with[(len(with)-1)/2]
}
