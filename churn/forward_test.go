package churn

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/packets"
	"fibchurn/internal/prefixes"
	"fibchurn/ns"
	"fibchurn/results"
)

// forwardSpec is a small cell of forward, changed by f, with a destination in each of
// its routes.
func forwardSpec(t testing.TB, path string, family int, f func(*ForwardSpec)) *ForwardSpec {
	t.Helper()
	netnstest.Root(t)
	s := &ForwardSpec{
		TableSpec: tableSpec(t, family), Path: path, Burst: packets.DefaultBurst, Under: underNone, ChurnSize: 100, Packets: 5000, Name: path,
	}
	s.LinkKind = ForwardLinkKind
	for _, p := range s.Sets[family].All() {
		s.Flows = append(s.Flows, p.Addr().Next())
	}
	f(s)
	s.FlowCount = len(s.Flows)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every packet is forwarded, by every path, in both families, through rules too; but
// the largest bursts may be more than the ring of a veth takes.
func TestForwardVerifies(t *testing.T) {
	t.Parallel()
	for _, family := range []int{4, 6} {
		for _, path := range results.Paths() {
			for name, change := range map[string]func(*ForwardSpec){
				"":          func(*ForwardSpec) {},
				" by rules": func(s *ForwardSpec) { s.Rules = 3 },
				" unmerged": func(s *ForwardSpec) { s.Unmerge = true },
				" burst":    func(s *ForwardSpec) { s.Burst = 1 },
				" bursts":   func(s *ForwardSpec) { s.Burst = packets.MaxBurst },
				" one flow": func(s *ForwardSpec) { s.Flows = s.Flows[:1] },
			} {
				t.Run(path+familyName(family)+name, func(t *testing.T) {
					s := forwardSpec(t, path, family, change)
					run := mustRun(t, s)
					f := run.Forward
					if !run.Sample() || f == nil || f.Path != path || f.Family != family || phaseNames(run) != "rest" || len(f.Stretches) != 1 {
						t.Fatalf("%+v, %+v", run, f)
					}
					want := results.Forwarding{Stretch: "rest", Injected: 5000, Forwarded: 5000, Wall: f.Stretches[0].Wall}
					if got := f.Stretches[0]; got.Stretch != want.Stretch || got.Injected != 5000 || got.Forwarded+got.Dropped() != 5000 || s.Burst < packets.MaxBurst && got.Drops != nil || got.Errors != 0 {
						t.Errorf("%+v, want %+v", got, want)
					}
					if p := run.Phase("rest"); p.Ops != 5000 || p.Wall <= f.Stretches[0].Wall || f.Stretches[0].Wall <= 0 || p.User+p.System <= 0 {
						t.Errorf("%+v", p)
					}
				})
			}
		}
	}
}

// A packet to where no route leads is no throughput: it was dropped, and why is what
// the kernel counted or told the program.
func TestForwardCountsDrops(t *testing.T) {
	missing := map[int]netip.Addr{4: netip.MustParseAddr("203.0.113.9"), 6: netip.MustParseAddr("3fff::9")}
	reasons := map[string]map[int]string{
		results.PathStack:  {4: "IpExt InNoRoutes", 6: "Ip6InNoRoutes"},
		results.PathLookup: {4: "bpf_fib_lookup: not forwarded (no route, or local)", 6: "bpf_fib_lookup: not forwarded (no route, or local)"},
		results.PathDirect: {4: "bpf_fib_lookup: not forwarded (no route, or local)", 6: "bpf_fib_lookup: not forwarded (no route, or local)"},
	}
	for path, of := range reasons {
		for family, reason := range of {
			t.Run(path+familyName(family), func(t *testing.T) {
				s := forwardSpec(t, path, family, func(s *ForwardSpec) {
					s.Flows = append(s.Flows[:99:99], missing[family]) // one in a hundred
				})
				run := mustRun(t, s)
				got := run.Forward.Stretches[0]
				if got.Injected != 5000 || got.Forwarded != 4950 || len(got.Drops) != 1 || got.Drops[0] != (results.Drop{Reason: reason, Packets: 50}) {
					t.Errorf("%+v, want 4950 of 5000 forwarded and 50 dropped: %s", got, reason)
				}
				if len(run.Warnings) == 0 || run.Warnings[0].Kind != "drops" || !strings.HasPrefix(run.Warnings[0].Text, "50 of 5000 packets") {
					t.Errorf("no warning of dropped packets: %+v", run.Warnings)
				}
			})
		}
	}
}

// Frames that are not written anew carry what the last forwarding left in them: such
// are not forwarded, and the run fails.
func TestForwardFindsStaleFrames(t *testing.T) {
	t.Parallel()
	for _, family := range []int{4, 6} {
		for _, path := range results.Paths() {
			t.Run(path+familyName(family), func(t *testing.T) {
				s := forwardSpec(t, path, family, func(s *ForwardSpec) { s.stale = true })
				run, err := (&Runner{}).Run(context.Background(), s, 1)
				if !errors.Is(err, ErrCheck) || run == nil || run.Verified {
					t.Fatalf("%v, %+v", err, run)
				}
			})
		}
	}
}

// Packets are forwarded before, during and after every churn, and all of them are
// accounted for.
func TestForwardUnderChurn(t *testing.T) {
	for _, under := range Unders()[1:] {
		for _, family := range []int{4, 6} {
			if under == underResize && family == 6 {
				continue
			}
			for _, path := range []string{results.PathStack, results.PathLookup} {
				t.Run(under+familyName(family)+path, func(t *testing.T) {
					s := forwardSpec(t, path, family, func(s *ForwardSpec) {
						s.Under, s.Packets, s.Duration = under, 0, 100*time.Millisecond
						s.Flows = uncovered(t, s)
					})
					if err := s.Probe(); err != nil {
						t.Fatal(err)
					}
					run := mustRun(t, s)
					names := map[string]string{
						underFlap: "withdraw announce", underReplace: "replace restore", underResize: "shrink grow",
						underAddDelete: "add delete", underDeleteIface: "create remove",
					}
					if got, want := phaseNames(run), "before during "+names[under]+" after"; got != want {
						t.Errorf("phases %s, want %s", got, want)
					}
					if !run.Sample() || run.Churn == nil || run.Churn.Under != under || run.Churn.Operations == 0 {
						t.Errorf("%+v", run.Churn)
					}
					for i, st := range run.Forward.Stretches {
						if st.Forwarded == 0 || st.Injected != st.Forwarded+st.Dropped() || i != 1 && st.Dropped() > 0 {
							t.Errorf("%+v", st)
						}
					}
				})
			}
		}
	}
}

// uncovered are a spec's flows without those that its churn makes local.
func uncovered(t testing.TB, s *ForwardSpec) (flows []netip.Addr) {
	t.Helper()
	covered, err := s.Covered()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Flows {
		if !covered(a) {
			flows = append(flows, a)
		}
	}
	return flows
}

// What a churn makes local is covered, and what it routes is not.
func TestForwardCovered(t *testing.T) {
	s := forwardSpec(t, results.PathStack, 4, func(s *ForwardSpec) { s.Under, s.Packets, s.Duration = underDeleteIface, 0, time.Second })
	covered, err := s.Covered()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newLookupChurn(s.lookup())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.scene.Props {
		for _, prefix := range p.Set.All() {
			if !covered(prefix.Addr()) {
				t.Errorf("%s is not covered", prefix)
			}
		}
	}
	for _, a := range s.Flows {
		if covered(a) {
			t.Errorf("%s is covered, and in the table", a)
		}
	}
}

// A run that is stopped accounts for what it injected, and is no sample.
func TestForwardStops(t *testing.T) {
	s := forwardSpec(t, results.PathLookup, 4, func(s *ForwardSpec) { s.Packets, s.Duration = 0, time.Hour })
	stop := make(chan struct{})
	s.Interrupt(stop)
	time.AfterFunc(300*time.Millisecond, func() { close(stop) })
	run := mustRun(t, s)
	if st := run.Forward.Stretches[0]; !run.Partial || !run.Verified || st.Injected == 0 || st.Injected != st.Forwarded {
		t.Errorf("%+v, %+v", run, st)
	}
}

// Links of a kind that frames cannot be redirected to forward nothing by XDP: the run
// fails, whatever the counters say.
func TestForwardToOtherLinks(t *testing.T) {
	kind := netnstest.Kind(t)
	if kind == ForwardLinkKind {
		kind = "bridge"
	}
	s := forwardSpec(t, results.PathRedirect, 4, func(s *ForwardSpec) { s.LinkKind = kind })
	if run, err := (&Runner{}).Run(context.Background(), s, 1); err == nil {
		t.Errorf("%+v", run.Forward)
	}
}

func TestForwardSpecValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*ForwardSpec)
		want   string
	}{
		{func(s *ForwardSpec) { s.Path = "air" }, "--path air: must be full-stack, xdp-lookup, xdp-direct, redirect"},
		{func(s *ForwardSpec) { s.FlowCount = 0 }, "--flows 0: must be 1 to"},
		{func(s *ForwardSpec) { s.FlowCount = 1 << 21 }, "--flows 2097152: must be 1 to"},
		{func(s *ForwardSpec) { s.Burst = 257 }, "--burst 257: must be 1 to 256"},
		{func(s *ForwardSpec) { s.Packets = -1 }, "--packets -1"},
		{func(s *ForwardSpec) { s.Packets, s.Duration = 0, 0 }, "--duration 0s: must be more than 0"},
		{func(s *ForwardSpec) { s.Under = underFlap }, "--packets: is for --under none"},
		{func(s *ForwardSpec) { s.Under = "rain" }, "--packets: is for"},
		{func(s *ForwardSpec) { s.Under, s.Packets, s.Duration = "rain", 0, time.Second }, "--under rain: must be"},
		{func(s *ForwardSpec) { s.Families = []int{4, 6} }, "of one family"},
	} {
		s := &ForwardSpec{
			TableSpec: TableSpec{Layout: prefixes.Dense, Count: 1, Families: []int{4}, Table: 254, Tables: 1, Order: "added", LinkKind: "veth", Batch: 1, Ack: "last"},
			Path:      results.PathStack, FlowCount: 1, Burst: 1, Under: underNone, ChurnSize: 1, Packets: 1,
		}
		if err := s.Generate(); err != nil {
			t.Fatal(err)
		}
		c.change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What the kernel here can do is found out without anything being left.
func TestForwardProbe(t *testing.T) {
	netnstest.Root(t)
	err := (&ForwardSpec{}).Probe()
	var unsupported *ns.UnsupportedError
	if err != nil && !errors.As(err, &unsupported) {
		t.Error(err)
	}
}
