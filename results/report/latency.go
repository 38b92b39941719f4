package report

import (
	"fmt"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// latency has two charts for each cell and probe, with a curve for each stretch, or where
// there are several sides one for each stretch too, with a curve for each side.
func (w *work) latency() (percentiles, histograms []*chart.Chart) {
	var order []string
	curves := map[string][]chart.LatencyCurve{}
	for _, cell := range w.cells() {
		for i := range w.Sections {
			s := &w.Sections[i]
			for _, set := range results.Lookups(s.runsOf(cell)) {
				title := results.Plain(cell) + ", " + set.Probe
				if set.Rate > 0 {
					title += fmt.Sprintf(" at %d/s", set.Rate)
				}
				key := chart.Key{Label: set.Stretch}
				if w.several() {
					title += ", " + set.Stretch
					key = s.key()
				} else {
					key.Ink = len(curves[title]) % chart.Inks
				}
				counts, err := chart.Merge(set)
				if err != nil {
					continue // the tables have its percentiles all the same
				}
				if curves[title] == nil {
					order = append(order, title)
				}
				curves[title] = append(curves[title], chart.LatencyCurve{Key: key, Counts: counts})
			}
		}
	}
	for _, title := range order {
		percentiles = append(percentiles, chart.Percentiles(title, curves[title]))
		histograms = append(histograms, chart.Histogram(title, curves[title]))
	}
	return percentiles, histograms
}
