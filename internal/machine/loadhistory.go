package machine

import (
	"slices"
	"time"

	"fibchurn/results"
)

// A History is what a session keeps of its snapshots, for the runs that are too short
// to be judged by themselves. Its zero value is empty.
type History struct{ taken []Load }

// Take takes a snapshot. A session begins with one.
func (h *History) Take() Load {
	l := Snapshot()
	h.add(l)
	return l
}

// add forgets what was taken before the stretch that says something about l.
func (h *History) add(l Load) {
	h.taken = append(slices.Delete(h.taken, 0, h.start(l)), l)
}

// start is the index of the last snapshot that was taken long enough before l, and 0
// where none was.
func (h *History) start(l Load) int {
	for i, earlier := range slices.Backward(h.taken) {
		if l.taken.Sub(earlier.taken) >= shortestJudged {
			return i
		}
	}
	return 0
}

// Disturbed says what disturbed a run that began with a snapshot and ends now: see
// Load.Since. A run under 100 ms is judged by the shortest stretch of the session that is
// long enough and ends with the run: it begins with an earlier run, or between two. Where
// the session is younger than that, which only its first runs are, Disturbed returns when
// it is not any more.
func (h *History) Disturbed(before Load) []results.Warning {
	after := h.Take()
	first, last := before, after
	if after.taken.Sub(before.taken) < shortestJudged {
		first = h.taken[0]
		if young := shortestJudged - after.taken.Sub(first.taken); young > 0 {
			time.Sleep(young)
			last = h.Take()
		}
	}
	return after.Since(before, last.Stretch(first))
}
