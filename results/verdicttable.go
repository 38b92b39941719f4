package results

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteOutcomes renders the outcomes of what is called name for a terminal: a row for
// each test, why those that failed or were skipped did so, and the count of each verdict with
// the time they took together. The error is w's.
func WriteOutcomes(w io.Writer, name string, outcomes []Outcome, opts TextOptions) error {
	p := page{opts: opts}
	p.grid(outcomeGrid(outcomes))
	for _, v := range []Verdict{Skipped, Failed} {
		p.section(reasonTexts(outcomes, v), verdictColour(v))
	}
	p.section([]string{tallyText(name, outcomes)}, bold)
	_, err := w.Write(p.buf.Bytes())
	return err
}

func outcomeGrid(outcomes []Outcome) grid {
	g := grid{columns: []column{{title: "line"}, {title: "verdict", left: true}, {title: "time"}, {title: "command", left: true}}}
	for _, o := range outcomes {
		took := "-"
		if o.Took > 0 {
			took = duration(float64(o.Took))
		}
		g.rows = append(g.rows, []string{strconv.Itoa(o.Line), o.Verdict.String(), took, plain(o.Name)})
	}
	return g
}

// reasonTexts says each reason once, with the lines that have it.
func reasonTexts(outcomes []Outcome, v Verdict) []string {
	var reasons []string
	lines := map[string][]string{}
	for _, o := range outcomes {
		if o.Verdict != v {
			continue
		}
		if lines[o.Reason] == nil {
			reasons = append(reasons, o.Reason)
		}
		lines[o.Reason] = append(lines[o.Reason], strconv.Itoa(o.Line))
	}
	for i, reason := range reasons {
		word := "line"
		if len(lines[reason]) > 1 {
			word = "lines"
		}
		reasons[i] = fmt.Sprintf("%s%s%s %s: %s", word, nbsp, strings.Join(lines[reason], ", "), v, plain(reason))
	}
	return reasons
}

func verdictColour(v Verdict) colour {
	if v == Skipped {
		return yellow
	}
	return red
}

func tallyText(name string, outcomes []Outcome) string {
	var took time.Duration
	for _, o := range outcomes {
		took += o.Took
	}
	var counts []string
	for _, v := range []Verdict{Passed, Failed, Skipped, Interrupted} {
		if n := Tally(outcomes, v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d%s%s", n, nbsp, v))
		}
	}
	return fmt.Sprintf("%s: %s of %s in %s", plain(name), strings.Join(counts, ", "), count(len(outcomes), "line", "lines"), duration(float64(took)))
}
