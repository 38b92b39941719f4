package results

import "slices"

// ComparisonTables are those of WriteComparison, the result beside the delta.
func ComparisonTables(c Comparison) []Table {
	var tables []Table
	for _, t := range compareTables(c) {
		table := t.grid().table(t.subject(), nil)
		table.Spec = plain(t.rows[0].Spec)
		table.Columns = besideDelta(table.Columns)
		for i := range table.Rows {
			table.Rows[i] = besideDelta(table.Rows[i])
			result := Unshown // the geometric mean
			if i < len(t.rows) {
				result = t.rows[i].Result
			}
			table.Results = append(table.Results, result)
		}
		tables = append(tables, table)
	}
	return tables
}

// besideDelta moves the last column behind the delta: what scrolls does not end with
// what matters.
func besideDelta[T any](columns []T) []T {
	const delta = 6
	last := len(columns) - 1
	return slices.Insert(slices.Clone(columns[:last]), delta+1, columns[last])
}

// ChangedTable is the rows of a comparison that show a change, the slower ones first;
// it has none where nothing is shown.
func ChangedTable(c Comparison) Table {
	t := Table{Title: "What differs", Columns: []TableColumn{{"figure", true}, {"new", true}, {"base", false}, {"new", false}, {"delta", false}, {"", true}, {"95 % interval of delta", false}, {"p", false}}}
	for _, result := range []Result{Slower, Faster} {
		for _, r := range withResult(c.Rows, result) {
			t.Rows = append(t.Rows, []string{r.Name(), plain(r.New), r.figureText(r.BaseSummary.Median), r.figureText(r.NewSummary.Median),
				deltaText(r), resultText(r), deltaInterval(r), pText(r.Corrected)})
			t.Results = append(t.Results, result)
		}
	}
	if len(c.New) > 1 {
		return t
	}
	const new = 1
	t.Columns = slices.Delete(t.Columns, new, new+1)
	for i := range t.Rows {
		t.Rows[i] = slices.Delete(t.Rows[i], new, new+1)
	}
	return t
}

// figureText is a figure of the row with its unit.
func (r *CompareRow) figureText(x float64) string {
	if u := figureUnit(r.Metric); u != "ns" {
		return fixed(x, 3) + nbsp + u
	}
	return duration(x)
}

// Verdicts returns one sentence for each new side.
func (c Comparison) Verdicts() []string { return verdicts(c) }

// Legend says how the tables of the comparison came about and what they could not
// have shown.
func (c Comparison) Legend() []string { return append([]string{legend(c)}, limitNotes(c)...) }
