package results

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// writeKTAPRuns renders runs as a KTAP stream with one test a cell: it passes where every
// check of every run held, and is skipped where no run was finished. time= is what the
// timed phases took. The medians and what did not hold are its comments. Where the
// measuring ended early for another reason than a failed check, a last test says so.
func writeKTAPRuns(w io.Writer, runs []Run, opts FormatOptions) error {
	if len(runs) == 0 && opts.Unsupported {
		_, err := fmt.Fprintf(w, "TAP version 13\n1..0 # SKIP %s\n", oneLine(opts.Ended))
		return err
	}
	tests := cellTests(blocks(runs))
	if opts.Ended != "" && Tally(outcomesOf(tests), Failed) == 0 {
		tests = append(tests, cellTest{outcome: Outcome{Name: "all runs", Verdict: Interrupted, Reason: opts.Ended}})
	}
	k, err := NewKTAP(w, len(tests))
	for _, t := range tests {
		for _, c := range t.comments {
			if err == nil {
				_, err = fmt.Fprintln(k.Comments(), c)
			}
		}
		if err == nil {
			err = k.Result(t.outcome)
		}
	}
	if err != nil {
		return err
	}
	return k.End()
}

// AnyFailed reports whether a check of some run did not hold.
func AnyFailed(runs []Run) bool {
	for i := range runs {
		if !runs[i].Held() && !runs[i].Partial {
			return true
		}
	}
	return false
}

// A cellTest is a cell of a block, and how its runs ended.
type cellTest struct {
	outcome  Outcome
	comments []string
}

func outcomesOf(tests []cellTest) []Outcome {
	var outcomes []Outcome
	for _, t := range tests {
		outcomes = append(outcomes, t.outcome)
	}
	return outcomes
}

// cellTests are named for command and cell, and where a command has several sets for
// these too.
func cellTests(all []block) []cellTest {
	names := setNames(all)
	var tests []cellTest
	for i, b := range all {
		figures := digests(b)
		for n, c := range countsOf(b) {
			t := cellTest{outcome: c.outcome()}
			if names[i] != "" {
				t.outcome.Name += " on " + names[i]
			}
			if n == 0 {
				t.comments = remarks(b)
			}
			for _, d := range figures {
				if d.cell == c.cell && (d.name == "wall" || d.name == "p50" || d.name == "reached") {
					t.comments = append(t.comments, d.text())
				}
			}
			tests = append(tests, t)
		}
	}
	return tests
}

// outcome judges the runs of a cell.
func (c counts) outcome() Outcome {
	o := Outcome{Name: plain(c.command + " " + c.cell), Verdict: Passed, Took: c.wall.Round(time.Millisecond)}
	switch {
	case c.failed > 0:
		o.Verdict = Failed
		if n := len(c.broken) - maxFailures; n > 0 {
			c.broken = append(c.broken[:maxFailures:maxFailures], fmt.Sprintf("and %d more", n))
		}
		o.Reason = fmt.Sprintf("%d of %s: %s", c.failed, unbreak(count(c.runs, "run", "runs")), strings.Join(c.broken, "; "))
	case c.partial == c.runs:
		o.Verdict, o.Reason = Skipped, "interrupted before a run was finished"
	}
	return o
}

// text is a figure in words, e.g. "delete wall: median 86.8 ms, 95 % interval 79.3 to
// 99.8 ms".
func (d digest) text() string {
	var at []string
	for _, p := range d.at {
		at = append(at, plain(p.value))
	}
	label := strings.Join(at, " ") + " " + d.name
	if d.unit != unitNS {
		return fmt.Sprintf("%s: median %s %s", label, fixed(d.Median, decimals(d.Median)), d.unit)
	}
	median, interval := durations(d.Summary)
	text := label + ": median " + median
	if interval != "" {
		text += ", 95 % interval " + interval
	}
	return unbreak(text)
}

// oneLine is what a directive may say.
func oneLine(text string) string { return strings.TrimSpace(strings.ReplaceAll(plain(text), "#", "_")) }
