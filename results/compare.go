package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DefaultAlpha is the significance level where none is asked for.
const DefaultAlpha = 0.05

// CompareOptions say how Compare compares. The zero value is the default.
type CompareOptions struct {
	// Alpha is the chance, at most, that a comparison of equals shows a change in
	// any row. In (0, 1); 0 is DefaultAlpha.
	Alpha float64
	// FailAbove is the change for the worse, as a fraction of base, that is too
	// much; nil is no limit.
	FailAbove *float64
	// Metrics are names of MetricNames; nil is what the command measures
	// (docs/compare.md).
	Metrics []string
	Phases  []string // only these phases, and no latencies; nil is all
	By      string   // key that GroupBy made the groups by; it may differ
	Force   bool     // compare what Compare would refuse, with a warning
}

// A Group is the runs of one side of a comparison.
type Group struct {
	Name string // for people: a file, a kernel, a label
	Runs []Run
}

// A Result is what a row shows.
type Result string

// A cost that shrank is faster, one that grew slower. Unshown is no proof that
// nothing changed.
const (
	Faster  Result = "faster"
	Slower  Result = "slower"
	Unshown Result = "~"
)

// A Comparison sets one or more new sides against a base.
type Comparison struct {
	Base Side
	New  []Side
	Rows []CompareRow
	// Functions compares what profiles and traces tell, the largest changes of a side
	// first, phase by phase. Its p-values are corrected for these rows alone.
	Functions []CompareRow
	// Alpha and FailAbove are those asked for.
	Alpha     float64
	FailAbove *float64
	Unjudged  []Unjudged // of each of New
	Warnings  []Warning
}

// A CompareRow compares one metric of one phase of one cell. Figures are in ns, those
// of shares in %.
type CompareRow struct {
	New     string // name of the new side
	Command string
	Cell    string // "NEW vs BASE" where the sides are cells
	Spec    string // parameters that the runs share, for people
	Phase   string // phase, or the probe and stretch of a latency, or the sort of a transition
	Metric  string // one of MetricNames, or of Functions metricSelf or metricCalls
	// Function is what a row of Functions is about, and Per what an operation is called:
	// "route", "lookup".
	Function, Per string

	Unit                    string  // what a sample is: UnitBoot or UnitRun
	BaseSummary, NewSummary Summary // of the samples
	Delta                   Delta
	P                       float64 // Mann-Whitney, two-sided
	Corrected               float64 // P corrected for all rows of the comparison (Holm)
	Result                  Result
	Reachable               bool     // false: no change, however large, would be shown by so few samples
	SamplesToReach          int      // samples a side with which some change would be
	Detectable              float64  // fraction of base from which on Power of the changes are shown; NaN unknown
	SamplesForLimit         int      // samples a side that show FailAbove as often; 0 unknown or not asked, -1 more than MaxSamples
	AboveLimit              bool     // significantly worse by more than FailAbove
	Forced                  []string // why the row would be refused, of a comparison that was forced, e.g. "CPUs: base has 4, new has 8"

	base, new     []float64 // the samples
	separateBoots bool      // samples are runs of boots that the sides do not share
}

// The units of a sample.
const (
	UnitBoot = "boot"
	UnitRun  = "run"
)

// Compare compares every group with the first. Runs that are no samples are
// counted and left out. Where several
// boots are on both sides a sample is a boot's median, else a run.
//
// The error is an *IncomparableError where the figures of the sides mean
// different things, unless Force is set.
func Compare(groups []Group, opts CompareOptions) (Comparison, error) {
	if opts.Alpha == 0 {
		opts.Alpha = DefaultAlpha
	}
	if len(groups) < 2 {
		return Comparison{}, fmt.Errorf("a comparison takes two groups of runs, there are %d", len(groups))
	}
	c := Comparison{Alpha: opts.Alpha, FailAbove: opts.FailAbove}
	base, baseRuns, baseWatched := newSide(groups[0])
	c.Base = base
	c.Warnings = sideDoubts("base", baseRuns, opts.By)
	for _, g := range groups[1:] {
		side, runs, watched := newSide(g)
		c.New = append(c.New, side)
		known := len(c.Warnings)
		p := pairing{base: baseRuns, new: runs, watchedBase: baseWatched, watchedNew: watched, opts: opts}
		err := c.add(side, &p)
		u := Unjudged{side, failedCells(g.Runs), p.missingCells, p.missingRows}
		c.Unjudged = append(c.Unjudged, u)
		var incomparable *IncomparableError
		if errors.As(err, &incomparable) {
			incomparable.Failed = c.Base.Samples > 0 && u.Failed != nil && !incomparable.Forcible
		}
		if err != nil {
			return Comparison{}, err
		}
		if len(groups) > 2 { // say which new side is meant
			for i := range c.Warnings[known:] {
				w := &c.Warnings[known+i]
				w.Text = plain(side.Name) + ": " + w.Text
			}
		}
	}
	if len(c.Rows) == 0 {
		failed := slices.ContainsFunc(c.Unjudged, func(u Unjudged) bool { return u.Failed != nil })
		return Comparison{}, &IncomparableError{What: "the phases and metrics asked for", Base: "no such figure in common", New: "none", Failed: failed}
	}
	correct(c.Rows, c.Alpha)
	correct(c.Functions, c.Alpha)
	c.judge()
	judgePower(c.Functions, c.Alpha)
	sortFunctions(c.Functions)
	for i := range c.Warnings {
		c.Warnings[i].Text = strings.ReplaceAll(c.Warnings[i].Text, nbsp, " ")
	}
	return c, nil
}

// add takes in one new side.
func (c *Comparison) add(side Side, p *pairing) error {
	base, new, opts := p.base, p.new, p.opts
	if c.Base.Samples == 0 || side.Samples == 0 {
		return &IncomparableError{What: "samples", Base: sampleText(c.Base), New: sampleText(side)}
	}
	if err := p.refuseSameRuns(); err != nil {
		return err
	}
	strands, err := p.strands()
	if err != nil {
		return err
	}
	var rows, functions []CompareRow
	for i := range strands {
		s := &strands[i]
		found, called := s.rows(opts), p.functionRows(s)
		p.missRows(s, found)
		for _, list := range [][]CompareRow{found, called} {
			for j := range list {
				list[j].Forced = s.forced
			}
		}
		rows, functions = append(rows, found...), append(functions, called...)
	}
	p.warnMissing()
	for _, list := range [][]CompareRow{rows, functions} {
		for i := range list {
			list[i].New = side.Name
			if opts.By == "cell" {
				list[i].Cell = side.Name + " vs " + c.Base.Name
			}
		}
	}
	c.Rows = append(c.Rows, rows...)
	c.Functions = append(c.Functions, functions...)
	c.Warnings = append(c.Warnings, p.warnings...)
	c.Warnings = append(c.Warnings, comparisonDoubts(base, new, opts.By)...)
	c.Warnings = append(c.Warnings, sideDoubts("new", new, opts.By)...)
	if slices.ContainsFunc(rows, func(r CompareRow) bool { return r.separateBoots }) {
		c.Warnings = append(c.Warnings, bootWarning(c.Base, side))
	}
	return nil
}

// judge says what each row could have shown, and which break the limit.
func (c *Comparison) judge() {
	d := judgePower(c.Rows, c.Alpha)
	for i := range c.Rows {
		r := &c.Rows[i]
		if c.FailAbove == nil {
			continue
		}
		r.SamplesForLimit = d.samplesFor(*c.FailAbove, logSpread(r.base, r.new))
		r.AboveLimit = r.Result == Slower && r.Delta.Relative && r.Delta.Estimate > *c.FailAbove
	}
}

// judgePower says what each of the rows could have shown.
func judgePower(rows []CompareRow, alpha float64) *detector {
	d := newDetector(alpha / float64(len(rows)))
	for i := range rows {
		r := &rows[i]
		r.Detectable = d.detectable(len(r.base), len(r.new), logSpread(r.base, r.new))
		r.SamplesToReach = samplesToReach(alpha / float64(len(rows)))
	}
	return d
}

// Regressions returns the rows that are significantly worse by more than
// FailAbove.
func (c Comparison) Regressions() []CompareRow {
	var rows []CompareRow
	for _, r := range c.Rows {
		if r.AboveLimit {
			rows = append(rows, r)
		}
	}
	return rows
}

// canFail reports whether a change of the row, if it is large enough, would be
// above a limit: significant, and a fraction of base.
func (r *CompareRow) canFail() bool { return r.Reachable && r.Delta.Relative }

// A BlindError is of a limit that no row could have been above, however large the
// change: a gate that cannot fail must not pass.
type BlindError struct {
	Samples int    // a side that it takes, 0 where the figures have no ratio at all
	Unit    string // UnitBoot or UnitRun
	Rows    int
}

func (e *BlindError) Error() string {
	if e.Samples == 0 {
		return "no regression could have been found: the figures are not all above zero and have no ratio"
	}
	return fmt.Sprintf("no regression could have been found, however large: %d comparisons take at least %d %ss a side", e.Rows, e.Samples, e.Unit)
}

// Blind returns a *BlindError where there is a limit and no row could have been
// above it, else nil.
func (c Comparison) Blind() error {
	if c.FailAbove == nil || slices.ContainsFunc(c.Rows, func(r CompareRow) bool { return r.canFail() }) {
		return nil
	}
	for _, r := range c.Rows {
		if r.Delta.Relative {
			return &BlindError{Samples: r.SamplesToReach, Unit: r.Unit, Rows: len(c.Rows)}
		}
	}
	return &BlindError{Rows: len(c.Rows)}
}
