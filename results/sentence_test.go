package results

import (
	"strings"
	"testing"
)

// The cases that no golden file has: what a conclusion must not claim.
func TestDeleteSentences(t *testing.T) {
	const otherBoot = "00000000-0000-4000-8000-000000000002"
	for _, c := range []struct {
		name   string
		set    func(*fixture)
		change func(*Run, int)
		want   []string // in the first paragraph
		not    []string
	}{
		{name: "runs of different loads",
			change: func(r *Run, n int) { r.Phase(deletePhase).Subnets += int64(n % 2) },
			want:   []string{"The runs of addrs did not all remove the same number of subnets"}, not: []string{"times"}},
		{name: "routes of different loads",
			change: func(r *Run, n int) {
				if r.Cell == cellRoutes {
					r.Phase(deletePhase).Subnets += int64(n % 2)
				}
			},
			want: []string{"Removing 8192 local subnets costs 36.0 ms"}, not: []string{"routes", "times"}},
		{name: "empty removed another number of interfaces",
			change: func(r *Run, _ int) {
				if r.Cell == cellEmpty {
					r.Phase(deletePhase).Ops = 2
				}
			},
			want: []string{"raw: the runs of empty removed another number of interfaces. That is 1.9 times (95 % interval 1.89 to 1.92) what 8192 routes take"},
			not:  []string{" net "}},
		{name: "empty of another boot",
			change: func(r *Run, _ int) {
				if r.Cell == cellEmpty {
					r.Boot = otherBoot
				}
			},
			want: []string{"raw: no run of empty has its boot and number"}, not: []string{" net "}},
		{name: "routes without a partner",
			change: func(r *Run, _ int) {
				if r.Cell == cellRoutes {
					r.Boot = otherBoot
				}
			},
			want: []string{"costs 36.0 ms", "net of the empty interface (27.0 ms)."}, not: []string{"times", "routes"}},
		{name: "raw and few",
			set:  func(f *fixture) { f.cells, f.runs = []string{cellRoutes, cellAddrs}, 2 },
			want: []string{"takes 63.1 ms (2 runs, too few for a 95 % interval), raw", "; 8192 routes take 32.9 ms, raw too: too few pairs of runs for a ratio."}, not: []string{"times"}},
		{name: "few boots",
			change: func(r *Run, n int) { r.Boot += string(rune('a' + n/6)) },
			want:   []string{"(5 boots, too few for a 95 % interval)"}, not: []string{"times"}},
		{name: "interfaces that share unevenly",
			change: func(r *Run, _ int) { r.Phase(deletePhase).Ops = 3 },
			want:   []string{"Removing 3 interfaces with 8192 local subnets in all costs"}},
		{name: "few, and less than empty",
			set:  func(f *fixture) { f.runs, f.cost = 2, map[string]int64{cellAddrs: -8e6, cellRoutes: 6e6} },
			want: []string{"a difference of -", "(2 runs, too few for a 95 % interval), which so few cannot tell from none"}, not: []string{"costs", "times"}},
		{name: "CPU time in ticks",
			change: func(r *Run, _ int) { r.Environment.Virtualisation = "uml" },
			want:   []string{"Removing 8192 local subnets costs 36.0 ms"}, not: []string{"CPU", "blocked"}},
		{name: "unknown CPU time",
			change: func(r *Run, _ int) { r.Phase(deletePhase).CPUUnknown = true },
			want:   []string{"Removing 8192 local subnets costs 36.0 ms"}, not: []string{"CPU", "NaN"}},
		{name: "CPU time like that of empty",
			change: func(r *Run, _ int) {
				p := r.Phase(deletePhase)
				p.User, p.System = 0, 26_000_000+int64(1-2*(r.Run%2))*int64(len(r.Cell)*1000)
			},
			want: []string{"grace periods and locks: not distinguishable from the empty interface, "}, not: []string{"no more than"}},
		{name: "raw, of the same cost",
			set:  func(f *fixture) { f.cells, f.cost = []string{cellRoutes, cellAddrs}, nil },
			want: []string{"1.0 times (95 % interval 0.9", ", no difference is shown) what 8192 routes take"}},
		{name: "another cell",
			set:  func(f *fixture) { f.cells = []string{"odd", cellEmpty}; f.cost = map[string]int64{"odd": 1e6} },
			want: []string{"Removing 8192 subnets of odd costs"}},
		{name: "less than empty",
			set:  func(f *fixture) { f.cost = map[string]int64{cellAddrs: -2e6, cellRoutes: 6e6} },
			want: []string{"takes less time than the empty interface (27.0 ms): -2.02 ms net", "; 8192 routes cost 6.03 ms net"}, not: []string{"times"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeCells()
			if c.set != nil {
				c.set(&f)
			}
			f.change = c.change
			got := strings.ReplaceAll(deleteSentences(newBlock(f.make()))[0], nbsp, " ")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in: %s", want, got)
				}
			}
			for _, not := range c.not {
				if strings.Contains(got, not) {
					t.Errorf("%q in: %s", not, got)
				}
			}
		})
	}
}
