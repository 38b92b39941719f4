package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// spec is a small valid one of the kind that works here.
func spec(t testing.TB, change func(*DeleteIfaceSpec)) *DeleteIfaceSpec {
	t.Helper()
	s := &DeleteIfaceSpec{Load: "addrs", Subnets: 300, Ifaces: 1, Families: []int{4}, LinkKind: netnstest.Kind(t), Setup: "down"}
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// lossless is a number of IPv6 addresses that a link can have when it comes up
// without the kernel running out of the memory it makes their routes with.
const lossless = 100

func mustRun(t testing.TB, w Workload) *results.Run {
	t.Helper()
	run, err := (&Runner{}).Run(context.Background(), w, 1)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func phaseNames(run *results.Run) string {
	var names []string
	for _, p := range run.Phases {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// Every load, family, order and link count installs and removes what it says.
func TestDeleteIfaceVerifies(t *testing.T) {
	t.Parallel()
	for _, load := range Loads() {
		for _, families := range [][]int{{4}, {6}, {4, 6}} {
			for _, setup := range []string{"down", "up"} {
				for _, ifaces := range []int{1, 3} {
					t.Run(fmt.Sprint(load, families, setup, ifaces), func(t *testing.T) {
						s := spec(t, func(s *DeleteIfaceSpec) {
							s.Load, s.Families, s.Setup, s.Ifaces = load, families, setup, ifaces
							s.DownFirst = ifaces == 3
							if families[len(families)-1] == 6 && setup == "down" {
								s.Subnets = lossless
							}
						})
						run := mustRun(t, s)
						if !run.Verified || run.Partial {
							t.Errorf("verified %v, partial %v", run.Verified, run.Partial)
						}
						if len(run.Checks) != 2+5*len(families) {
							t.Errorf("%d checks: %v", len(run.Checks), run.Checks)
						}
						for _, p := range run.Phases {
							if p.Wall <= 0 || p.User < 0 || p.System < 0 || p.User+p.System == 0 || p.Blocked < 0 {
								t.Errorf("implausible phase %+v", p)
							}
							if p.Wall < p.Blocked {
								t.Errorf("blocked for longer than it took: %+v", p)
							}
						}
						del := run.Phase("delete")
						want := int64(s.Subnets * ifaces * len(families))
						if load == "empty" {
							want = 0
						}
						if del.Ops != int64(ifaces) || del.Subnets != want {
							t.Errorf("delete of %d links and %d subnets: %+v", ifaces, want, del)
						}
					})
				}
			}
		}
	}
}

func TestDeleteIfacePhases(t *testing.T) {
	for _, test := range []struct {
		load, setup string
		downFirst   bool
		want        string
	}{
		{"addrs", "down", false, "create add up delete"},
		{"addrs", "up", false, "create up add delete"},
		{"addrs", "down", true, "create add up down delete"},
		{"secondaries", "down", false, "create add up delete"},
		{"routes", "down", false, "create up add delete"},
		{"empty", "up", true, "create up down delete"},
	} {
		run := mustRun(t, spec(t, func(s *DeleteIfaceSpec) {
			s.Load, s.Setup, s.DownFirst = test.load, test.setup, test.downFirst
		}))
		if got := phaseNames(run); got != test.want {
			t.Errorf("%+v: phases %s", test, got)
		}
	}
}

// Adding the addresses while the link is down is faster and gives the same table.
func TestSetupDownAndUpGiveTheSameTable(t *testing.T) {
	for _, load := range []string{"addrs", "secondaries"} {
		for _, families := range [][]int{{4}, {6}} {
			var tables []results.Tables
			for _, setup := range []string{"down", "up"} {
				run := mustRun(t, spec(t, func(s *DeleteIfaceSpec) {
					s.Load, s.Setup, s.Families, s.Subnets = load, setup, families, 1000
					if families[0] == 6 {
						s.Subnets = lossless
					}
				}))
				tables = append(tables, run.Trie.Before)
			}
			if diff := cmp.Diff(tables[0], tables[1]); diff != "" {
				t.Errorf("%s IPv%d: (-down +up)\n%s", load, families[0], diff)
			}
		}
	}
}

// 8192 addresses in /24s of their own give the trie that was published for them:
// three entries each.
func TestTrieOf8192Addresses(t *testing.T) {
	run := mustRun(t, spec(t, func(s *DeleteIfaceSpec) { s.Subnets = 8192 }))
	main := run.Trie.Before.IPv4.Tables[0]
	const loopback = 3 // entries of the loopback interface
	if main.Prefixes != 3*8192+loopback || main.TnodesByBits[15] != 1 {
		t.Errorf("before: %+v", main)
	}
	if after := run.Trie.After.IPv4.Tables[0]; after.Prefixes != loopback {
		t.Errorf("after: %+v", after)
	}
}

func TestEveryLinkKind(t *testing.T) {
	netnstest.Root(t)
	for _, kind := range ns.Kinds() {
		if err := ns.TryKind(kind); err != nil {
			t.Logf("%s: %v", kind, err)
			continue
		}
		for _, load := range Loads() {
			run := mustRun(t, spec(t, func(s *DeleteIfaceSpec) { s.LinkKind, s.Load, s.Ifaces = kind, load, 2 }))
			if got := run.Phase("create").Ops; got != 2 {
				t.Errorf("%s: create took %d requests", kind, got)
			}
		}
	}
}

func TestPrefixLengths(t *testing.T) {
	for _, test := range []struct{ family, bits, subnets int }{{4, 32, 300}, {4, 31, 300}, {4, 30, 300}, {4, 16, 300}, {4, 8, 100}, {6, 128, 300}, {6, 127, 300}, {6, 48, 300}} {
		for _, load := range []string{"addrs", "routes"} {
			mustRun(t, spec(t, func(s *DeleteIfaceSpec) {
				s.Load, s.Families, s.PrefixLen, s.Subnets = load, []int{test.family}, test.bits, test.subnets
			}))
		}
	}
}

// faulty changes the plan of a workload.
type faulty struct {
	Workload
	change func(*Plan)
}

func (f faulty) Plan() (*Plan, error) {
	p, err := f.Workload.Plan()
	if err == nil {
		f.change(p)
	}
	return p, err
}

func planPhase(p *Plan, name string) *Phase {
	for _, ph := range p.Phases {
		if ph.Name == name {
			return ph
		}
	}
	return nil
}

// appendRoute makes a phase end with a route to the first subnet.
func appendRoute(ph *Phase) {
	fill, ops := ph.Fill, ph.Ops
	ph.Ops++
	ph.Fill = func(b *rtnl.Batch, from, to int) error {
		if err := fill(b, from, min(to, ops)); err != nil || to <= ops {
			return err
		}
		route, err := newRouteThrough(4, ns.NewLink("", 0).Index)
		if err == nil {
			b.AppendPrefix(route, subnet(4, 24, 0))
		}
		return err
	}
}

// A run in which not everything asked for is installed, or not everything removed
// is gone, is an error and no sample.
func TestFaultsAreFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		load   string
		change func(*Plan)
		want   string
	}{
		{"an address is missing", "addrs", func(p *Plan) { planPhase(p, "add").Ops = 299 }, "IPv4 addresses before delete: 299 instead of 300"},
		{"a route is missing", "routes", func(p *Plan) { planPhase(p, "add").Ops = 299 }, "IPv4 routes before delete: 299 instead of 300"},
		{"the link stays down", "addrs", func(p *Plan) { planPhase(p, "up").Ops = 0 }, "IPv4 routes before delete: 0 instead of 300"},
		{"the link is not removed", "addrs", func(p *Plan) { planPhase(p, "delete").Ops = 0 }, "links after delete: 1 instead of 0"},
		{"the empty link has a route", "empty", func(p *Plan) {
			appendRoute(planPhase(p, "up"))
		}, "IPv4 routes before delete: 1 instead of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := faulty{spec(t, func(s *DeleteIfaceSpec) { s.Load = test.load }), func(p *Plan) {
				for _, ph := range p.Phases {
					ph.Loaded = false // no patience
				}
				test.change(p)
			}}
			run, err := (&Runner{}).Run(context.Background(), w, 1)
			if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if run.Verified || run.Sample() {
				t.Error("the run counts as a sample")
			}
		})
	}
}

// A request the kernel refuses ends the run with the kernel's words.
func TestRefusalEndsTheRun(t *testing.T) {
	w := faulty{spec(t, func(s *DeleteIfaceSpec) { s.Load = "routes" }), func(p *Plan) {
		add := planPhase(p, "add")
		appendRoute(add)
		add.Describe = func(i int) string { return fmt.Sprintf("request %d", i) }
	}}
	run, err := (&Runner{}).Run(context.Background(), w, 1)
	if err == nil || !strings.Contains(err.Error(), "phase add: request 300: file exists") {
		t.Fatalf("error %v", err)
	}
	if run.Verified {
		t.Error("the run is verified")
	}
}

// An aborted run is partial and has the phases that had ended.
func TestAbort(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := faulty{spec(t, func(*DeleteIfaceSpec) {}), func(p *Plan) {
		planPhase(p, "up").Check = func(*Inventory) []results.Check {
			cancel()
			time.Sleep(200 * time.Millisecond)
			return nil
		}
	}}
	run, err := (&Runner{}).Run(ctx, w, 1)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !run.Partial || run.Verified || phaseNames(run) != "create add up" {
		t.Errorf("partial %v, verified %v, phases %s", run.Partial, run.Verified, phaseNames(run))
	}
}

func TestValidate(t *testing.T) {
	valid := DeleteIfaceSpec{Load: "addrs", Subnets: 10, Ifaces: 1, Families: []int{4}, Setup: "down"}
	for _, test := range []struct {
		name   string
		change func(*DeleteIfaceSpec)
		want   string
	}{
		{"valid", func(*DeleteIfaceSpec) {}, ""},
		{"no subnets", func(s *DeleteIfaceSpec) { s.Subnets = 0 }, "--subnets 0: must be at least 1"},
		{"no interfaces", func(s *DeleteIfaceSpec) { s.Ifaces = 0 }, "--ifaces 0: must be 1 to 983040"},
		{"unknown load", func(s *DeleteIfaceSpec) { s.Load = "adrs" }, "--as adrs: must be one of addrs, routes, secondaries, empty"},
		{"unknown order", func(s *DeleteIfaceSpec) { s.Setup = "sideways" }, "--setup sideways: must be auto, down or up"},
		{"no family", func(s *DeleteIfaceSpec) { s.Families = nil }, "no address family"},
		{"unknown family", func(s *DeleteIfaceSpec) { s.Families = []int{5} }, "unknown address family 5"},
		{"prefix too short", func(s *DeleteIfaceSpec) { s.PrefixLen = 7 }, "--prefix-len 7: must be 8 to 32 for IPv4"},
		{"prefix too long", func(s *DeleteIfaceSpec) { s.PrefixLen = 33 }, "--prefix-len 33: must be 8 to 32 for IPv4"},
		{"IPv6 prefix too long", func(s *DeleteIfaceSpec) { s.Families, s.PrefixLen = []int{6}, 129 }, "--prefix-len 129: must be 32 to 128 for IPv6"},
		{"all /8s", func(s *DeleteIfaceSpec) { s.PrefixLen, s.Subnets = 8, 117 }, ""},
		{"more /8s than there are", func(s *DeleteIfaceSpec) { s.PrefixLen, s.Subnets = 8, 118 }, "--subnets 118 on 1 interfaces: there are 117 IPv4 /8 subnets to choose from"},
		{"more /8s on several", func(s *DeleteIfaceSpec) { s.PrefixLen, s.Subnets, s.Ifaces = 8, 59, 2 }, "--subnets 59 on 2 interfaces: there are 117 IPv4 /8 subnets to choose from"},
		{"more secondaries than a /24 holds", func(s *DeleteIfaceSpec) { s.Load, s.PrefixLen, s.Subnets = "secondaries", 24, 255 }, "--subnets 255: an IPv4 /24 holds 254 addresses"},
		{"too many requests", func(s *DeleteIfaceSpec) { s.PrefixLen, s.Subnets = 32, maxRequests+1 }, "--subnets 16777217 on 1 interfaces: one run takes at most 16777216 addresses or routes"},
		{"huge product", func(s *DeleteIfaceSpec) { s.PrefixLen, s.Subnets, s.Ifaces = 32, 1<<31-1, 900000 }, "--subnets 2147483647 on 900000 interfaces: there are 1962934272 IPv4 /32 subnets to choose from"},
	} {
		s := valid
		test.change(&s)
		if got := complaint(s.Validate()); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
