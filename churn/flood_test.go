package churn

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/packets"
	"fibchurn/results"
)

func testFlood(t testing.TB, family int, f func(*FloodSpec)) *FloodSpec {
	t.Helper()
	netnstest.Root(t)
	s := &FloodSpec{Families: []int{family}, FlowCount: 1000, Burst: packets.DefaultBurst, Packets: 5000, LinkKind: netnstest.Kind(t), Name: "cookies"}
	f(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every SYN makes a cookie, and every cookie goes out, in both families, with and
// without rules, by every kind of link.
func TestFloodVerifies(t *testing.T) {
	for _, family := range []int{4, 6} {
		for name, change := range map[string]func(*FloodSpec){
			"":         func(*FloodSpec) {},
			" rules":   func(s *FloodSpec) { s.Rules = 10 },
			" veth":    func(s *FloodSpec) { s.LinkKind = "veth" },
			" sources": func(s *FloodSpec) { s.FlowCount = 1 << 16 },
		} {
			t.Run(familyName(family)+name, func(t *testing.T) {
				run := mustRun(t, testFlood(t, family, change))
				f := run.Flood
				if !run.Sample() || f == nil || f.Injected != 5000 || f.Cookies != 5000 || f.Answers < 5000 || f.Drops != nil || f.Wall <= 0 {
					t.Errorf("%+v, %+v", run, f)
				}
				if phaseNames(run) != "flood" || run.Phase("flood").Ops != 5000 {
					t.Errorf("%+v", run.Phases)
				}
			})
		}
	}
}

// Where nobody listens no SYN makes a cookie: all are answered with a reset.
func TestFloodCountsDrops(t *testing.T) {
	for _, family := range []int{4, 6} {
		t.Run(familyName(family), func(t *testing.T) {
			run := mustRun(t, testFlood(t, family, func(s *FloodSpec) { s.deaf = true }))
			f := run.Flood
			if f.Injected != 5000 || f.Cookies != 0 || len(f.Drops) != 1 || f.Drops[0] != (results.Drop{Reason: "Tcp OutRsts", Packets: 5000}) {
				t.Errorf("%+v", f)
			}
			if len(run.Warnings) == 0 || run.Warnings[0].Kind != "drops" {
				t.Errorf("%+v", run.Warnings)
			}
		})
	}
}

// A SYN that is neither a cookie nor dropped, a packet that did not go out, and one
// too many are failed checks.
func TestFloodChecks(t *testing.T) {
	for _, family := range []int{4, 6} {
		received, _ := stackCounters(family)
		sent, other := "Ip OutRequests", packets.Counters{}
		if family == 6 {
			sent, other = "Ip6OutRequests", packets.Counters{"Icmp6OutMsgs": 2}
		}
		right := packets.Counters{received: 10, "TcpExt SyncookiesSent": 8, "TcpExt ListenDrops": 2, sent: 8 + other["Icmp6OutMsgs"], "fc0 tx_packets": 8 + other["Icmp6OutMsgs"]}
		broken := func(counters packets.Counters) (names []string) {
			f := &flooding{spec: &FloodSpec{Families: []int{family}, LinkKind: "dummy"}}
			all := packets.Counters{}
			for _, c := range []packets.Counters{right, other, counters} {
				for name, n := range c {
					all[name] = n
				}
			}
			f.account(10, time.Second, all)
			for _, c := range f.checks {
				if !c.OK() {
					names = append(names, c.Name)
				}
			}
			return names
		}
		if got := broken(nil); got != nil {
			t.Errorf("IPv%d: failed without reason: %v", family, got)
		}
		for name, want := range map[string]string{
			"TcpExt ListenDrops": "made a cookie or were dropped", received: "that the stack received",
			"fc0 tx_packets": "the interface was handed", sent: "the interface was handed",
		} {
			got := broken(packets.Counters{name: right[name] - 1})
			if len(got) == 0 || !strings.Contains(strings.Join(got, "; "), want) {
				t.Errorf("IPv%d, one %s less: failed %v, want one about %q", family, name, got, want)
			}
		}
	}
}

func TestFloodSources(t *testing.T) {
	for _, family := range []int{4, 6} {
		within := netip.MustParsePrefix(map[int]string{4: "10.0.0.0/8", 6: "2001:db8::/32"}[family])
		seen := map[netip.Addr]bool{}
		for i := range packets.MaxFlows {
			a := floodSource(family, i)
			if seen[a] || !within.Contains(a) {
				t.Fatalf("%s comes twice, or is not in %s", a, within)
			}
			seen[a] = true
		}
	}
}

func TestFloodStops(t *testing.T) {
	s := testFlood(t, 4, func(s *FloodSpec) { s.Packets, s.Duration = 0, time.Hour })
	stop := make(chan struct{})
	s.Interrupt(stop)
	time.AfterFunc(200*time.Millisecond, func() { close(stop) })
	if run := mustRun(t, s); !run.Partial || !run.Verified || run.Flood.Cookies == 0 {
		t.Errorf("%+v", run.Flood)
	}
}

func TestFloodSpecValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*FloodSpec)
		want   string
	}{
		{func(s *FloodSpec) { s.Rules = 40000 }, "--rules 40000: must be 0 to 32000"},
		{func(s *FloodSpec) { s.FlowCount = 0 }, "--flows 0"},
		{func(s *FloodSpec) { s.Burst = 0 }, "--burst 0"},
		{func(s *FloodSpec) { s.Packets = 0 }, "--duration 0s"},
		{func(s *FloodSpec) { s.LinkKind = "tun" }, "--link-kind tun: must be dummy, ifb, veth"},
		{func(s *FloodSpec) { s.LinkKind = "bridge" }, "--link-kind bridge: must be dummy, ifb, veth"},
		{func(s *FloodSpec) { s.Families = []int{4, 6} }, "of one family"},
	} {
		s := &FloodSpec{Families: []int{4}, FlowCount: 1, Burst: 1, Packets: 1, LinkKind: "veth"}
		c.change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
