package results

import "time"

// A Verdict is how a test ended.
type Verdict int

// The verdicts of a test.
const (
	Passed      Verdict = iota + 1 // it measured, and all checks held
	Failed                         // a check failed, or it could not be measured
	Skipped                        // this kernel or machine cannot do it, or it was not started
	Interrupted                    // a signal ended it
)

// String is the verdict in one word.
func (v Verdict) String() string {
	switch v {
	case Passed:
		return "ok"
	case Failed:
		return "failed"
	case Skipped:
		return "skipped"
	case Interrupted:
		return "interrupted"
	}
	return "unknown"
}

// An Outcome is a test, such as a line of a suite, and how it ended.
type Outcome struct {
	Name    string        // the command line
	Line    int           // where it stands in its file, 1-based
	Verdict Verdict       // how it ended
	Reason  string        // why it did not pass, in one line; empty where it did
	Took    time.Duration // from its start to its end; 0 where it was not started
}

// Tally counts the outcomes of a verdict.
func Tally(outcomes []Outcome, v Verdict) int {
	n := 0
	for _, o := range outcomes {
		if o.Verdict == v {
			n++
		}
	}
	return n
}
