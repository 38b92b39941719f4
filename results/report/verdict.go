package report

import (
	"fmt"
	"strings"

	"fibchurn/results"
)

// A verdict is the comparison of the sides.
type verdict struct {
	Base      results.Side
	New       []results.Side
	Sentences []string
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
	for _, w := range c.Warnings {
		text := w.Text
		if w.Kind != "run" {
			text = w.Kind + ": " + text
		}
		v.Warnings = append(v.Warnings, results.Plain(text))
	}
	return v
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
