package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// addrsSpec is a small valid one of the kind that works here.
func addrsSpec(t testing.TB, change func(*AddrsSpec)) *AddrsSpec {
	t.Helper()
	s := &AddrsSpec{Count: 60, Families: []int{4}, Order: "added", LinkKind: netnstest.Kind(t), Batch: 1, Seed: 7}
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every family, order and kind of subnet installs and removes what it says, with
// the time of every single operation.
func TestAddrsVerifies(t *testing.T) {
	for _, families := range [][]int{{4}, {6}, {4, 6}} {
		for _, order := range Orders() {
			for _, in := range []string{"own", "one", "promote"} {
				if in == "promote" && families[0] == 6 {
					continue
				}
				t.Run(fmt.Sprint(families, order, in), func(t *testing.T) {
					s := addrsSpec(t, func(s *AddrsSpec) {
						s.Families, s.Order = families, order
						s.Secondaries, s.Promote = in != "own", in == "promote"
					})
					run := mustRun(t, s)
					if !run.Verified || phaseNames(run) != "add delete" || len(run.Checks) != 6*len(families) {
						t.Errorf("verified %v, phases %s, checks %v", run.Verified, phaseNames(run), run.Checks)
					}
					add, del := run.Phase("add"), run.Phase("delete")
					n := int64(60 * len(families))
					if add.Ops != n || add.Subnets != n || add.Each == nil || add.Each.Count != n {
						t.Errorf("add: %+v", add)
					}
					if del.Subnets != n || del.Each == nil || del.Each.Count != del.Ops {
						t.Errorf("delete: %+v", del)
					}
					if want := deletions(s); del.Ops != want && want > 0 {
						t.Errorf("%d deletions, want %d", del.Ops, want)
					}
				})
			}
		}
	}
}

// deletions is how many requests empty the interface, 0 where chance decides.
func deletions(s *AddrsSpec) int64 {
	n, all := int64(s.Count), int64(s.Count*len(s.Families))
	switch {
	case !s.Secondaries || s.Promote || s.Families[0] == 6 || s.Order == "reverse":
		return all
	case s.Order == "added":
		return all - (n - 1) // the primary takes all others with it
	}
	return 0
}

func TestAddrsPrefixLengths(t *testing.T) {
	for _, test := range []struct{ family, bits int }{{4, 8}, {4, 30}, {4, 31}, {4, 32}, {6, 48}, {6, 127}, {6, 128}} {
		run := mustRun(t, addrsSpec(t, func(s *AddrsSpec) {
			s.Families, s.PrefixLen, s.Count, s.Batch = []int{test.family}, test.bits, 40, 16
		}))
		if !run.Verified || run.Phase("delete").Each != nil {
			t.Errorf("%+v: %+v", test, run)
		}
	}
}

// A run that leaves something out, or whose kernel does not do what was expected of
// it, is an error and no sample.
func TestAddrsFaultsAreFound(t *testing.T) {
	sysctl := func(value string) func(*Plan) {
		return func(p *Plan) {
			configure := p.Configure
			p.Configure = func(n *ns.Namespace) error {
				return errors.Join(configure(n), n.SetSysctl("net.ipv4.conf.all.promote_secondaries", value),
					n.SetSysctl("net.ipv4.conf.default.promote_secondaries", value))
			}
		}
	}
	for _, test := range []struct {
		name             string
		secondary, raise bool
		change           func(*Plan)
		want             string
	}{
		{"an address is missing", false, false, func(p *Plan) { planPhase(p, "add").Ops-- }, "IPv4 addresses after add: 59 instead of 60"},
		{"an address is left", false, false, func(p *Plan) { planPhase(p, "delete").Ops-- }, "IPv4 addresses after delete: 1 instead of 0"},
		{"the link is down", false, false, func(p *Plan) { planPhase(p, "up").Ops = 0 }, "IPv4 routes after add: 0 instead of 60"},
		{"promoted all the same", true, false, sysctl("1"), "IPv4 addresses after delete: 59 instead of 0"},
		{"not promoted", true, true, sysctl("0"), "phase delete: delete 10.0.0.2/24 on fc0: cannot assign requested address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := addrsSpec(t, func(s *AddrsSpec) { s.Secondaries, s.Promote = test.secondary, test.raise })
			w := faulty{s, func(p *Plan) {
				for _, ph := range p.Phases {
					ph.Loaded = false // no patience
				}
				test.change(p)
			}}
			run, err := (&Runner{}).Run(context.Background(), w, 1)
			if err == nil || !strings.Contains(err.Error(), test.want) || run.Sample() {
				t.Fatalf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The order of removals is the one that was asked for, and without promotion ends
// with the primary.
func TestAddrsRemovals(t *testing.T) {
	for _, test := range []struct {
		order              string
		secondary, promote bool
		want               string
	}{
		{"added", false, false, "[0 1 2 3 4]"},
		{"reverse", false, false, "[4 3 2 1 0]"},
		{"added", true, false, "[0]"},
		{"reverse", true, false, "[4 3 2 1 0]"},
		{"added", true, true, "[0 1 2 3 4]"},
	} {
		p := addrsPlan{spec: &AddrsSpec{Count: 5, Families: []int{4}, Order: test.order, Secondaries: test.secondary, Promote: test.promote}}
		if got := fmt.Sprint(p.removals()); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	both := addrsPlan{spec: &AddrsSpec{Count: 3, Families: []int{4, 6}, Order: "added", Secondaries: true}}
	if got := fmt.Sprint(both.removals()); got != "[0 3 4 5]" {
		t.Errorf("both families: %s", got)
	}
	for seed := range uint64(20) {
		p := addrsPlan{spec: &AddrsSpec{Count: 9, Families: []int{4}, Order: "random", Secondaries: true, Seed: seed}}
		if order := p.removals(); order[len(order)-1] != 0 {
			t.Errorf("seed %d: %v does not end with the primary", seed, order)
		}
	}
}

func TestAddrsValidate(t *testing.T) {
	valid := AddrsSpec{Count: 10, Families: []int{4}, Order: "added", Batch: 1}
	for _, test := range []struct {
		name   string
		change func(*AddrsSpec)
		want   string
	}{
		{"valid", func(*AddrsSpec) {}, ""},
		{"none", func(s *AddrsSpec) { s.Count = 0 }, "--count 0: must be at least 1"},
		{"unknown order", func(s *AddrsSpec) { s.Order = "up" }, "--order up: must be added, reverse or random"},
		{"no batch", func(s *AddrsSpec) { s.Batch = 0 }, "--batch 0: must be 1 to 32768"},
		{"no family", func(s *AddrsSpec) { s.Families = nil }, "no address family"},
		{"unknown family", func(s *AddrsSpec) { s.Families = []int{5} }, "unknown address family 5"},
		{"nothing to promote", func(s *AddrsSpec) { s.Promote = true }, "--promote: there are none to promote without --secondaries"},
		{"nobody to promote", func(s *AddrsSpec) { s.Promote, s.Secondaries, s.Families = true, true, []int{6} }, "--promote: IPv6 addresses are not primary or secondary"},
		{"prefix too long", func(s *AddrsSpec) { s.PrefixLen = 33 }, "--prefix-len 33: must be 8 to 32 for IPv4"},
		{"more than there are", func(s *AddrsSpec) { s.Count = 8e6 }, "--count 8000000: there are 7667712 IPv4 /24 subnets to choose from"},
		{"more than a subnet holds", func(s *AddrsSpec) { s.Count, s.Secondaries, s.PrefixLen = 255, true, 24 }, "--count 255: an IPv4 /24 holds 254 addresses"},
		{"more than any subnet holds", func(s *AddrsSpec) { s.Count, s.Secondaries = 1<<24-1, true }, "--count 16777215: no IPv4 subnet holds 16777215 addresses"},
		{"more than a run takes", func(s *AddrsSpec) { s.Count, s.Families = 1<<24, []int{4, 6} }, "--count 16777216: one run takes at most 16777216 addresses"},
		{"too many listeners", func(s *AddrsSpec) { s.Listeners = 257 }, "--listeners 257: must be 0 to 256"},
		{"slow without listeners", func(s *AddrsSpec) { s.Slow = true }, "--slow: there are no --listeners"},
	} {
		s := valid
		test.change(&s)
		if got := complaint(s.Validate()); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// When the primary goes, all others stay.
func TestPromotionPromotes(t *testing.T) {
	var left int64
	s := addrsSpec(t, func(s *AddrsSpec) { s.Secondaries, s.Promote = true, true })
	w := faulty{s, func(p *Plan) {
		del := planPhase(p, "delete")
		del.Ops = 1 // the primary
		del.Check = func(inv *Inventory) []results.Check {
			left = inv.routes(4, func(c rtnl.RouteClass) bool { return c.Type == unix.RTN_LOCAL && c.Index == ns.NewLink("", 0).Index })
			return nil
		}
	}}
	if mustRun(t, w); left != 59 {
		t.Errorf("%d addresses after the primary of 60 had gone", left)
	}
}
