package machine

import (
	"testing"
	"time"
)

// A history keeps the last snapshot that is old enough, and those since.
func TestHistory(t *testing.T) {
	start := time.Now()
	at := func(ms int) Load { return Load{taken: start.Add(time.Duration(ms) * time.Millisecond)} }
	var h History
	for _, step := range []struct{ at, first, kept int }{
		{0, 0, 1}, {40, 0, 2}, {45, 0, 3}, {99, 0, 4}, {100, 0, 5}, {139, 0, 6}, {140, 40, 6},
		{146, 45, 6}, {150, 45, 7}, {199, 99, 7}, {900, 199, 2}, {901, 199, 3}, {5000, 901, 2},
	} {
		h.add(at(step.at))
		if first := int(h.taken[0].taken.Sub(start).Milliseconds()); first != step.first || len(h.taken) != step.kept {
			t.Errorf("at %d ms: %d snapshots from %d ms, want %d from %d", step.at, len(h.taken), first, step.kept, step.first)
		}
	}
}

// The first run of a session waits until enough of the session is known, and no other.
func TestHistoryWaitsOnce(t *testing.T) {
	var h History
	start := time.Now()
	h.Take()
	h.Disturbed(h.Take())
	if took := time.Since(start); took < shortestJudged {
		t.Errorf("judged after %v, want %v at least", took, shortestJudged)
	}
	for range 3 {
		newest := h.taken[len(h.taken)-1].taken
		h.Disturbed(h.Take())
		// A wait would have added a snapshot to the two of the run.
		if n := len(h.taken); n < 3 || h.taken[n-3].taken != newest {
			t.Error("waited again")
		}
	}
}
