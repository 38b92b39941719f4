package report

import (
	"fmt"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// A verdict is the comparison of the sides.
type verdict struct {
	Base      results.Side
	New       []results.Side
	Sentences []string
	Deltas    *group        // what differs, or where it is little, all; nil: nothing with a ratio
	Refused   string        // why there is none
	Changed   results.Table // where there are too many rows to be read
	Tables    []results.Table
	Folded    int // rows of Tables where they are to be unfolded first
	Legend    []string
	Warnings  []string
}

// readable is how many rows of a comparison stand on the page unfolded.
const readable = 20

// newVerdict is nil where there are no sides to compare.
func newVerdict(runs []results.Run, s sides, opts results.CompareOptions) *verdict {
	if len(s.groups) < 2 {
		return nil
	}
	c, err := results.Compare(s.groups, opts)
	if err != nil {
		return &verdict{Refused: fmt.Sprintf("The sides are not compared: %s.", results.Plain(err.Error()))}
	}
	v := &verdict{Base: c.Base, New: c.New, Sentences: c.Verdicts(), Tables: results.ComparisonTables(c), Legend: c.Legend()}
	if len(c.Rows) > readable {
		v.Changed, v.Folded = results.ChangedTable(c), len(c.Rows)
	}
	v.Deltas = deltas(c, s, v.Folded > 0)
	for _, w := range c.Warnings {
		text := w.Text
		if w.Kind != "run" {
			text = w.Kind + ": " + text
		}
		v.Warnings = append(v.Warnings, results.Plain(text))
	}
	return v
}

// deltas draws the changes of each new side; of those that show something alone where
// onlyChanged is set.
func deltas(c results.Comparison, s sides, onlyChanged bool) *group {
	g := &group{}
	for _, side := range c.New {
		var rows []chart.DeltaRow
		for _, r := range c.Rows {
			if r.New != side.Name || !r.Delta.Relative || onlyChanged && r.Result == results.Unshown {
				continue
			}
			rows = append(rows, chart.DeltaRow{Label: r.Name(), Ink: s.ink(side.Name), Delta: r.Delta})
		}
		if len(rows) == 0 {
			continue
		}
		title := "Change of " + side.Name
		if len(rows) > maxRows {
			title += fmt.Sprintf(", the first %d of %d", maxRows, len(rows))
			rows = rows[:maxRows]
		}
		one := chart.Deltas(title, rows)
		g.Notes, g.Kept = []string{one.Explain}, append(g.Kept, one)
	}
	if g.Kept == nil {
		return nil
	}
	return g
}

// Left says which runs of a side did not enter.
func (v *verdict) Left(s results.Side) string {
	var why []string
	for _, reason := range []struct {
		n    int
		text string
	}{{s.Partial, "interrupted"}, {s.Failed, "failed their checks"}, {s.Twice, "in the files twice"}} {
		if reason.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", reason.n, reason.text))
		}
	}
	return strings.Join(why, ", ")
}
