package results

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// A forwardFixture makes synthetic runs of forward: per path, packets a second.
type forwardFixture struct {
	rates  map[string]float64
	runs   int
	names  func(path string) []string // of the cells, by path
	under  string
	change func(*Run)
}

// published are the rates of a measurement of 2018, IPv4 on one core.
func published() map[string]float64 {
	return map[string]float64{PathStack: 1_947_969, PathLookup: 7_074_156, PathDirect: 7_415_333, PathRedirect: 13_365_161}
}

func (f forwardFixture) make() []Run {
	base := fixture{cells: []string{""}, runs: f.runs}.make()
	var runs []Run
	for n, r := range base {
		for _, path := range Paths() {
			for i, name := range f.names(path) {
				if f.rates[path] == 0 {
					continue
				}
				r := r
				r.Command, r.Cell, r.Run, r.Trie, r.Environment.LinkKind = "forward", name, n+1, TrieChange{}, "veth"
				r.Spec = fmt.Appendf(nil, `{"count":100000,"families":[4],"path":%q,"flows":65536,"burst":64,"under":%q,"duration_ns":1000000000,"link_kind":"veth","seed":1}`, path, f.under)
				r.Forward = &Forward{Path: path, Family: 4, Flows: 65536, Burst: 64, CPU: 1}
				r.Phases = nil
				stretches := []string{"rest"}
				if f.under != "none" {
					stretches = []string{"before", "during", "after"}
				}
				for k, stretch := range stretches {
					forwarded := int64(f.rates[path] * float64(1+i) / float64(1+k%2))
					wall := int64(1e9 + float64(n%3)*1e6)
					s := Forwarding{Stretch: stretch, Injected: forwarded, Forwarded: forwarded, Wall: wall}
					if stretch == "during" {
						s.Injected += 7
						s.Drops = []Drop{{"IpExt InNoRoutes", 5}, {"fc0 tx_dropped", 2}}
					}
					r.Forward.Stretches = append(r.Forward.Stretches, s)
					r.Phases = append(r.Phases, Phase{Name: stretch, Ops: s.Injected, Wall: wall, User: 1000, System: wall - 1e8, Blocked: 1e8 - 1000})
				}
				if f.change != nil {
					f.change(&r)
				}
				runs = append(runs, r)
			}
		}
	}
	return runs
}

func one(path string) []string { return []string{path} }

// profiled makes of a run its twin with a profile of the shares of that measurement.
func profiled(r Run) Run {
	stacks := []Stack{{"do_syscall_64;bpf_prog_run;fib_table_lookup", 1263}, {"other;fib_table_lookup", 800}, {"bpf_prog_run;bpf_fib_lookup", 1292},
		{"fib_select_path", 240}, {"a;fib_get_table", 83}, {"a;l3mdev_fib_table_rcu", 40}, {"fib_table_lookup;veth_poll", 5000}, {"x", 1282}}
	r.Profile = &Profile{Event: "cycles", Hz: 1999, Scope: "thread", Phases: []PhaseProfile{
		{Phase: "rest", Samples: 10_000, Stacks: stacks}, {Phase: "add", Samples: 99, Stacks: []Stack{{"fib_table_lookup", 99}}},
	}}
	return r
}

// The cost of a lookup by both ways of the measurement of 2018: as a difference of
// 1/pps, and as a share of the samples times the packet gap.
func TestLookupCostOfPublishedFigures(t *testing.T) {
	runs := forwardFixture{rates: published(), runs: 1, names: one, under: "none", change: func(r *Run) {
		r.Forward.Stretches[0].Wall = 1e9
	}}.make()
	costs := func(runs []Run) map[string]lookupCost {
		found := map[string]lookupCost{}
		b := newBlock(runs)
		for _, g := range forwardGroups(b) {
			for _, c := range g.costs(b.runs) {
				found[c.cell.name] = c
			}
		}
		return found
	}
	found := costs(runs)
	for path, want := range map[string]float64{PathLookup: 66.5, PathDirect: 60.0} {
		c, ok := found[path]
		if !ok || math.Abs(c.gaps.Median-want) > 0.06 {
			t.Errorf("%s: %.2f ns, want %.1f", path, c.gaps.Median, want)
		}
	}
	// The packet gap of the profile was 130.86 ns.
	gap := 1e9 / 130.86
	runs = forwardFixture{rates: map[string]float64{PathLookup: gap}, runs: 1, names: one, under: "none", change: func(r *Run) {
		r.Forward.Stretches[0].Wall = 1e9
	}}.make()
	c := costs(append(runs, profiled(runs[0])))[PathLookup]
	if share := 100 * c.share(c.inLookup); math.Abs(share-37.18) > 0.001 {
		t.Errorf("%.3f %% of the samples are in the lookup, want 37.18", share)
	}
	if ns := c.profiled(c.inLookup, c.gap); math.Abs(ns-48.65) > 0.01 {
		t.Errorf("the lookup takes %.2f ns of each packet, want 48.65", ns)
	}
	if s := c.symbols[0]; s.symbol != "fib_table_lookup" || math.Abs(c.profiled(s.samples, c.gap)-26.99) > 0.01 {
		t.Errorf("%s takes %.2f ns, want fib_table_lookup and 26.99", s.symbol, c.profiled(s.samples, c.gap))
	}
}

func TestWriteTextForward(t *testing.T) {
	two := func(path string) []string {
		return []string{path + " (IPv6, 1000 routes)", path + " (IPv4, 1000 routes)"}
	}
	for name, c := range map[string]struct {
		runs []Run
		opts TextOptions
	}{
		"forward": {forwardFixture{rates: published(), runs: 10, names: one, under: "none"}.make(), TextOptions{Width: 132}},
		"forward-profile": {func() []Run {
			runs := forwardFixture{rates: published(), runs: 6, names: one, under: "none"}.make()
			for _, r := range runs {
				if r.Forward.Path == PathLookup {
					runs = append(runs, profiled(r))
				}
			}
			return runs
		}(), TextOptions{Width: 132}},
		"forward-families":       {forwardFixture{rates: published(), runs: 2, names: two, under: "none"}.make(), TextOptions{Width: 132}},
		"forward-churn":          {forwardFixture{rates: published(), runs: 6, names: one, under: "flap"}.make(), TextOptions{Width: 132}},
		"forward-narrow":         {forwardFixture{rates: published(), runs: 6, names: one, under: "none"}.make(), TextOptions{Width: 80}},
		"forward-no-calibration": {forwardFixture{rates: map[string]float64{PathStack: 1e6, PathLookup: 2e6}, runs: 6, names: one, under: "none"}.make(), TextOptions{Width: 132}},
		"forward-wrong": {forwardFixture{rates: map[string]float64{PathStack: 1e6}, runs: 1, names: one, under: "none", change: func(r *Run) {
			r.Verified = false
			r.Checks = []Check{{Name: "packets forwarded or dropped for a reason, rest", Want: 1000, Got: 999}}
		}}.make(), TextOptions{Width: 132}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", name+".txt"), render(t, c.runs, c.opts))
		})
	}
}

// floods makes synthetic runs of flood with and without rules.
func floods(runs int, rates map[int]int64) []Run {
	var all []Run
	for n, r := range (fixture{cells: []string{""}, runs: runs}).make() {
		for _, rules := range []int{0, 1, 100} {
			if rates[rules] == 0 {
				continue
			}
			r := r
			r.Command, r.Run, r.Trie = "flood", n+1, TrieChange{}
			r.Cell = fmt.Sprintf("cookies (%d rules)", rules)
			r.Spec = fmt.Appendf(nil, `{"families":[6],"rules":%d,"flows":65536,"burst":64,"duration_ns":10000000000,"packets":0,"link_kind":"auto"}`, rules)
			cookies, wall := 10*rates[rules]-int64(n), int64(10e9)
			r.Flood = &Flood{Family: 6, Flows: 65536, Burst: 64, CPU: 1, Injected: cookies + 3, Cookies: cookies, Answers: cookies, Wall: wall,
				Drops: []Drop{{"TcpExt ListenDrops", 3}}}
			r.Phases = []Phase{{Name: "flood", Ops: cookies, Wall: wall, System: wall - 1e9, Blocked: 1e9}}
			all = append(all, r)
		}
	}
	return all
}

// The rates are those of a measurement of 2020, before and after a change.
func TestWriteTextFlood(t *testing.T) {
	golden(t, filepath.Join("testdata", "flood.txt"), render(t, floods(6, map[int]int64{0: 360_738, 1: 354_263, 100: 100_000}), TextOptions{Width: 132}))
	text := string(render(t, floods(1, map[int]int64{0: 354_263}), TextOptions{}))
	if !strings.Contains(text, "2822.8") && !strings.Contains(text, "2822.7") {
		t.Errorf("354,263 cookies a second are 2822.8 ns each:\n%s", text)
	}
}

// What forward and flood exist to measure is what is compared by default: the time of
// a packet, and not that of the whole stretch, which was given.
func TestComparePackets(t *testing.T) {
	slower := published()
	slower[PathLookup] *= 0.9
	compared := func(base, new []Run) map[string]Result {
		for i := range new {
			new[i].Time = new[i].Time.AddDate(0, 0, 1)
		}
		c, err := Compare([]Group{{Name: "a", Runs: base}, {Name: "b", Runs: new}}, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]Result{}
		for _, r := range c.Rows {
			found[r.Cell+" "+r.Phase+" "+r.Metric] = r.Result
		}
		return found
	}
	rates := func(r map[string]float64) []Run {
		return forwardFixture{rates: r, runs: 12, names: one, under: "none"}.make()
	}
	got := compared(rates(published()), rates(slower))
	for name, want := range map[string]Result{
		PathLookup + " rest packet": Slower, PathLookup + " rest packet-cpu": Slower, PathRedirect + " rest packet": Unshown,
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q (of %v)", name, got[name], want, got)
		}
	}
	if _, ok := got[PathLookup+" rest wall"]; ok {
		t.Error("the wall time of a stretch of given length is compared")
	}
	got = compared(floods(12, map[int]int64{1: 354_263}), floods(12, map[int]int64{1: 360_738}))
	if got["cookies (1 rules) flood packet"] != Faster {
		t.Errorf("a flood with more cookies is %v", got)
	}
}
