package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
	"fibchurn/results/trend"
)

// trends are the series of the page.
type trends struct {
	Series, Changed int
	Sided           bool // series have sides
	Changes         []changeRow
	Group           group
}

// A changeRow is a change, for the table of them.
type changeRow struct {
	Night, What, Side, Before, After, Ratio, P, Kernels string
	slower                                              bool
}

// Slower is for the template.
func (r changeRow) Slower() bool { return r.slower }

// newTrends is nil where there is no series.
func newTrends(all []trend.Series) *trends {
	if len(all) == 0 {
		return nil
	}
	t := &trends{Series: len(all), Sided: slices.ContainsFunc(all, func(s trend.Series) bool { return s.Side != "" })}
	room := maxCharts
	works := work{room: &room}
	var order []string
	lines := map[string][]chart.TrendLine{}
	var sides []string
	for _, s := range all {
		if !slices.Contains(sides, s.Side) {
			sides = append(sides, s.Side)
		}
	}
	slices.SortStableFunc(sides, func(a, b string) int {
		switch {
		case a == base && b != base:
			return -1
		case b == base && a != base:
			return 1
		}
		return 0
	})
	for _, s := range all {
		title := what(s)
		key := strings.Join([]string{title, s.Spec}, "\x00")
		if lines[key] == nil {
			order = append(order, key)
		}
		lines[key] = append(lines[key], chart.TrendLine{Key: chart.Key{Label: s.Side, Ink: slices.Index(sides, s.Side) % chart.Inks}, Series: s})
		if len(s.Changes) > 0 {
			t.Changed++
		}
		for _, c := range s.Changes {
			t.Changes = append(t.Changes, newChangeRow(s, c))
		}
	}
	slices.SortStableFunc(t.Changes, func(a, b changeRow) int { return cmp.Compare(b.Night, a.Night) })
	slices.SortStableFunc(order, func(a, b string) int { return changed(lines[b]) - changed(lines[a]) })
	var charts []*chart.Chart
	for _, key := range order {
		slices.SortStableFunc(lines[key], func(a, b chart.TrendLine) int { return a.Key.Ink - b.Key.Ink })
		title, _, _ := strings.Cut(key, "\x00")
		charts = append(charts, chart.Trend(title, "", lines[key]))
	}
	works.addGroup("", charts, "Dots are the medians of a night (noon to noon, UTC), the bars their 95 % intervals. Where a series changed, a dashed line says when and by how much, and the levels are drawn. Series with changes come first.")
	t.Group = works.Groups[0]
	return t
}

func changed(lines []chart.TrendLine) int {
	for _, l := range lines {
		if len(l.Series.Changes) > 0 {
			return 1
		}
	}
	return 0
}

func what(s trend.Series) string {
	return fmt.Sprintf("%s %s, %s, %s", s.Command, s.Cell, s.Figure, s.Metric)
}

func newChangeRow(s trend.Series, c trend.Change) changeRow {
	from, to := s.Points[c.Index-1], s.Points[c.Index]
	r := changeRow{
		Night: to.Night.Format("2006-01-02"), What: what(s), Side: s.Side,
		Before: results.DurationText(c.Before), After: results.DurationText(c.After),
		Ratio: fmt.Sprintf("%+.1f %%", 100*(c.Ratio()-1)), P: fmt.Sprintf("%.2g", c.P), slower: c.After > c.Before,
	}
	if from.Kernel != to.Kernel {
		r.Kernels = from.Kernel + " to " + to.Kernel
	}
	return r
}
