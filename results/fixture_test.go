package results

import (
	"encoding/json"
	"fmt"
	"time"
)

// A fixture makes synthetic runs. Its figures are round on purpose: no kernel
// measured them.
type fixture struct {
	cells   []string
	runs    int
	subnets int64 // each interface
	ifaces  int64
	spread  int64            // ns, the size of the run-to-run differences
	cost    map[string]int64 // cell -> ns of wall time its load adds to delete
	ipv6    bool
	change  func(run *Run, n int) // n-th run of the file, from 0
}

func threeCells() fixture {
	return fixture{
		cells: []string{cellEmpty, cellRoutes, cellAddrs}, runs: 10, subnets: 8192, ifaces: 1, spread: 200_000,
		cost: map[string]int64{cellAddrs: 36_000_000, cellRoutes: 6_000_000, cellSecondaries: 50_000_000},
	}
}

// make returns the runs, interleaved.
func (f fixture) make() []Run {
	var runs []Run
	for n := 1; n <= f.runs; n++ {
		for c, cell := range f.cells {
			r := f.run(cell, n, f.offset(n*len(f.cells)+c))
			if f.change != nil {
				f.change(&r, len(runs))
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// offset is a small difference that depends on i alone.
func (f fixture) offset(i int) int64 {
	steps := []int64{0, 3, -2, 5, -4, 1, -1, 2, -3, 4, -5}
	return steps[i%len(steps)] * f.spread / 5
}

func (f fixture) run(cell string, n int, offset int64) Run {
	family := 4
	if f.ipv6 {
		family = 6
	}
	return Run{
		Schema: Schema, Time: time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC),
		Command: "delete-iface", Cell: cell, Run: n, Boot: "00000000-0000-4000-8000-000000000001",
		Spec: json.RawMessage(fmt.Sprintf(`{"load":%q,"subnets":%d,"ifaces":%d,"families":[%d],"prefix_len":0,"link_kind":"auto","setup":"down","down_first":false,"seed":%d}`,
			cell, f.subnets, f.ifaces, family, 1)),
		Environment: Environment{
			Kernel: "6.0.0-synthetic", KernelVersion: "#1 SMP", Arch: "x86_64", CommandLine: "quiet",
			CPU: "Synthetic CPU", CPUs: 4, Virtualisation: "kvm", ClockSource: "tsc", Governor: "performance",
			FibSyncMem: 524288, LinkKind: "dummy", LinkAuto: true, Fibchurn: "test",
		},
		Phases: f.phases(cell, offset), Trie: f.trie(cell), Verified: true,
	}
}

func (f fixture) phases(cell string, offset int64) []Phase {
	subnets := f.subnets * f.ifaces
	if cell == cellEmpty {
		subnets = 0
	}
	phase := func(name string, ops, subnets, cpu, blocked int64) Phase {
		cpu += offset / 4
		if blocked > 0 {
			blocked += offset
		}
		return Phase{Name: name, Ops: ops, Subnets: subnets, Wall: cpu + blocked, User: cpu / 100,
			System: cpu - cpu/100, Blocked: blocked, VoluntarySwitches: blocked / 10_000_000}
	}
	phases := []Phase{phase("create", f.ifaces, 0, 2_000_000*f.ifaces, 0)}
	if subnets > 0 {
		phases = append(phases, phase("add", subnets, subnets, subnets*40_000, 0))
	}
	return append(phases,
		phase("up", f.ifaces, subnets, 1_000_000+subnets*3000, 0),
		phase(deletePhase, f.ifaces, subnets, 1_000_000+max(f.cost[cell], 0), 26_000_000+min(f.cost[cell], 0)))
}

// trie has both families' tables, as the kernel has.
func (f fixture) trie(cell string) TrieChange {
	t := TrieChange{Before: Tables{IPv4: f.triestat(cell)}, After: Tables{IPv4: &TrieStats{LeafBytes: 48, TnodeBytes: 40, Tables: []Trie{}}}}
	n := f.subnets
	if cell == cellEmpty || !f.ipv6 {
		n = 0
	}
	t.Before.IPv6 = &RT6Stats{Nodes: 2*n + 4, RouteNodes: n + 2, RouteAllocs: n + 6, RouteEntries: n + 2, DstEntries: 3}
	t.After.IPv6 = &RT6Stats{Nodes: 1, RouteNodes: 1, RouteAllocs: 3, RouteEntries: 1, DstEntries: 3}
	return t
}

// triestat has one trie with counters for routes, a merged one for addresses.
func (f fixture) triestat(cell string) *TrieStats {
	table := func(name string, depth float64, leaves, tnodes int64, byBits map[int]int64) Trie {
		return Trie{Name: name, AverageDepth: depth, MaxDepth: 2, Leaves: leaves, Prefixes: leaves, Tnodes: tnodes,
			TnodesByBits: byBits, Pointers: 2 * leaves, NullPointers: leaves, SizeKB: leaves / 8}
	}
	stats := &TrieStats{LeafBytes: 48, TnodeBytes: 40, Tables: []Trie{}}
	switch {
	case f.ipv6:
	case cell == cellAddrs || cell == cellSecondaries:
		byBits := map[int]int64{1: 8192, 15: 1}
		stats.Tables = []Trie{table("main", 1.66, 24576, 8193, byBits), table("local", 1.66, 24576, 8193, byBits)}
	case cell == cellRoutes:
		main := table("main", 1, 8192, 1, map[int]int64{14: 1})
		main.Counters = &TrieCounters{Gets: 100, Backtracks: 7, SemanticMatchPassed: 90, SemanticMatchMiss: 3, NullNodeHit: 2}
		stats.Tables = []Trie{main}
	}
	return stats
}
