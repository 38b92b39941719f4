package results

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// tracedRuns are of the command routes, each with a traced twin. calls is of resize,
// a run.
func tracedRuns(runs int, boot string, calls func(run int) int64, change func(*Run)) []Run {
	var all []Run
	for _, r := range (profiledCase{runs: runs, weights: deleteWeights(), slower: 20}).make() {
		r.Boot = boot
		if r.Profile != nil {
			n := calls(r.Run)
			r.Profile, r.Trace = nil, &Trace{Phases: []PhaseTrace{{Phase: "add"}, {Phase: "delete", Functions: []FunctionTrace{
				{Function: "fib_table_flush", Symbol: "fib_table_flush"},
				{Function: "resize", Symbol: "resize.isra.0", Calls: n, Wall: n * 900, Max: 250_000 + int64(r.Run)},
				{Function: "update_suffix", Symbol: "update_suffix", Calls: 9999, Wall: 51_000_000, Max: 40_000},
			}}}}
		}
		if change != nil {
			change(&r)
		}
		all = append(all, r)
	}
	return all
}

func TestWriteTextTrace(t *testing.T) {
	once := func(int) int64 { return 10000 }
	missed := func(r *Run) {
		if r.Trace != nil {
			r.Trace.Phases[1].Functions[1].Missed = 5
		}
	}
	for name, c := range map[string]struct {
		runs []Run
		opts TextOptions
	}{
		"trace":        {tracedRuns(8, "b", once, nil), TextOptions{Width: 132}},
		"trace-60":     {tracedRuns(8, "b", once, nil), TextOptions{Width: 60, ASCII: true}},
		"trace-missed": {tracedRuns(3, "b", once, missed), TextOptions{Width: 132}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", name+".txt"), render(t, c.runs, c.opts))
		})
	}
}

// A kernel that resizes less often is shown to call resize fewer times an operation,
// and nothing else.
func TestCompareTraces(t *testing.T) {
	base := tracedRuns(6, "a", func(int) int64 { return 12000 }, nil)
	new := tracedRuns(6, "b", func(run int) int64 { return 9000 + int64(run%2) }, func(r *Run) {
		r.Time = r.Time.Add(10 * time.Second)
	})
	c, err := Compare([]Group{{"base", base}, {"new", new}}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Result{}
	for _, r := range c.Functions {
		got[r.Function] = r.Result
	}
	if want := map[string]Result{"resize": Faster, "update_suffix": Unshown}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	golden(t, filepath.Join("testdata", "compare-trace.txt"), comparisonText(t, c, TextOptions{Width: 132}))
	golden(t, filepath.Join("testdata", "compare-trace.jsonl"), encodeComparison(t, c))
}
