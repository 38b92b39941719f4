package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// nexthopsRuns are synthetic runs of two numbers of paths, with round figures.
func nexthopsRuns(runs int, change func(*Run, int)) []Run {
	f := fixture{cells: []string{"4 objects", "16 multipath", "1 plain", "4 multipath", "16 objects", "1 objects"}, runs: runs, spread: 200_000}
	f.change = func(r *Run, n int) {
		var paths int
		var hops string
		if _, err := fmt.Sscan(r.Cell, &paths, &hops); err != nil {
			panic(err)
		}
		r.Command = "nexthops"
		r.Spec = json.RawMessage(fmt.Sprintf(`{"layout":"dense","count":100000,"families":[4],"hops":%q,"paths":%d,"no_compat":false,"link_kind":"auto","seed":1}`, hops, paths))
		phase := func(name string, ops, ms int64) Phase {
			wall := ms*1_000_000 + f.offset(n)
			return Phase{Name: name, Ops: ops, Subnets: 100_000, Wall: wall, System: wall}
		}
		p := int64(paths)
		r.Phases = []Phase{phase("add", 100_000, 300+100*p), phase("replace", 100_000, 300+100*p), phase("delete", 100_000, 300+10*p)}
		if hops == "objects" {
			r.Phases = []Phase{phase("add", 100_000, 250), phase("replace", 1, 80), phase("delete", 1, 20)}
		}
		if change != nil {
			change(r, n)
		}
	}
	return f.make()
}

func TestNexthopsText(t *testing.T) {
	opts := TextOptions{Width: 132}
	text := render(t, nexthopsRuns(10, nil), opts)
	golden(t, filepath.Join("testdata", "nexthops.txt"), text)
	checkText(t, string(text), opts)
}

func TestNexthopsSentences(t *testing.T) {
	same := func(r *Run, _ int) {
		sign := int64(1 - 2*(r.Run%2))
		if strings.Contains(r.Cell, "objects") {
			sign = -sign
		}
		r.Phases[0].Wall = 300_000_000 + sign*int64(r.Run)*1_000_000
	}
	for _, test := range []struct {
		name   string
		runs   int
		change func(*Run, int)
		want   []string
		not    []string
	}{
		{"all", 10, nil, []string{
			"With 4 paths, multipath next hops in 100000 routes against a nexthop group that all share: add 700 ms against 250 ms, 2.8 times as long",
			"With 1 path, plain next hops in 100000 routes against a nexthop object that all share: add 400 ms against 250 ms, 1.6 times as long",
			"one request to what all routes share"}, nil},
		{"few", 2, nil, []string{"(2 runs, too few to tell them apart)"}, []string{"times"}},
		{"no difference", 10, same, []string{"no measurable difference; replace"}, nil},
		{"objects slower", 10, func(r *Run, _ int) {
			if strings.Contains(r.Cell, "objects") {
				r.Phases[0].Wall *= 10
			}
		}, []string{"add 400 ms against 2.50 s, which is 6.3 times as long"}, nil},
		{"of different boots", 10, func(r *Run, _ int) { r.Boot = r.Cell }, []string{"No run of 1 plain and of 1 objects went side by side"}, []string{"times"}},
		{"without objects", 10, func(r *Run, _ int) { r.Spec = json.RawMessage(`{"hops":"plain","paths":1}`) }, nil, []string{"With"}},
		{"unreadable specs", 10, func(r *Run, _ int) { r.Spec = json.RawMessage(`[]`) }, nil, []string{"With"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, nexthopsSentences(newBlock(nexthopsRuns(test.runs, test.change))), test.want, test.not)
		})
	}
}

// expect demands texts in a conclusion, and the absence of others.
func expect(t *testing.T, sentences, want, not []string) {
	t.Helper()
	got := strings.ReplaceAll(strings.Join(sentences, "\n"), nbsp, " ")
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in: %s", w, got)
		}
	}
	for _, n := range not {
		if strings.Contains(got, n) {
			t.Errorf("%q in: %s", n, got)
		}
	}
}
