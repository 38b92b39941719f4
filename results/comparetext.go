package results

import (
	"fmt"
	"io"
	"math"
	"strings"
)

const green colour = "32"

// WriteComparison renders a comparison for a terminal: the sides, a table for each
// metric of each workload, how to read it, the warnings, and one sentence. The
// error is w's.
func WriteComparison(w io.Writer, c Comparison, opts TextOptions) error {
	p := page{opts: opts}
	p.side("base", c.Base)
	for _, s := range c.New {
		p.side("new", s)
	}
	for _, t := range compareTables(c) {
		p.compareTable(t)
	}
	p.functionTables(c)
	p.section(append(append([]string{legend(c)}, functionLegend(c)...), limitNotes(c)...), none)
	p.section(WarningLines(c.Warnings), yellow)
	p.section(verdicts(c), bold)
	_, err := w.Write(p.buf.Bytes())
	return err
}

// side says what one side is, and what of it was left out.
func (p *page) side(role string, s Side) {
	text := fmt.Sprintf("%s: %s: %s of %s", role, plain(s.Name), count(s.Samples, "run", "runs"), count(s.Boots, "boot", "boots"))
	if s.Machine != "" {
		text += ", " + s.Machine
	}
	p.paragraph(text, 2, bold)
	var why []string
	for _, reason := range []struct {
		n    int
		text string
	}{{s.Partial, "interrupted"}, {s.Failed, "failed their checks"}, {s.Twice, "in the files twice"}} {
		if reason.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", reason.n, reason.text))
		}
	}
	if why != nil {
		p.paragraph(fmt.Sprintf("%sleft out of %s: %s of %d (%s)", nbsp+nbsp, role, count(s.Runs-s.Samples, "run", "runs"), s.Runs, strings.Join(why, ", ")), 4, red)
	}
	if s.Watched > 0 {
		p.paragraph(fmt.Sprintf("%sbeside them: %s, profiled or traced, of which no time is taken", nbsp+nbsp, count(s.Watched, "run", "runs")), 4, none)
	}
}

func (p *page) compareTable(t compareTable) {
	p.gap()
	p.paragraph(t.title(), 2, bold)
	lines, headings, note := t.grid().lines(p.opts.Width)
	for i, l := range lines {
		switch row := i - headings; {
		case row < 0:
			p.line(l, bold)
		case row < len(t.rows):
			p.line(l, resultColour(t.rows[row].Result))
		default:
			p.line(l, none)
		}
	}
	p.note(note)
}

func resultColour(r Result) colour {
	switch r {
	case Slower:
		return red
	case Faster:
		return green
	}
	return none
}

// legend says how the table came about.
func legend(c Comparison) string {
	text := fmt.Sprintf("A sample is a boot's median where both sides have several boots, else a run. A delta is the median of new/base over all "+
		"pairs of samples, its 95%s%%%sinterval that of the row alone. p: Mann-Whitney, corrected for %s (%s). ~: p is above %s, nothing is shown. "+
		"finds from: the smallest change that so many samples of such a spread show in %.0f of 10 tries.",
		nbsp, nbsp, count(len(c.Rows), "comparison", "comparisons"), Correction, shortest(c.Alpha), 10*Power)
	if c.FailAbove != nil {
		text += fmt.Sprintf(" !: slower by more than %s.", limitText(c))
	}
	return text
}

func shortest(x float64) string { return fmt.Sprintf("%g", x) }

// limitText is the limit as it was asked for, rounding of binary fractions aside.
func limitText(c Comparison) string {
	return fmt.Sprintf("%.10g", *c.FailAbove*100) + nbsp + "%"
}

// WarningLines are warnings of a comparison, each as a line that says of which kind it
// is: "warning: order: all runs of base were before all of new".
func WarningLines(warnings []Warning) []string {
	var texts []string
	for _, w := range warnings {
		if w.Kind == "run" {
			texts = append(texts, "warning: "+w.Text)
		} else {
			texts = append(texts, "warning: "+w.Kind+": "+w.Text)
		}
	}
	return texts
}

// maxNamed is how many rows a note names.
const maxNamed = 3

// percentText renders a fraction with its sign, e.g. "+12.3 %".
func percentText(fraction float64) string {
	return signedText(100*fraction, 1) + nbsp + "%"
}

func signedText(x float64, decimals int) string {
	text := fixed(x, decimals)
	if x >= 0 && !strings.HasPrefix(text, "-") {
		return "+" + text
	}
	return text
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
