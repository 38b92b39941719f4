package results

import (
	"fmt"
	"math"
	"strings"
)

// A compareTable is the rows of one metric of one workload of one new side.
type compareTable struct {
	rows  []CompareRow
	named bool // there are several new sides
}

// compareTables splits the rows, which it keeps in order.
func compareTables(c Comparison) []compareTable {
	type key struct{ new, command, spec, metric string }
	var tables []compareTable
	index := map[key]int{}
	for _, r := range c.Rows {
		k := key{r.New, r.Command, r.Spec, r.Metric}
		i, ok := index[k]
		if !ok {
			i = len(tables)
			index[k] = i
			tables = append(tables, compareTable{named: len(c.New) > 1})
		}
		tables[i].rows = append(tables[i].rows, r)
	}
	return tables
}

func (t compareTable) title() string {
	title := t.subject()
	if spec := t.rows[0].Spec; spec != "" {
		title += " (" + plain(spec) + ")"
	}
	return title
}

// subject is the title without the parameters.
func (t compareTable) subject() string {
	r := &t.rows[0]
	subject := plain(r.Command) + ", " + metricTitle(r.Metric)
	if t.named {
		subject += ", new: " + plain(r.New)
	}
	return subject
}

// grid lays the rows out, and below them their geometric mean.
func (t compareTable) grid() grid {
	u, digits := t.unit()
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "phase", left: true},
		{title: "base\n" + u.name},
		{title: "95 % interval\n" + u.name, drop: 6},
		{title: "new\n" + u.name},
		{title: "95 % interval\n" + u.name, drop: 6},
		{title: "delta"},
		{title: "95 % interval\nof delta", drop: 3},
		{title: "p", drop: 2},
		{title: "samples", drop: 5},
		{title: "finds\nfrom", drop: 4},
		{title: "", left: true},
	}}
	timeText := func(ns float64) string { return fixed(ns/u.ns, digits) }
	base, new := t.intervals(timeText)
	for i, r := range t.rows {
		g.rows = append(g.rows, []string{
			plain(r.Cell), plain(r.Phase), timeText(r.BaseSummary.Median), base[i], timeText(r.NewSummary.Median), new[i],
			deltaText(r), deltaInterval(r), pText(r.Corrected), samplesText(r), findsText(r), resultText(r),
		})
	}
	if m, ok := geometricMeanOf(t.rows); ok {
		g.rows = append(g.rows, []string{"geometric", "mean", timeText(m.Base), "", timeText(m.New), "", percentText(m.Delta), "", "", "", "", ""})
	}
	return replaceSpaces(g)
}

// replaceSpaces: a grid's lines are not wrapped, which is what the spaces that
// do not break are for.
func replaceSpaces(g grid) grid {
	for _, row := range g.rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], nbsp, " ")
		}
	}
	return g
}

// figureUnit is the unit of a metric's figures.
func figureUnit(metric string) string {
	if metric == metricLate {
		return "%"
	}
	return "ns"
}

// unit chooses the unit by the longest row, as the table of phases does.
func (t compareTable) unit() (unit, int) {
	if u := figureUnit(t.rows[0].Metric); u != "ns" {
		return unit{name: u, ns: 1}, 3
	}
	var rows []phaseRow
	for _, r := range t.rows {
		rows = append(rows, phaseRow{wall: r.BaseSummary}, phaseRow{wall: r.NewSummary})
	}
	return tableUnit(rows)
}

func (t compareTable) intervals(timeText func(float64) string) (base, new []string) {
	var b, n []phaseRow
	for _, r := range t.rows {
		b, n = append(b, phaseRow{wall: r.BaseSummary}), append(n, phaseRow{wall: r.NewSummary})
	}
	return intervalTexts(b, timeText), intervalTexts(n, timeText)
}

func deltaText(r CompareRow) string {
	switch {
	case r.Result == Unshown:
		return string(Unshown)
	case r.Delta.Relative:
		return percentText(r.Delta.Estimate)
	}
	if figureUnit(r.Metric) != "ns" {
		return signedText(r.Delta.Estimate, 3) + nbsp + "points"
	}
	u := unitOf(r.Delta.Estimate)
	return signedText(r.Delta.Estimate/u.ns, decimals(r.Delta.Estimate/u.ns)) + nbsp + u.name
}

func deltaInterval(r CompareRow) string {
	d := r.Delta
	switch {
	case !d.HasInterval():
		return "-"
	case d.Relative:
		return signedText(100*d.Lo, 1) + " to " + signedText(100*d.Hi, 1) + " %"
	case figureUnit(r.Metric) != "ns":
		return signedText(d.Lo, 3) + " to " + signedText(d.Hi, 3) + " points"
	}
	u := unitOf(max(math.Abs(d.Lo), math.Abs(d.Hi)))
	n := decimals(max(math.Abs(d.Lo), math.Abs(d.Hi)) / u.ns)
	return signedText(d.Lo/u.ns, n) + " to " + signedText(d.Hi/u.ns, n) + " " + u.name
}

func pText(p float64) string {
	switch {
	case p < 0.0001:
		return "<0.0001"
	case p == 1:
		return "1"
	}
	return fixed(p, 4)
}

// samplesText is e.g. "6 boots", or "6+5 boots" where the sides differ.
func samplesText(r CompareRow) string {
	text := fmt.Sprint(r.BaseSummary.N)
	if r.BaseSummary.N != r.NewSummary.N {
		text += fmt.Sprintf("+%d", r.NewSummary.N)
	}
	return text + " " + r.Unit + "s"
}

func findsText(r CompareRow) string {
	if !isFinite(r.Detectable) {
		return "-"
	}
	return fixed(100*r.Detectable, 1) + " %"
}

func resultText(r CompareRow) string {
	switch {
	case r.AboveLimit:
		return string(r.Result) + " !"
	case r.Result != Unshown:
		return string(r.Result)
	case !r.Reachable:
		return "too few"
	}
	return ""
}

// A GeometricMean is that of all rows of one metric of one workload whose figures
// are above zero, whatever they show.
type GeometricMean struct {
	Base, New float64 // of the medians, ns
	Delta     float64 // of the rows' deltas, as a fraction
	Rows      int
}

// geometricMeanOf takes at least two rows.
func geometricMeanOf(rows []CompareRow) (m GeometricMean, ok bool) {
	var base, new, delta float64
	for _, r := range rows {
		if !r.Delta.Relative {
			continue
		}
		base += math.Log(r.BaseSummary.Median)
		new += math.Log(r.NewSummary.Median)
		delta += math.Log1p(r.Delta.Estimate)
		m.Rows++
	}
	n := float64(m.Rows)
	m.Base, m.New, m.Delta = math.Exp(base/n), math.Exp(new/n), math.Expm1(delta/n)
	return m, m.Rows > 1
}
