package report

import (
	"slices"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// strips has a chart for each phase, with a row for each cell and side; where the cells
// are too far from one another for one axis, one for each cell.
func (w *work) strips() []*chart.Chart {
	var charts []*chart.Chart
	for _, phase := range w.phases() {
		var all []chart.StripRow
		byCell := map[string][]chart.StripRow{}
		for _, cell := range w.cells() {
			byCell[cell] = w.rows(phase, cell)
			all = append(all, byCell[cell]...)
		}
		if len(all) == 0 {
			continue
		}
		if chart.OneAxis(all) && len(all) <= maxRows {
			charts = append(charts, chart.Strip(results.Plain(phase), all))
			continue
		}
		for _, cell := range w.cells() {
			if rows := byCell[cell]; len(rows) > 0 {
				if len(rows) == 1 {
					rows[0].Label = "" // the title says it
				}
				charts = append(charts, chart.Strip(results.Plain(phase)+", "+results.Plain(cell), rows[:min(len(rows), maxRows)]))
			}
		}
	}
	return charts
}

// maxRows is how many rows a chart has at most.
const maxRows = 24

// rows has one for each side.
func (w *work) rows(phase, cell string) []chart.StripRow {
	var rows []chart.StripRow
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
	return rows
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
