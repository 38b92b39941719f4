package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// growth has a chart for each phase that was measured at several sizes, and one for
// each probe.
func (w *work) growth() []*chart.Chart {
	var charts []*chart.Chart
	for _, phase := range w.phases() {
		var series []chart.GrowthSeries
		var fits []string
		for i := range w.Sections {
			s := &w.Sections[i]
			for _, g := range s.Growth {
				if g.Phase != phase || slices.Min(g.Sizes) == slices.Max(g.Sizes) {
					continue
				}
				one := chart.GrowthSeries{Key: s.key(), Sizes: g.Sizes, Times: g.Times}
				if g.Fitted {
					one.Fit = &g.Fit
					text := fmt.Sprintf("n^%.2f (%.2f to %.2f)", g.Fit.Exponent, g.Fit.Lo, g.Fit.Hi)
					if w.several() {
						text = s.Side + " " + text
					}
					fits = append(fits, text)
				}
				series = append(series, one)
			}
		}
		if len(series) == 0 {
			continue
		}
		caption := "Too few sizes for a fit, which takes 3; the line joins the medians."
		if fits != nil {
			caption = "Grows as " + strings.Join(fits, ", ") + "."
		}
		c := chart.Growth(results.Plain(phase), caption, "routes or subnets n", series)
		c.Explain = "Dots are runs; both axes are logarithmic. The line is a power of the size n, fitted by least squares; its exponent, with a 95 % interval, is 1 where the cost is linear and 2 where it is quadratic."
		charts = append(charts, c)
	}
	return append(charts, w.lookupGrowth()...)
}

func (w *work) lookupGrowth() []*chart.Chart {
	var charts []*chart.Chart
	var order []string
	series := map[string][]chart.GrowthSeries{}
	for i := range w.Sections {
		s := &w.Sections[i]
		of := map[string]int{}
		for _, c := range s.Cells {
			size := tableSize(c.Runs)
			for _, set := range results.Lookups(c.Runs) {
				if size == 0 || set.Stretch != "before" && set.Stretch != "rest" {
					continue
				}
				title := "lookup by " + set.Probe + ", p50 " + set.Stretch
				at, ok := of[title]
				if !ok {
					if series[title] == nil {
						order = append(order, title)
					}
					at = len(series[title])
					of[title] = at
					series[title] = append(series[title], chart.GrowthSeries{Key: s.key()})
				}
				g := &series[title][at]
				for _, l := range set.Latencies {
					if l.P50 > 0 {
						g.Sizes, g.Times = append(g.Sizes, float64(size)), append(g.Times, float64(l.P50))
					}
				}
			}
		}
	}
	for _, title := range order {
		kept := slices.DeleteFunc(series[title], func(g chart.GrowthSeries) bool {
			return len(g.Sizes) == 0 || slices.Min(g.Sizes) == slices.Max(g.Sizes)
		})
		if len(kept) > 0 {
			c := chart.Growth(title, "", "routes in the table", kept)
			c.Explain = "Of lookups, which grow by no power of the size, the line joins the medians."
			charts = append(charts, c)
		}
	}
	return charts
}

// tableSize is the number of routes that a cell's lookups had, 0 where it is not
// known, or not the only parameter by which cells differ.
func tableSize(runs []results.Run) int64 {
	var spec struct {
		Count  int64 `json:"count"`
		Lookup struct {
			Readers int `json:"readers"`
		} `json:"lookup"`
		Rules int `json:"rules"`
	}
	if len(runs) == 0 || json.Unmarshal(runs[0].Spec, &spec) != nil || spec.Lookup.Readers > 1 || spec.Rules > 0 {
		return 0
	}
	return spec.Count
}
