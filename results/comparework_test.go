package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// workSides are eight boots a side, of which change makes what the command measures
// larger by a factor.
func workSides(command string, cells []string, change func(r *Run, factor float64)) []Group {
	var groups []Group
	for i, factor := range []float64{1, 2} {
		var runs []Run
		for boot := range 8 {
			f := threeCells()
			f.cells, f.runs = cells, 1
			for _, r := range f.make() {
				r.Command, r.Boot, r.Phases = command, fmt.Sprint(i, "-", boot), nil
				change(&r, factor*(1+float64(boot)/100))
				runs = append(runs, r)
			}
		}
		groups = append(groups, Group{fmt.Sprint("side", i), runs})
	}
	return groups
}

func workRows(t *testing.T, groups []Group, opts CompareOptions) (names []string, rows []CompareRow) {
	t.Helper()
	c, err := Compare(groups, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Rows {
		names = append(names, r.Cell+" "+r.Phase+" "+r.Metric)
	}
	return names, c.Rows
}

func flapSides(late int64) []Group {
	return workSides("flap", []string{"flap"}, func(r *Run, factor float64) {
		for i, name := range []string{"withdraw", "announce"} {
			r.Phases = append(r.Phases, Phase{Name: name, Ops: 1000 + int64(i), Wall: 1e9, System: 1e9, Each: &Distribution{
				Count: 1000, P50: int64(1e4 * factor), P99: int64(9e4 * factor)}})
		}
		r.Flap = &Flap{Rate: 1000, Reached: 900 / factor, Operations: 2000, Late: late}
	})
}

// What flap measures is compared by default: its operations, its rate and what was
// late, and not the time that was given it.
func TestCompareFlap(t *testing.T) {
	names, rows := workRows(t, flapSides(20), CompareOptions{})
	want := []string{"flap withdraw op-p50", "flap announce op-p50", "flap withdraw op-p99", "flap announce op-p99", "flap flap rate", "flap flap late"}
	if !slices.Equal(names, want) {
		t.Fatalf("%q, want %q", names, want)
	}
	for _, r := range rows[:5] {
		if r.Result != Slower || r.Delta.Estimate < 0.8 || r.Delta.Estimate > 1.2 {
			t.Errorf("%s: %s %+v", r.Name(), r.Result, r.Delta)
		}
	}
	if late := rows[5]; late.BaseSummary.Median != 1 || late.Result != Unshown {
		t.Errorf("late: %+v", late.BaseSummary)
	}
	if names, _ = workRows(t, flapSides(0), CompareOptions{}); slices.Contains(names, "flap flap late") {
		t.Errorf("nothing was late: %q", names)
	}
	names, _ = workRows(t, flapSides(0), CompareOptions{Metrics: []string{metricOpP99, metricRate}, Phases: []string{"announce"}})
	if !slices.Equal(names, []string{"flap announce op-p99"}) {
		t.Errorf("of one phase: %q", names)
	}
	var buf strings.Builder
	c, _ := Compare(flapSides(20), CompareOptions{Metrics: []string{metricLate}})
	if err := WriteComparison(&buf, c, TextOptions{}); err != nil || !strings.Contains(buf.String(), "share of late operations") {
		t.Errorf("%v %s", err, buf.String())
	}
}

// The operations of addrs are; those of other commands only where they are asked for.
func TestCompareOperations(t *testing.T) {
	for command, want := range map[string][]string{
		"addrs":  {"c add wall", "c add cpu", "c add op-p50", "c add op-p99"},
		"routes": {"c add wall", "c add cpu"},
	} {
		groups := workSides(command, []string{"c"}, func(r *Run, factor float64) {
			wall := int64(1e6 * factor)
			r.Phases = []Phase{{Name: "add", Ops: 10, Wall: wall, System: wall, Each: &Distribution{Count: 10, P50: wall / 10, P99: wall / 5}}}
		})
		if names, _ := workRows(t, groups, CompareOptions{}); !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", command, names, want)
		}
		names, _ := workRows(t, groups, CompareOptions{Metrics: []string{metricOpP50}})
		if !slices.Equal(names, []string{"c add op-p50"}) {
			t.Errorf("%s, asked for: %q", command, names)
		}
	}
}

func resizeSides(cells ...string) []Group {
	return workSides("resize", cells, func(r *Run, factor float64) {
		if r.Cell == cellControl {
			factor = 0.001
		}
		r.Phases = []Phase{{Name: "oscillate", Ops: 10, Wall: 1e6, System: 1e6}}
		r.Resize = &Resize{Pattern: "oscillate"}
		for _, size := range []int64{4096, 4097} { // of one sort
			r.Resize.Transitions = append(r.Resize.Transitions, ResizeTransition{Op: "add", Size: size, Kinds: map[string]int64{"inflate": 1},
				Before: map[int]int64{12: 1}, After: map[int]int64{13: 1}, Ops: 5, P50: int64(1e5 * factor)})
		}
	})
}

// Transitions are compared by what they do to which sizes, net of the control where
// there is one.
func TestCompareResize(t *testing.T) {
	const sort = "add: inflate, 12 to 13 bits"
	names, rows := workRows(t, resizeSides(cellCrossing, cellControl), CompareOptions{})
	want := []string{"crossing oscillate wall", "control oscillate wall", "crossing oscillate cpu", "control oscillate cpu", "crossing " + sort + " crossing-net"}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Fatalf("%q, want %q", names, want)
	}
	at := slices.IndexFunc(rows, func(r CompareRow) bool { return r.Metric == metricCrossingNet })
	if r := rows[at]; r.Result != Slower || r.BaseSummary.N != 8 || r.Delta.Estimate < 0.9 || r.Delta.Estimate > 1.1 {
		t.Errorf("%+v", r)
	}
	names, _ = workRows(t, resizeSides(cellCrossing), CompareOptions{})
	if !slices.Contains(names, "crossing "+sort+" crossing") {
		t.Errorf("without a control: %q", names)
	}
}

// Ticks of CPU time are compared only where that is asked for.
func TestCompareTicks(t *testing.T) {
	groups := workSides("routes", []string{"c"}, func(r *Run, factor float64) {
		r.Environment.Virtualisation = "uml"
		r.Phases = []Phase{{Name: "add", Ops: 10, Wall: int64(1e6 * factor), System: 1e7}}
	})
	c, err := Compare(groups, CompareOptions{})
	if err != nil || len(c.Rows) != 1 || !slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Kind == "ticks" }) {
		t.Errorf("%+v %v, %v", c.Rows, c.Warnings, err)
	}
	if names, _ := workRows(t, groups, CompareOptions{Metrics: []string{metricCPU}}); len(names) != 1 {
		t.Errorf("asked for: %q", names)
	}
}

// A limit that nothing could have been above is an error; one that some row could
// have been above is not, and the output counts the others.
func TestCompareBlind(t *testing.T) {
	five := 0.05
	make := func(boots int, limit *float64) Comparison {
		groups := workSides("routes", []string{"a", "b"}, func(r *Run, factor float64) {
			r.Phases = []Phase{{Name: "add", Ops: 10, Wall: int64(1e6 * factor)}}
		})
		for i := range groups {
			groups[i].Runs = slices.DeleteFunc(groups[i].Runs, func(r Run) bool {
				return r.Cell == "a" && r.Boot[2:] >= fmt.Sprint(boots)
			})
		}
		c, err := Compare(groups, CompareOptions{FailAbove: limit, Metrics: []string{metricWall}, Alpha: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := make(3, &five).Blind(); err != nil {
		t.Errorf("one row of two could have failed: %v", err)
	}
	if notes := unreachableNotes(make(3, &five)); len(notes) != 1 || !strings.Contains(notes[0], "In 1 of 2") {
		t.Errorf("%q", notes)
	}
	blind := make(3, &five)
	for i := range blind.Rows {
		blind.Rows[i].Reachable = false
	}
	if err := blind.Blind(); err == nil || !strings.Contains(err.Error(), "2 comparisons take at least 6 boots a side") {
		t.Errorf("got %v", err)
	}
	blind.FailAbove = nil
	if err := blind.Blind(); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// The stretches of lookup go on for a given time: by default its latencies count.
func TestCompareLookupPhases(t *testing.T) {
	groups := workSides("lookup", []string{"c"}, func(r *Run, factor float64) {
		for _, name := range []string{"add", "before", "withdraw"} {
			r.Phases = append(r.Phases, Phase{Name: name, Ops: 10, Wall: int64(1e6 * factor), System: 1e6})
		}
		r.Latency = []Latency{{Probe: "bpf", Stretch: "before", Count: 10, P50: int64(100 * factor), P99: int64(100 * factor), NetP50: int64(90 * factor)}}
		r.Churn = &Churn{Under: "flap", Flap: Flap{Reached: 100, Operations: 10}}
	})
	names, _ := workRows(t, groups, CompareOptions{})
	want := []string{"c add wall", "c add cpu", "c bpf before p50", "c bpf before p99", "c bpf before net-p50"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if names, _ = workRows(t, groups, CompareOptions{Metrics: []string{metricRate}}); len(names) != 1 {
		t.Errorf("asked for: %q", names)
	}
}
