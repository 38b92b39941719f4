package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// routesSpec is a small valid one, with its prefixes.
func routesSpec(t testing.TB, change func(*RoutesSpec)) *RoutesSpec {
	t.Helper()
	s := validRoutes()
	s.LinkKind = netnstest.Kind(t)
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := s.Generate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func validRoutes() *RoutesSpec {
	return &RoutesSpec{
		TableSpec: TableSpec{
			Layout: prefixes.Dense, Count: 1000, Families: []int{4}, Table: 254, Tables: 1,
			Order: "added", Batch: DefaultBatch, Ack: "last", Seed: 1,
		},
		Parallel: 1, ParallelIn: "table",
	}
}

// Every dimension installs, changes and removes what it says.
func TestRoutesVerifies(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*RoutesSpec){
		"plain":      func(*RoutesSpec) {},
		"IPv6":       func(s *RoutesSpec) { s.Families = []int{6} },
		"both":       func(s *RoutesSpec) { s.Families = []int{4, 6} },
		"sparse":     func(s *RoutesSpec) { s.Layout = prefixes.Sparse },
		"random":     func(s *RoutesSpec) { s.Layout = prefixes.Random },
		"linear32":   func(s *RoutesSpec) { s.Layout, s.Families = prefixes.Linear32, []int{4, 6} },
		"dfz":        func(s *RoutesSpec) { s.Layout, s.Families = prefixes.DFZ, []int{4, 6} },
		"reverse":    func(s *RoutesSpec) { s.Order, s.Families = "reverse", []int{4, 6} },
		"shuffled":   func(s *RoutesSpec) { s.Order = "random" },
		"ack all":    func(s *RoutesSpec) { s.Ack = "all" },
		"ack none":   func(s *RoutesSpec) { s.Ack = "none" },
		"one a call": func(s *RoutesSpec) { s.Batch, s.Count = 1, 100 },
		"odd batch":  func(s *RoutesSpec) { s.Batch, s.Count = 7, 17000 },
		"huge batch": func(s *RoutesSpec) { s.Batch, s.Count = MaxBatch, 40000 },
		"table 100":  func(s *RoutesSpec) { s.Table = 100 },
		"far tables": func(s *RoutesSpec) { s.Table, s.Tables = 70000, 5 },
		"rules":      func(s *RoutesSpec) { s.Rules, s.Families = 50, []int{4, 6} },
		"unmerged":   func(s *RoutesSpec) { s.Unmerge = true },
		"writers":    func(s *RoutesSpec) { s.Parallel, s.Families = 3, []int{4, 6} },
		"in tables":  func(s *RoutesSpec) { s.Parallel, s.ParallelIn, s.Table = 3, "tables", 1000 },
		"in spaces":  func(s *RoutesSpec) { s.Parallel, s.ParallelIn, s.Order = 3, "namespaces", "random" },
		"in spaces6": func(s *RoutesSpec) {
			s.Parallel, s.ParallelIn, s.Order, s.Families = 7, "namespaces", "reverse", []int{4, 6}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := routesSpec(t, change)
			run := mustRun(t, s)
			if got := phaseNames(run); got != "add replace delete re-add flush" {
				t.Errorf("phases %s", got)
			}
			for _, phase := range []string{"add", "replace", "delete", "re-add"} {
				if p := run.Phase(phase); p.Ops != int64(s.routes()) || p.Subnets != int64(s.routes()) || p.Wall <= 0 {
					t.Errorf("%s of %d routes: %+v", phase, s.routes(), p)
				}
			}
			if tables := run.Trie.Before.IPv4.Tables; s.Unmerge && tables[0].Prefixes == tables[len(tables)-1].Prefixes {
				t.Errorf("the tables are still merged: %+v", tables)
			}
		})
	}
}

func TestRoutesFaultsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"a route is missing":    {func(p *Plan) { planPhase(p, "add").Ops-- }, "IPv4 routes after add: 999 instead of 1000"},
		"one is not replaced":   {func(p *Plan) { planPhase(p, "replace").Ops-- }, "IPv4 routes after replace: 999 instead of 1000"},
		"one is not deleted":    {func(p *Plan) { planPhase(p, "delete").Ops-- }, "IPv4 routes after delete: 1 instead of 0"},
		"nothing was flushed":   {func(p *Plan) { planPhase(p, "flush").Ops = 0 }, "IPv4 routes after flush: 1000 instead of 0"},
		"one is added too many": {func(p *Plan) { appendRoute(planPhase(p, "add")) }, "IPv4 routes after add: 1001 instead of 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			w := faulty{routesSpec(t, func(*RoutesSpec) {}), func(p *Plan) {
				for _, ph := range p.Phases {
					ph.Loaded = false // no patience
				}
				test.change(p)
			}}
			run, err := (&Runner{}).Run(context.Background(), w, 1)
			if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), test.want) || run.Sample() {
				t.Fatalf("error %v, want %q", err, test.want)
			}
		})
	}
}

// What one writer is refused ends the run, and names the request.
func TestParallelRefusal(t *testing.T) {
	w := faulty{routesSpec(t, func(s *RoutesSpec) { s.Parallel = 2 }), func(p *Plan) {
		add := planPhase(p, "add")
		fill := add.Fill
		add.Fill = planPhase(p, "re-add").Fill
		planPhase(p, "re-add").Fill = fill
		planPhase(p, "delete").Ops = 500 // the other half is still there when it is added again
		planPhase(p, "delete").Check = nil
	}}
	_, err := (&Runner{}).Run(context.Background(), w, 1)
	if err == nil || !strings.Contains(err.Error(), "phase re-add: add route 20.1.244.0/24 in table 254: file exists") {
		t.Fatalf("error %v", err)
	}
}

// The observers' sides of a run are closed also when it fails.
func TestObserversAreStopped(t *testing.T) {
	w := faulty{routesSpec(t, func(*RoutesSpec) {}), func(p *Plan) { planPhase(p, "delete").Ops-- }}
	o := &countingObserver{}
	if _, err := (&Runner{Observers: []Observer{o}}).Run(context.Background(), w, 1); err == nil {
		t.Fatal("the run succeeded")
	}
	if o.started != 1 || o.stopped != 1 {
		t.Errorf("started %d times, stopped %d times", o.started, o.stopped)
	}
}

type countingObserver struct{ started, stopped int }

func (o *countingObserver) Start(*ns.Namespace) error { o.started++; return nil }
func (o *countingObserver) Stop(*results.Run) error   { o.stopped++; return nil }

// A socket with small buffers makes more calls than asked for, and the record says so.
func TestSmallerCallsAreSaid(t *testing.T) {
	for _, test := range []struct {
		perCall, writers, spaces int
		requests, calls          int64
		warns                    bool
	}{
		{256, 0, 1, 1000, 4, false},
		{256, 0, 1, 1000, 5, true},
		{256, 2, 1, 1000, 4, false},
		{256, 2, 1, 1010, 5, false},
		{256, 3, 3, 1000, 6, false},
		{256, 3, 3, 1000, 7, true},
		{1, 0, 1, 1000, 1000, false},
		{0, 0, 1, 1000, 9, false},
	} {
		ph := &Phase{PerCall: test.perCall, Writers: test.writers}
		got := smallerCalls(ph, rtnl.Cost{Requests: test.requests, Calls: test.calls}, test.spaces)
		if (len(got) > 0) != test.warns {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// On this machine's own sockets the default batch is what a call has.
func TestDefaultBatchFits(t *testing.T) {
	run := mustRun(t, routesSpec(t, func(s *RoutesSpec) { s.Count = 20000 }))
	for _, w := range run.Warnings {
		if w.Kind == "batch" {
			t.Errorf("%+v", w)
		}
	}
}

func TestRoutesValidate(t *testing.T) {
	for _, test := range []struct {
		change func(*RoutesSpec)
		want   string
	}{
		{func(*RoutesSpec) {}, ""},
		{func(s *RoutesSpec) { s.Count = 0 }, "--count 0: must be at least 1"},
		{func(s *RoutesSpec) { s.Layout, s.Count = prefixes.DFZ, 5_000_000 }, "--count 5000000: the layout dfz has at most"},
		{func(s *RoutesSpec) { s.Batch = 0 }, "--batch 0: must be 1 to 32768"},
		{func(s *RoutesSpec) { s.Batch = MaxBatch + 1 }, "--batch 32769: must be"},
		{func(s *RoutesSpec) { s.Ack = "some" }, "--ack some: must be last, none or all"},
		{func(s *RoutesSpec) { s.Order = "sorted" }, "--order sorted: must be added, reverse or random"},
		{func(s *RoutesSpec) { s.Table = 0 }, "--table 0: must be a table other than"},
		{func(s *RoutesSpec) { s.Table = 255 }, "--table 255: must be a table other than"},
		{func(s *RoutesSpec) { s.Table, s.Tables = 250, 4 }, "--table 250 --tables 4: the range meets the tables"},
		{func(s *RoutesSpec) { s.Table, s.Tables = 1<<32-1, 2 }, "--table 4294967295"},
		{func(s *RoutesSpec) { s.Tables = 0 }, "--tables 0: must be 1 to"},
		{func(s *RoutesSpec) { s.Rules = 32001 }, "--rules 32001: must be 0 to 32000"},
		{func(s *RoutesSpec) { s.Parallel = 0 }, "--parallel 0: must be 1 to 1024"},
		{func(s *RoutesSpec) { s.Parallel, s.Count = 20, 10 }, "--parallel 20: more writers than the 10 routes"},
		{func(s *RoutesSpec) { s.ParallelIn = "space" }, "--parallel-in space: must be table, tables, namespaces"},
		{func(s *RoutesSpec) { s.ParallelIn, s.Table, s.Tables = "tables", 100, 2 }, "--tables 2: --parallel-in tables makes one for each writer"},
		{func(s *RoutesSpec) { s.ParallelIn, s.Parallel = "tables", 2 }, "--table 254 --tables 2: the range meets"},
	} {
		s := validRoutes()
		test.change(s)
		got := fmt.Sprint(s.Validate())
		if (test.want == "") != (got == "<nil>") || test.want != "" && !strings.HasPrefix(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
