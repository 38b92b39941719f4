package report

import (
	"fmt"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// A lookupCurve is what becomes a curve of a chart.
type lookupCurve struct {
	key chart.Key
	set results.LookupSet
}

// latency has two charts for each cell and probe, with a curve for each stretch, or where
// there are several sides one for each stretch too, with a curve for each side. Notes
// are of histograms that cannot be read.
func (w *work) latency() (percentiles, histograms []*chart.Chart, notes []string) {
	titles, curves := w.lookupCurves()
	for i, title := range titles {
		if i >= maxCharts { // counted, not drawn
			percentiles, histograms = append(percentiles, &chart.Chart{}), append(histograms, &chart.Chart{})
			continue
		}
		var read []chart.LatencyCurve
		for _, c := range curves[title] {
			counts, err := chart.Merge(c.set)
			if err != nil {
				notes = append(notes, fmt.Sprintf("Not drawn: %s: %v.", title, err))
				continue
			}
			read = append(read, chart.LatencyCurve{Key: c.key, Counts: counts})
		}
		if read != nil {
			percentiles, histograms = append(percentiles, chart.Percentiles(title, read)), append(histograms, chart.Histogram(title, read))
		}
	}
	return percentiles, histograms, notes
}

// lookupCurves lists the curves by the title of their chart.
func (w *work) lookupCurves() (titles []string, curves map[string][]lookupCurve) {
	curves = map[string][]lookupCurve{}
	for _, cell := range w.cells() {
		for i := range w.Sections {
			s := &w.Sections[i]
			for _, set := range results.Lookups(s.runsOf(cell)) {
				title := results.Plain(cell) + ", " + set.Probe
				if set.Rate > 0 {
					title += fmt.Sprintf(" at %d/s", set.Rate)
				}
				key := s.key()
				if w.several() {
					title += ", " + set.Stretch
				} else {
					key = chart.Key{Label: set.Stretch, Ink: len(curves[title]) % chart.Inks}
				}
				if curves[title] == nil {
					titles = append(titles, title)
				}
				curves[title] = append(curves[title], lookupCurve{key, set})
			}
		}
	}
	return titles, curves
}
