package results

import (
	"bytes"
	"encoding/json"
	"io"
)

// A compareLine is a row of EncodeComparison. Times are in ns; null is unknown.
type compareLine struct {
	Row      string       `json:"row"` // "comparison", "geometric mean" or "function"
	Command  string       `json:"command"`
	Cell     string       `json:"cell"`
	Phase    string       `json:"phase"`
	Metric   string       `json:"metric"`
	Function string       `json:"function,omitempty"` // of a row "function": which
	Per      string       `json:"per,omitempty"`      // and what an operation is called
	Spec     string       `json:"spec"`
	Forced   []string     `json:"forced,omitempty"` // why the row would be refused without --force
	Unit     string       `json:"unit"`
	Base     compareSide  `json:"base"`
	New      compareSide  `json:"new"`
	Delta    compareDelta `json:"delta"`

	P           *float64 `json:"p"`
	Corrected   *float64 `json:"p_corrected"`
	Correction  string   `json:"correction"`
	Comparisons int      `json:"comparisons"`
	Alpha       float64  `json:"alpha"`
	Result      Result   `json:"result"`

	Reachable       bool     `json:"reachable"`
	SamplesToReach  int      `json:"samples_to_reach"`
	Detectable      *float64 `json:"detectable"`
	FailAbove       *float64 `json:"fail_above"`
	SamplesForLimit *int     `json:"samples_for_limit"`
	AboveLimit      bool     `json:"above_limit"`
}

type compareSide struct {
	Name    string   `json:"name"`
	Samples int      `json:"samples"`
	Median  *float64 `json:"median_ns"`
	Lo      *float64 `json:"lo_ns"`
	Hi      *float64 `json:"hi_ns"`
	MAD     *float64 `json:"mad_ns"`
	Min     *float64 `json:"min_ns"`
	Max     *float64 `json:"max_ns"`
}

type compareDelta struct {
	Estimate *float64 `json:"estimate"`
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	Unit     string   `json:"unit"` // "fraction", "ns", "points" of percent or "calls"
}

// EncodeComparison writes one line of JSON for every row, for every geometric
// mean, and for every function that was compared; docs/compare.md describes the fields. The error is w's.
func EncodeComparison(w io.Writer, c Comparison) error {
	enc := comparisonEncoder{w}
	for _, t := range compareTables(c) {
		for _, r := range t.rows {
			if err := enc.Encode(lineOf(c, r)); err != nil {
				return err
			}
		}
		if m, ok := geometricMeanOf(t.rows); ok {
			if err := enc.Encode(geometricLine(c, t.rows, m)); err != nil {
				return err
			}
		}
	}
	for _, r := range c.Functions {
		l := lineOf(c, r)
		l.Row, l.Comparisons, l.FailAbove = "function", len(c.Functions), nil
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// A comparisonEncoder writes a line in one call.
type comparisonEncoder struct{ w io.Writer }

func (e comparisonEncoder) Encode(l compareLine) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	_, err := e.w.Write(escapeJSON(line.Bytes()))
	return err
}

func lineOf(c Comparison, r CompareRow) compareLine {
	l := compareLine{
		Row: "comparison", Command: r.Command, Cell: r.Cell, Phase: r.Phase, Metric: r.Metric, Function: r.Function, Per: r.Per, Spec: r.Spec, Forced: r.Forced, Unit: r.Unit,
		Base: sideLine(c.Base.Name, r.BaseSummary), New: sideLine(r.New, r.NewSummary),
		Delta: compareDelta{orNull(r.Delta.Estimate), orNull(r.Delta.Lo), orNull(r.Delta.Hi), "ns"},
		P:     orNull(r.P), Corrected: orNull(r.Corrected), Correction: Correction, Comparisons: len(c.Rows), Alpha: c.Alpha, Result: r.Result,
		Reachable: r.Reachable, SamplesToReach: r.SamplesToReach, Detectable: orNull(r.Detectable), FailAbove: c.FailAbove, AboveLimit: r.AboveLimit,
	}
	switch {
	case r.Delta.Relative:
		l.Delta.Unit = "fraction"
	case r.Metric == metricCalls:
		l.Delta.Unit = "calls"
	case figureUnit(r.Metric) != "ns":
		l.Delta.Unit = "points"
	}
	if r.SamplesForLimit != 0 {
		l.SamplesForLimit = &r.SamplesForLimit
	}
	return l
}

func sideLine(name string, s Summary) compareSide {
	return compareSide{name, s.N, orNull(s.Median), orNull(s.Lo), orNull(s.Hi), orNull(s.MAD), orNull(s.Min), orNull(s.Max)}
}

// geometricLine takes the first row of the table for what all its rows share.
func geometricLine(c Comparison, rows []CompareRow, m GeometricMean) compareLine {
	r := rows[0]
	var forced []string
	for _, row := range rows {
		forced = union(forced, row.Forced)
	}
	return compareLine{
		Row: "geometric mean", Command: r.Command, Metric: r.Metric, Spec: r.Spec, Forced: forced, Unit: r.Unit,
		Base: compareSide{Name: c.Base.Name, Samples: m.Rows, Median: orNull(m.Base)}, New: compareSide{Name: r.New, Samples: m.Rows, Median: orNull(m.New)},
		Delta:      compareDelta{Estimate: orNull(m.Delta), Unit: "fraction"},
		Correction: Correction, Comparisons: len(c.Rows), Alpha: c.Alpha,
	}
}

// orNull: JSON has no infinities.
func orNull(x float64) *float64 {
	if !isFinite(x) {
		return nil
	}
	return &x
}
