package report

import (
	"fmt"
	"slices"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// strips has a chart for each phase, with a row for each cell and side.
func (w *work) strips() []*chart.Chart {
	const maxRows = 30
	var charts []*chart.Chart
	for _, phase := range w.phases() {
		var rows []chart.StripRow
		for _, cell := range w.cells() {
			for i := range w.Sections {
				s := &w.Sections[i]
				runs := s.runsOf(cell)
				row := chart.StripRow{Label: results.Plain(cell), Ink: s.Ink, Summary: results.Of(runs, phase, results.WallTime)}
				if w.several() {
					row.Label += ", " + s.Side
				}
				for k := range runs {
					if p := runs[k].Phase(phase); p != nil {
						row.Values = append(row.Values, results.WallTime(p))
					}
				}
				if len(row.Values) > 0 {
					rows = append(rows, row)
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		title := results.Plain(phase)
		if more := len(rows) - maxRows; more > 0 {
			title += fmt.Sprintf(" (first %d of %d rows)", maxRows, len(rows))
			rows = rows[:maxRows]
		}
		charts = append(charts, chart.Strip(title, rows))
	}
	return charts
}

func (w *work) phases() []string {
	var names []string
	for _, s := range w.Sections {
		for _, p := range s.Phases {
			if !slices.Contains(names, p) {
				names = append(names, p)
			}
		}
	}
	return names
}

func (w *work) cells() []string {
	var names []string
	for _, s := range w.Sections {
		for _, c := range s.Cells {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// runsOf are the samples of a cell.
func (s *sideSection) runsOf(cell string) []results.Run {
	for _, c := range s.Cells {
		if c.Name == cell {
			return c.Runs
		}
	}
	return nil
}
