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

// Two or three runs show no effect of profiling, whatever the difference: no sentence
// says that it made a phase slower or faster.
func TestFewRunsShowNoOverhead(t *testing.T) {
	for _, n := range []int{1, 2, 5, 10} {
		runs := instrumentedRuns(n)
		for i := range runs {
			if p := runs[i].Profile; p != nil {
				p.Phases = []PhaseProfile{{Phase: "add", Samples: 100, Stacks: []Stack{{"resize", 100}}}}
			}
		}
		text := string(render(t, runs, TextOptions{}))
		unshown := strings.Contains(text, "profiling is not shown to change this phase's time: +900.0 % (too few pairs of runs for a 95 % interval)")
		shown := strings.Contains(text, "profiling made this phase 900.0 % slower (95 % interval")
		if shown != (n >= MinRuns) || unshown == shown {
			t.Errorf("%d runs:\n%s", n, text)
		}
	}
}

// What makes the figures doubtful is of the runs that the figures are of.
func TestDoubtfulRunsAreSamples(t *testing.T) {
	runs := instrumentedRuns(3)
	for i := range runs {
		runs[i].Warnings = []Warning{{"load", "other work"}}
	}
	c := countsOf(blocks(runs)[0])
	if len(c) != 1 || c[0].samples != 3 || c[0].instrumented != 3 || c[0].warnings["load"] != 3 {
		t.Errorf("%+v", c)
	}
}

// A phase without a table is named once, with what would give it one.
func TestTooFewSamplesForATable(t *testing.T) {
	runs := instrumentedRuns(2)
	for i := range runs {
		r := &runs[i]
		r.Phases = append(r.Phases, Phase{Name: "dismantle", Ops: 1, Wall: 1_000_000, CPUUnknown: true})
		if r.Profile != nil {
			r.Profile.Phases = []PhaseProfile{{Phase: "add", Samples: 2, Stacks: []Stack{{"resize", 2}}}, {Phase: "dismantle"}}
		}
	}
	const hint = "--profile-scope cpus"
	text := unbreak(string(render(t, runs, TextOptions{})))
	for _, want := range []string{
		"profile of 1000: no table of phases with fewer than 20 samples in all runs: add 4, dismantle 0 (other threads do the work: " + hint + ")\n",
		"\n  more runs, longer phases or a higher --profile-hz have more samples\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for i := range runs {
		if p := runs[i].Profile; p != nil {
			p.Scope = scopeCPUs
		}
	}
	if text := string(render(t, runs, TextOptions{})); strings.Contains(text, hint) {
		t.Errorf("of all CPUs:\n%s", text)
	}
}

// Where other work hides in the wall time what watching adds, CPU time may show it.
func TestOverheadInCPUTime(t *testing.T) {
	runs := instrumentedRuns(10)
	for i := range runs {
		p := &runs[i].Phases[0]
		p.Wall, p.System = 1_000_000*int64(1+i*7%5), 100_000+int64(i)
		if runs[i].Profile != nil {
			p.System *= 2
			runs[i].Profile.Phases = []PhaseProfile{{Phase: "add", Samples: 300, Stacks: []Stack{{"resize", 300}}}}
		}
	}
	text := unbreak(string(render(t, runs, TextOptions{})))
	for _, want := range []string{"profiling is not shown to change this phase's time", "profiling slowed phases of 1000 by more than 3 %", ": add +100.0 % of its CPU time\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
