package results

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// resizeRuns are synthetic runs of both cells: net is what an inflate costs more
// than the same addition without crossing; a halve costs half of that.
func resizeRuns(runs int, net int64, change func(*Run)) []Run {
	f := threeCells()
	var all []Run
	for n := 1; n <= runs; n++ {
		for c, cell := range []string{cellCrossing, cellControl} {
			r := f.run(cell, n, 0)
			r.Command = "resize"
			r.Spec = json.RawMessage(`{"load":"` + cell + `","pattern":"oscillate","node_bits":12,"cycles":10,"root":false,"families":[4],"link_kind":"auto","seed":1}`)
			r.Trie = TrieChange{}
			offset := f.offset(2*n+c) / 1000
			r.Resize = resizeRecord(cell, net, offset)
			wall := int64(160_000_000) + offset*1000
			if cell == cellCrossing {
				wall += 15 * net
			}
			r.Phases = []Phase{{Name: "oscillate", Ops: 40980, Wall: wall, User: wall / 10, System: wall - wall/10}}
			if change != nil {
				change(&r)
			}
			all = append(all, r)
		}
	}
	return all
}

// resizeRecord is one run's; offset is a run-to-run difference in ns.
func resizeRecord(cell string, net, offset int64) *Resize {
	transition := func(op string, size int64, kind string, before, after int, p50 int64) ResizeTransition {
		return ResizeTransition{
			Op: op, Size: size, Kinds: map[string]int64{kind: 1},
			Before: map[int]int64{before: 1, after: 0}, After: map[int]int64{before: 0, after: 1},
			Ops: 10, P50: p50 + offset, Min: p50 + offset - 100, Max: p50 + offset + 9000,
		}
	}
	r := &Resize{
		Pattern: "oscillate", NodeBits: 12, Operations: 40980, Beside: 2, InflateAt: 4096, HalveAt: 2047,
		Calls: ResizeCalls{Why: "this kernel has no kprobe events"}, Looks: 88,
		Transitions: []ResizeTransition{
			transition("delete", 2047, "halve", 13, 12, 3000), transition("add", 4096, "inflate", 12, 13, 4000),
		},
		TransitionsTotal: 2, Crossings: []ResizeOperation{},
		Spikes: []ResizeOperation{{Index: 77, Op: "add", Prefix: "10.9.0.0/24", Size: 2304, Wall: 50000 + offset, Blocked: 30000}},
		Curve: []ResizeBin{
			{Op: "add", From: 2047, To: 3071, Ops: 10240, P50: 3900 + offset, Max: 12000 + offset},
			{Op: "delete", From: 2047, To: 3071, Ops: 10250, P50: 2900 + offset, Max: 90000 + offset},
			{Op: "add", From: 3072, To: 4096, Ops: 10250, P50: 3900 + offset, Max: 120000 + offset},
			{Op: "delete", From: 3072, To: 4096, Ops: 10240, P50: 2900 + offset, Max: 9000 + offset},
		},
		Events: ResizeEvents{Resizes: 81960},
	}
	if cell == cellCrossing {
		r.Crossed = 20
		r.Events = ResizeEvents{Resizes: 81960, Inflates: 10, Halves: 10, FreedBytes: 983840}
		r.Transitions[0].P50 += net / 2
		r.Transitions[1].P50 += net
		halve, inflate := r.Transitions[0], r.Transitions[1]
		r.Crossings = []ResizeOperation{
			{Index: 2048, Op: "delete", Prefix: "10.7.255.0/24", Size: 2047, Wall: halve.Max, Kinds: halve.Kinds, Before: halve.Before, After: halve.After},
			{Index: 4097, Op: "add", Prefix: "10.15.255.0/24", Size: 4096, Wall: inflate.Max, Kinds: inflate.Kinds, Before: inflate.Before, After: inflate.After},
		}
	}
	return r
}

func TestWriteResize(t *testing.T) {
	wide := TextOptions{Width: 132}
	only := func(cell string, runs []Run) []Run {
		var kept []Run
		for _, r := range runs {
			if r.Cell == cell {
				kept = append(kept, r)
			}
		}
		return kept
	}
	const costly = 100_000
	for name, c := range map[string]struct {
		runs []Run
		opts TextOptions
	}{
		"resize":              {resizeRuns(10, costly, nil), wide},
		"resize-narrow-80":    {resizeRuns(10, costly, nil), TextOptions{Width: 80}},
		"resize-few":          {resizeRuns(3, costly, nil), wide},
		"resize-one":          {resizeRuns(1, costly, nil), wide},
		"resize-same":         {resizeRuns(10, 0, nil), wide},
		"resize-little":       {resizeRuns(10, 150, func(r *Run) { steady(r) }), wide},
		"resize-faster":       {resizeRuns(10, -2000, nil), wide},
		"resize-no-control":   {only(cellCrossing, resizeRuns(10, costly, nil)), wide},
		"resize-only-control": {only(cellControl, resizeRuns(10, costly, nil)), wide},
		"resize-suffix":       {resizeRuns(10, 2000, searches), wide},
		"resize-storm":        {resizeRuns(10, costly, storms), wide},
		"resize-waits": {resizeRuns(10, costly, func(r *Run) {
			r.Resize.Waits = ResizeWaits{Count: 2, Blocked: 41_000_000}
			r.Resize.Calls = ResizeCalls{Counted: 81960}
			r.Resize.Root = true
		}), wide},
		"resize-unchecked": {resizeRuns(10, costly, func(r *Run) {
			r.Resize.Looks = 0
			r.Warnings = []Warning{{"resize-rules", "not checked against the model of the trie: Linux 3.2 is older than 4.4"}}
		}), wide},
		"resize-lost": {resizeRuns(10, costly, func(r *Run) {
			if r.Run == 4 && r.Cell == cellCrossing {
				r.Resize, r.Verified = nil, false
				r.Checks = []Check{{"looks at the trie that show the predicted tnodes", 88, 80}}
			}
		}), wide},
	} {
		t.Run(name, func(t *testing.T) {
			got := render(t, c.runs, c.opts)
			golden(t, filepath.Join("testdata", name+".txt"), got)
			checkText(t, string(got), c.opts)
		})
	}
}

// steady takes the run-to-run differences out.
func steady(r *Run) {
	for i := range r.Resize.Transitions {
		t := &r.Resize.Transitions[i]
		t.P50 += 4000 - t.Min - 100 // every run's control takes 4 us
		if r.Cell == cellCrossing {
			t.P50 += int64(r.Run % 3)
		}
	}
}

// searches turns the removals into searches for a suffix length.
func searches(r *Run) {
	t := r.Resize.Transitions[0]
	t.Kinds, t.Before, t.After = map[string]int64{"suffix": 2048}, map[int]int64{}, map[int]int64{}
	r.Resize.Transitions, r.Resize.TransitionsTotal = []ResizeTransition{t}, 1
	r.Resize.Events = ResizeEvents{SuffixReads: 20480}
}

// storms makes the addition one of many changes, and the record leave some out.
func storms(r *Run) {
	t := &r.Resize.Transitions[1]
	t.Size, t.Kinds = 2050, map[string]int64{"split": 1, "inflate": 2, "collapse": 2050}
	t.Before, t.After = map[int]int64{2: 1025, 11: 1, 12: 0}, map[int]int64{2: 1, 11: 0, 12: 1}
	r.Resize.TransitionsTotal = 40
}
