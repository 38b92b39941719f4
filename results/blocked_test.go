package results

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// blockedRuns have a watched twin beside every run. The figures are synthetic.
func blockedRuns(change func(*Run)) []Run {
	f := threeCells()
	f.runs = 6
	f.spread = 0
	var all []Run
	for _, r := range f.make() {
		all = append(all, r)
		twin := r
		twin.Phases = append([]Phase{}, r.Phases...)
		last := &twin.Phases[len(twin.Phases)-1]
		last.RunDelay = 1_200_000
		twin.Blocked = &Blocked{Phases: []PhaseBlocked{
			{Phase: "create", Waits: []Wait{{Kind: WaitCPU, Count: 1, Wall: 100, Max: 100, Frames: "entry;schedule"}}},
			{Phase: "up", Waits: []Wait{}},
			{Phase: deletePhase, Waits: []Wait{
				{Kind: WaitSynchronizeNet, Count: 2, Wall: last.Blocked - 5_000_000, Max: 15_000_000, Frames: "entry;unregister_netdevice_many;synchronize_net;schedule"},
				{Kind: WaitRCUBarrier, Count: 1, Wall: 3_900_000, Max: 3_900_000, Frames: "entry;netdev_run_todo;rcu_barrier;schedule"},
				{Kind: WaitSynchronizeNet, Count: 1, Wall: 600_000, Max: 600_000, Frames: "entry;dev_deactivate_many;synchronize_rcu_expedited;schedule"},
				{Kind: WaitCPU, Count: int64(r.Run % 2), Wall: 200_000, Max: 200_000, Frames: "entry;exit_to_user_mode_loop;schedule"},
				{Kind: WaitRTNL, Count: 1, Wall: 290_000, Max: 290_000, Frames: "entry;rtnl_dellink;__mutex_lock;schedule"},
			}},
		}}
		if change != nil {
			change(&twin)
		}
		all = append(all, twin)
	}
	return all
}

func TestWriteTextBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Run)
		opts   TextOptions
	}{
		"blocked":    {nil, TextOptions{Width: 132}},
		"blocked-60": {nil, TextOptions{Width: 60, ASCII: true}},
		// The kernel's CPU clock missed some of what the thread ran.
		"blocked-ran": {func(r *Run) {
			p := r.Blocked.Phase(deletePhase)
			p.Waits = p.Waits[:3]
		}, TextOptions{Width: 132}},
		// One run has no figure of one of the cells, records were lost, and something is
		// left to explain.
		"blocked-doubts": {func(r *Run) {
			if r.Cell == cellEmpty && r.Run == 1 {
				r.Partial = true
			}
			r.Blocked.Lost = 2
			p := r.Blocked.Phase(deletePhase)
			p.Waits = p.Waits[:2]
		}, TextOptions{Width: 132}},
		// The thread that was timed did nothing.
		"blocked-unknown": {func(r *Run) {
			for i := range r.Phases {
				r.Phases[i].CPUUnknown = true
			}
		}, TextOptions{Width: 132}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", name+".txt"), render(t, blockedRuns(c.change), c.opts))
		})
	}
}

// Runs that were watched tell no times.
func TestWatchedRunsAreNoSamples(t *testing.T) {
	for _, r := range blockedRuns(nil) {
		if r.Sample() == (r.Blocked != nil) {
			t.Errorf("run %d of %s, watched %v, is a sample: %v", r.Run, r.Cell, r.Blocked != nil, r.Sample())
		}
	}
}

func TestWriteTextTraceNotes(t *testing.T) {
	runs := blockedRuns(func(r *Run) {
		r.Blocked = nil
		r.Trace = &Trace{
			Phases: []PhaseTrace{{Phase: deletePhase, Functions: []FunctionTrace{
				{Function: "fib_table_flush", Symbol: "fib_table_flush", Calls: 2, Wall: 400_000, Max: 300_000, Elsewhere: 1},
				{Function: "resize", Symbol: "resize.isra.0", Calls: 100, Wall: 90_000, Max: 2000, Elsewhere: 40 + int64(r.Run)},
				{Function: "tnode_new", Symbol: "tnode_new"},
			}}},
			Untraced: []Untraced{{"halve", "no symbol: inlined into its callers"}},
		}
	})
	var got []byte
	for _, b := range blocks(runs) {
		got = append(got, strings.ReplaceAll(strings.Join(traceNotes(b), "\n"), nbsp, " ")+"\n"...)
	}
	golden(t, filepath.Join("testdata", "trace-notes.txt"), got)
}

// A record with a wait that cannot be is refused.
func TestNegativeWaitIsRefused(t *testing.T) {
	runs := blockedRuns(func(r *Run) { r.Blocked.Phases[2].Waits[1].Wall = -1 })
	var file bytes.Buffer
	e := NewEncoder(&file)
	if err := e.Encode(&runs[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeRun(file.Bytes()); err == nil || !strings.Contains(err.Error(), "its blocked.phases[2].waits[1].wall_ns is below zero") {
		t.Errorf("got %v", err)
	}
}
