package results

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// instrumentedRuns are n runs of one cell, each with one that was profiled beside it and
// took ten times as long.
func instrumentedRuns(n int) []Run {
	var runs []Run
	for i := 1; i <= n; i++ {
		for _, profile := range []*Profile{nil, {Event: "cpu-clock", Hz: 599, Scope: "thread"}} {
			wall := int64(1_000_000 + i)
			if profile != nil {
				wall *= 10
			}
			runs = append(runs, Run{
				Schema: Schema, Time: time.Unix(int64(len(runs)), 0), Command: "flap", Cell: "1000", Run: i, Boot: "b", Verified: true,
				Spec: []byte("{}"), Phases: []Phase{{Name: "add", Ops: 1000, Wall: wall, System: wall}}, Profile: profile,
				Flap: &Flap{Reached: float64(wall), Stopped: true},
			})
		}
	}
	return runs
}

// Runs that were profiled enter no figure, and are neither missing nor failed.
func TestInstrumentedRunsTellNoTimes(t *testing.T) {
	runs := instrumentedRuns(10)
	if s := Of(runs, "add", WallTime); s.N != 10 || s.Max > 2_000_000 {
		t.Errorf("%+v", s)
	}
	side, samples, watched := newSide(Group{"x", runs})
	if side.Runs != 10 || side.Samples != 10 || len(samples) != 10 || len(watched) != 10 || side.Partial+side.Failed+side.Twice > 0 {
		t.Errorf("%+v", side)
	}
	var text bytes.Buffer
	if err := WriteText(&text, runs, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "left out") || strings.Count(text.String(), "was stopped") != 10 {
		t.Error(text.String())
	}
	if _, err := Compare([]Group{{"a", runs[:10]}, {"b", runs[10:]}}, CompareOptions{Force: true}); err != nil {
		t.Error(err)
	}
}

// One that failed its checks is told of all the same.
func TestInstrumentedFailure(t *testing.T) {
	runs := instrumentedRuns(2)
	runs[1].Verified = false
	runs[1].Checks = []Check{{Name: "routes", Want: 1}}
	var text bytes.Buffer
	if err := WriteText(&text, runs, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "left out: 1 run of 4 (1 failed its checks)") {
		t.Error(text.String())
	}
}
