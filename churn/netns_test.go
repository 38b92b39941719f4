package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

func netnsSpec(t testing.TB, change func(*NetnsSpec)) *NetnsSpec {
	t.Helper()
	s := &NetnsSpec{Load: "both", Namespaces: 3, Routes: 30, Subnets: 20, Families: []int{4}, LinkKind: netnstest.Kind(t)}
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every load and family is filled in, counted and gone afterwards.
func TestNetnsVerifies(t *testing.T) {
	for _, load := range NetnsLoads() {
		for _, families := range [][]int{{4}, {6}, {4, 6}} {
			t.Run(fmt.Sprint(load, families), func(t *testing.T) {
				s := netnsSpec(t, func(s *NetnsSpec) { s.Load, s.Families = load, families })
				run := mustRun(t, s)
				phases, checks := "create fill dismantle", 6
				if load == "bare" {
					phases, checks = "create dismantle", 2
				}
				if !run.Verified || phaseNames(run) != phases || len(run.Checks) != checks {
					t.Errorf("verified %v, phases %s, checks %v", run.Verified, phaseNames(run), run.Checks)
				}
				del := run.Phase("dismantle")
				if del.Ops != 3 || del.Wall <= 0 || del.Subnets != 3*int64(s.addresses()+s.routes())*int64(len(families)) {
					t.Errorf("dismantle: %+v", del)
				}
				if run.Trie.Before.IPv4 != nil || run.Trie.After.IPv4 != nil {
					t.Error("the record has the trie of a namespace that nothing was put into")
				}
			})
		}
	}
}

func TestNetnsLoops(t *testing.T) {
	run := mustRun(t, netnsSpec(t, func(s *NetnsSpec) { s.Load, s.Loops, s.Namespaces = "bare", 4, 6 }))
	loops := run.Phase("loops")
	if !run.Verified || phaseNames(run) != "loops" || loops.Ops != 24 || loops.Wall <= 0 {
		t.Errorf("verified %v, phases %s, %+v", run.Verified, phaseNames(run), loops)
	}
}

// What is not put into the namespaces, or not let go, is found.
func TestNetnsFaultsAreFound(t *testing.T) {
	nothing := func(name string) func(*Plan) {
		return func(p *Plan) {
			planPhase(p, name).Timed = func(*rtnl.Conn) (rtnl.Cost, error) { return rtnl.Cost{}, nil }
		}
	}
	for _, test := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"nothing is put in", nothing("fill"), "links before dismantle: 0 instead of 3"},
		{"nothing is let go", nothing("dismantle"), "namespaces after dismantle: 3 instead of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run, err := (&Runner{}).Run(context.Background(), faulty{netnsSpec(t, func(s *NetnsSpec) { s.Load = "routes" }), test.change}, 1)
			if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), test.want) || run.Sample() {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// A namespace that lacks one of its routes is found among the others.
func TestNetnsMissingRoute(t *testing.T) {
	s := netnsSpec(t, func(*NetnsSpec) {})
	plan := &netnsPlan{spec: s, link: ns.NewLink(s.LinkKind, 0)}
	plan.found.namespaces, plan.found.links = 3, 3
	plan.found.addresses, plan.found.local, plan.found.routes = 60, 60, 149
	broken := 0
	for _, c := range plan.checkLoaded(nil) {
		if !c.OK() {
			broken++
			if c != (results.Check{Name: "routes before dismantle", Want: 150, Got: 149}) {
				t.Errorf("%+v", c)
			}
		}
	}
	if broken != 1 {
		t.Errorf("%d checks failed, want 1", broken)
	}
}

func TestNetnsValidate(t *testing.T) {
	valid := NetnsSpec{Load: "addrs", Namespaces: 3, Routes: 10, Subnets: 10, Families: []int{4}, LinkKind: "dummy"}
	for _, test := range []struct {
		name   string
		change func(*NetnsSpec)
		want   string
	}{
		{"valid", func(*NetnsSpec) {}, ""},
		{"unknown load", func(s *NetnsSpec) { s.Load = "x" }, "--as x: must be one of addrs, routes, both, empty, bare"},
		{"no namespaces", func(s *NetnsSpec) { s.Namespaces = 0 }, "--namespaces 0: must be 1 to 65536"},
		{"many namespaces", func(s *NetnsSpec) { s.Namespaces = 65537 }, "--namespaces 65537: must be 1 to 65536"},
		{"many loops", func(s *NetnsSpec) { s.Loops = 1025 }, "--loops 1025: must be at most 1024"},
		{"loops of more than nothing", func(s *NetnsSpec) { s.Loops = 2 }, "--loops 2: loops make bare namespaces; leave --as, --routes and --subnets out"},
		{"tun", func(s *NetnsSpec) { s.LinkKind = "tun" }, "--link-kind tun: its interface goes with its file, before the namespace does"},
		{"no family", func(s *NetnsSpec) { s.Families = nil }, "no address family"},
		{"unknown family", func(s *NetnsSpec) { s.Families = []int{5} }, "unknown address family 5"},
		{"no subnets", func(s *NetnsSpec) { s.Subnets = 0 }, "--subnets 0: --as addrs has nothing to add"},
		{"no routes", func(s *NetnsSpec) { s.Load, s.Routes = "both", 0 }, "--routes 0: --as both has nothing to add"},
		{"no subnets but routes", func(s *NetnsSpec) { s.Load, s.Subnets = "routes", 0 }, ""},
		{"more than the pool", func(s *NetnsSpec) { s.Subnets = 7667713 }, "--subnets 7667713 --routes 0: there are 7667712 IPv4 /24 subnets to choose from"},
		{"more than a run", func(s *NetnsSpec) { s.Subnets = 7e6 }, "--subnets 7000000 --routes 0 in 3 namespaces: one run takes at most 16777216 addresses and routes"},
	} {
		s := valid
		test.change(&s)
		if got := complaint(s.Validate()); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
