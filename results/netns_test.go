package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
)

// netnsRuns are synthetic runs, with round figures.
func netnsRuns(runs int, change func(*Run, int)) []Run {
	f := fixture{cells: []string{"empty", "routes", "addrs"}, runs: runs, spread: 200_000}
	f.change = func(r *Run, n int) {
		r.Command = "netns"
		r.Spec = json.RawMessage(fmt.Sprintf(`{"load":%q,"namespaces":16,"loops":0,"routes":1000,"subnets":500,"families":[4,6],"link_kind":"auto","seed":1}`, r.Cell))
		r.Trie = TrieChange{}
		phase := func(name string, ops, ms int64) Phase {
			wall := ms*1_000_000 + f.offset(n)
			return Phase{Name: name, Ops: ops, Wall: wall, Blocked: wall}
		}
		cost := map[string]int64{"empty": 40, "routes": 60, "addrs": 160}[r.Cell]
		r.Phases = []Phase{phase("create", 16, 6), phase("fill", 64, 2*cost), phase("dismantle", 16, cost)}
		if change != nil {
			change(r, n)
		}
	}
	return f.make()
}

func TestNetnsText(t *testing.T) {
	opts := TextOptions{Width: 132}
	text := render(t, netnsRuns(10, nil), opts)
	golden(t, filepath.Join("testdata", "netns.txt"), text)
	checkText(t, string(text), opts)
}

// toLoops makes a run one of loops.
func toLoops(r *Run, _ int) {
	r.Cell = "loops"
	r.Spec = json.RawMessage(`{"load":"bare","namespaces":100,"loops":40,"families":[4]}`)
	r.Phases = []Phase{{Name: "loops", Ops: 4000, Wall: 2_000_000_000 + int64(r.Run)*1_000_000}}
}

func TestNetnsSentences(t *testing.T) {
	for _, test := range []struct {
		name   string
		runs   int
		change func(*Run, int)
		want   []string
		not    []string
	}{
		{"all", 10, nil, []string{
			"Dismantling 16 namespaces with 2000 routes each takes 60.0 ms (95 % interval 59.8 to 60.1 ms): 3.75 ms a namespace. The load costs 20.0 ms net of the empty interfaces (95 % interval",
			"Dismantling 16 namespaces with 1000 local subnets each takes 160 ms",
			"Dismantling 16 namespaces with an empty interface each takes 40.0 ms"}, nil},
		{"few", 2, nil, []string{"takes 60.0 ms (2 runs, too few for a 95 % interval)", "Against the empty interfaces that is a difference of 19.9 ms (too few", "which so few cannot tell from none"}, []string{"costs"}},
		{"nothing measurable", 10, func(r *Run, n int) { r.Phase("dismantle").Wall = 40_000_000 + int64(n*7%11)*1_000_000 },
			[]string{"The load costs no measurable time more than empty interfaces"}, []string{"net of"}},
		{"less", 10, func(r *Run, _ int) {
			if r.Cell == "routes" {
				r.Phase("dismantle").Wall = 20_000_000
			}
		}, []string{"The load takes less time than empty interfaces: -20"}, nil},
		{"of different boots", 10, func(r *Run, _ int) { r.Boot = r.Cell }, []string{"3.75 ms a namespace."}, []string{"The load"}},
		{"one namespace", 10, func(r *Run, _ int) {
			r.Spec = json.RawMessage(fmt.Sprintf(`{"load":%q,"namespaces":1,"subnets":1,"routes":1,"families":[4]}`, r.Cell))
		}, []string{"1 namespace with 1 local subnet takes", "1 namespace with an empty interface takes"}, []string{"a namespace", "each"}},
		{"bare and both", 10, func(r *Run, _ int) {
			load := map[string]string{"addrs": "both", "routes": "bare", "empty": "odd"}[r.Cell]
			r.Cell = load
			r.Spec = json.RawMessage(fmt.Sprintf(`{"load":%q,"namespaces":3,"subnets":5,"routes":7,"families":[4]}`, load))
		}, []string{"3 namespaces with 5 local subnets and 7 routes each takes", "3 namespaces without an interface takes", "3 namespaces of the load odd"}, nil},
		{"loops", 10, toLoops, []string{"40 loops of 100 namespaces each take 2.01 s", "from the first unshare to the end of the last namespace: 501 us a namespace."}, nil},
		{"without the phase", 10, func(r *Run, _ int) { r.Phases = r.Phases[:1] }, []string{"No run of addrs came to its end."}, []string{"takes"}},
		{"different specs", 10, func(r *Run, n int) {
			if n%2 == 0 {
				r.Spec = json.RawMessage(`{"load":"empty","namespaces":5}`)
			}
		}, nil, []string{"takes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, netnsSentences(newBlock(netnsRuns(test.runs, test.change))), test.want, test.not)
		})
	}
}
