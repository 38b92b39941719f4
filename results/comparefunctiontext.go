package results

import (
	"fmt"
	"slices"
)

// maxUnshown is how many functions of a phase are listed of which nothing is shown.
const maxUnshown = 5

// functionTables writes a table for each phase of which functions were compared.
func (p *page) functionTables(c Comparison) {
	for rows := c.Functions; len(rows) > 0; {
		n := 1
		for n < len(rows) && samePhase(&rows[0], &rows[n]) {
			n++
		}
		p.functionTable(c, rows[:n])
		rows = rows[n:]
	}
}

func samePhase(a, b *CompareRow) bool {
	return a.New == b.New && a.Command == b.Command && a.Cell == b.Cell && a.Spec == b.Spec && a.Phase == b.Phase && a.Metric == b.Metric
}

// severalSpecs reports whether a row's cell has other parameters elsewhere, which its title
// then has to name. Elsewhere the tables above do.
func severalSpecs(c Comparison, r *CompareRow) bool {
	return slices.ContainsFunc(c.Functions, func(o CompareRow) bool {
		return o.Command == r.Command && o.Cell == r.Cell && o.Spec != r.Spec
	})
}

func (p *page) functionTable(c Comparison, rows []CompareRow) {
	r := &rows[0]
	title := fmt.Sprintf("%s %s, %s, ", plain(r.Command), plain(r.Cell), plain(r.Phase))
	if r.Metric == metricCalls {
		title += "calls per " + plain(r.Per)
	} else {
		title += "a function's own time per " + plain(r.Per) + " (share of the profile times CPU time)"
	}
	if len(c.New) > 1 {
		title += ", new: " + plain(r.New)
	}
	if severalSpecs(c, r) {
		title += " (" + plain(r.Spec) + ")"
	}
	shown := slices.IndexFunc(rows, func(r CompareRow) bool { return r.Result == Unshown })
	if shown < 0 {
		shown = len(rows)
	}
	listed := rows[:min(len(rows), shown+maxUnshown)]
	p.gap()
	p.paragraph(title, 2, bold)
	lines, headings, note := functionGrid(listed).clipped(p.opts.Width)
	for i, l := range lines {
		if row := i - headings; row < 0 {
			p.line(l, bold)
		} else {
			p.line(l, resultColour(listed[row].Result))
		}
	}
	p.note(note)
	switch more := len(rows) - len(listed); {
	case more > 0:
		p.note(fmt.Sprintf("(and %s of which nothing is shown)", count(more, "function", "functions")))
	case shown == 0:
		p.note("(no function is shown to have changed, which is no proof that none has)")
	}
}

func functionGrid(rows []CompareRow) grid {
	name, unit := "function", "\nns"
	if rows[0].Metric == metricCalls {
		unit = ""
	}
	g := grid{columns: []column{
		{title: name, left: true},
		{title: "base" + unit},
		{title: "new" + unit},
		{title: "delta" + unit},
		{title: "95 % interval\nof delta", drop: 3},
		{title: "p", drop: 2},
		{title: "samples", drop: 5},
		{title: "finds\nfrom", drop: 4},
		{title: "", left: true},
	}}
	digits := functionDecimals(rows)
	for _, r := range rows {
		delta, interval := string(Unshown), "-"
		if r.Result != Unshown {
			delta = signedText(r.Delta.Estimate, digits)
		}
		if r.Delta.HasInterval() {
			interval = signedText(r.Delta.Lo, digits) + " to " + signedText(r.Delta.Hi, digits)
		}
		g.rows = append(g.rows, []string{
			plain(r.Function), fixed(r.BaseSummary.Median, digits), fixed(r.NewSummary.Median, digits), delta, interval,
			pText(r.Corrected), samplesText(r), findsText(r), functionResult(r),
		})
	}
	return replaceSpaces(g)
}

// functionDecimals serves the largest figure.
func functionDecimals(rows []CompareRow) int {
	largest := 0.0
	for _, r := range rows {
		largest = max(largest, r.BaseSummary.Median, r.NewSummary.Median)
	}
	if rows[0].Metric == metricCalls {
		return 3
	}
	return nsDecimals(largest)
}

// functionResult: a function that is called more often is not slower.
func functionResult(r CompareRow) string {
	switch {
	case r.Metric != metricCalls || r.Result == Unshown:
		return resultText(r)
	case r.Result == Slower:
		return "more"
	}
	return "fewer"
}

// functionLegend says how the tables of functions came about.
func functionLegend(c Comparison) []string {
	if len(c.Functions) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Functions: those of the largest share of all runs of both sides, at most %d a phase. A sample is of a profiled run: the share there times "+
		"the CPU time of an operation in the run beside it that was not. A delta is the median of the differences of new and base; p is corrected for %s (%s), apart from "+
		"the tables above. They break no limit.", maxCompared, count(len(c.Functions), "comparison of functions", "comparisons of functions"), Correction)}
}
