package results

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// writeLAVA renders runs as the signals that LAVA's lava-test-case prints: a test case
// for each cell, which passes where every check of every run held, and one for each
// median, with its unit. Names are those of the lkp format without the unit; no two are
// alike, since LAVA refuses that.
func writeLAVA(w io.Writer, runs []Run, opts FormatOptions) error {
	s := signals{seen: map[string]bool{}}
	all := blocks(runs)
	names := setNames(all)
	failed := false
	for i, b := range all {
		figures := digests(b)
		for _, c := range countsOf(b) {
			result := map[Verdict]string{Passed: "pass", Failed: "fail", Skipped: "skip"}[c.outcome().Verdict]
			failed = failed || result == "fail"
			s.testCase(key(names[i], c.command, c.cell), result, nil)
			for _, d := range figures {
				if d.cell == c.cell {
					s.testCase(key(names[i], c.command, c.cell)+"."+d.path(), result, &d)
				}
			}
		}
	}
	if opts.Ended != "" && !failed {
		result := "fail"
		if opts.Unsupported {
			result = "skip"
		}
		s.testCase("all-runs", result, nil)
	}
	_, err := w.Write(s.b.Bytes())
	return err
}

// signals are a stream of them.
type signals struct {
	b    bytes.Buffer
	seen map[string]bool
}

// testCase writes one signal. A figure of a cell that did not pass is told all the same:
// it is of the runs that did.
func (s *signals) testCase(id, result string, d *digest) {
	for base, n := id, 2; s.seen[id]; n++ {
		id = base + "." + strconv.Itoa(n)
	}
	s.seen[id] = true
	fmt.Fprintf(&s.b, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=%s", id, result)
	if d != nil {
		unit := d.unit
		if unit == unitNone {
			unit = "count"
		}
		fmt.Fprintf(&s.b, " UNITS=%s MEASUREMENT=%s", unit, decimal(d.Median))
	}
	s.b.WriteString(">\n")
}
