package results

import (
	"path/filepath"
	"testing"
)

// each is a synthetic distribution around a median of ns.
func each(count, median int64) *Distribution {
	return &Distribution{Count: count, Min: median / 2, P50: median, P90: 2 * median, P99: 10 * median, P999: 30 * median, Max: 100 * median}
}

// churned makes synthetic runs of addrs, routes or flap, two cells of runs each.
func churned(command string, runs int, change func(*Run, int)) []Run {
	f := fixture{cells: []string{"1000", "8192"}, runs: runs, subnets: 1000, ifaces: 1, spread: 1000}
	f.change = func(r *Run, n int) {
		r.Command, r.Trie = command, TrieChange{}
		r.Spec = []byte(`{"count":` + r.Cell + `,"families":[4],"order":"added","link_kind":"auto","seed":1}`)
		ops := int64(1000)
		if r.Cell != "1000" {
			ops = 8192
		}
		names := []string{"add", deletePhase}
		if command == "flap" {
			names = []string{"add", "withdraw", "announce"}
			r.Flap = &Flap{Rate: 10000, Reached: 9998.5 + float64(n), Operations: 2 * ops, Late: int64(n), Elapsed: 2 * ops * 100_000, Duration: 2 * ops * 100_000}
		}
		r.Phases = nil
		for i, name := range names {
			per := 10_000 + 500*int64(i) + 10*int64(n)
			r.Phases = append(r.Phases, Phase{Name: name, Ops: ops, Wall: ops * per, User: ops * 100, System: ops * (per - 100)})
			if command == "addrs" || name != "add" {
				r.Phases[i].Each = each(ops, per)
			}
			if name == "add" || name == deletePhase {
				r.Phases[i].Subnets = ops
			}
		}
		if change != nil {
			change(r, n)
		}
	}
	return f.make()
}

func listening(slow bool) func(*Run, int) {
	return func(r *Run, n int) {
		r.Listeners = &Listeners{Sockets: 4, Slow: slow, Messages: 60_000 - int64(n), Drops: int64(1000 * n), ReceiveBuffer: 212992}
	}
}

func stopped(r *Run, n int) {
	if listening(true)(r, n); n == 0 {
		r.Partial, r.Flap.Stopped = true, true
	}
}

func TestWriteTextChurn(t *testing.T) {
	wide := TextOptions{Width: 132}
	for name, c := range map[string]struct {
		runs []Run
		opts TextOptions
	}{
		"addrs":          {churned("addrs", 7, nil), wide},
		"addrs-narrow":   {churned("addrs", 7, nil), TextOptions{Width: 60}},
		"routes":         {churned("routes", 7, listening(false)), wide},
		"flap":           {churned("flap", 7, listening(false)), wide},
		"flap-max":       {churned("flap", 1, func(r *Run, _ int) { r.Flap.Rate = 0 }), wide},
		"flap-stopped":   {churned("flap", 1, stopped), TextOptions{Width: 100}},
		"other-sync-mem": {churned("addrs", 2, func(r *Run, _ int) { r.Environment.FibSyncMem = int64(1+r.Run) << 19 }), wide},
	} {
		t.Run(name, func(t *testing.T) {
			got := render(t, c.runs, c.opts)
			golden(t, filepath.Join("testdata", "churn-"+name+".txt"), got)
			checkText(t, string(got), c.opts)
		})
	}
}
