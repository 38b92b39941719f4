package churn

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A fakeSampler keeps what it was told.
type fakeSampler struct {
	scene   *Scene
	calls   []string
	toggled int
	begin   func(stretch string) error
}

func (p *fakeSampler) note(what string) error { p.calls = append(p.calls, what); return nil }

func (p *fakeSampler) Start(*ns.Namespace) error { return p.note("start") }
func (p *fakeSampler) Stop(*results.Run) error   { return p.note("stop") }
func (p *fakeSampler) Close() error              { return p.note("close") }

func (p *fakeSampler) Stretch(name string) error {
	p.note("[" + name + "]")
	if p.begin != nil {
		return p.begin(name)
	}
	return nil
}

func (p *fakeSampler) Toggled(prefix netip.Prefix, present bool, sent, acknowledged time.Time) {
	p.toggled++
}

// lookupSpec is a small cell of lookup, changed by f, and its sampler.
func lookupSpec(t testing.TB, family int, f func(*LookupSpec)) (*LookupSpec, *fakeSampler) {
	t.Helper()
	p := &fakeSampler{}
	s := &LookupSpec{
		TableSpec: tableSpec(t, family), Under: "none", ChurnSize: 100, Duration: 50 * time.Millisecond, Name: "200",
		Sampler: func(scene *Scene) (Sampler, error) { p.scene = scene; return p, nil },
	}
	f(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s, p
}

// Every churn runs for its stretch between two quiet ones, changes something, and
// leaves the table as it was.
func TestLookupStretches(t *testing.T) {
	netnstest.Root(t)
	phases := map[string]string{
		"none": "", "flap": "withdraw announce", "replace": "replace restore", "resize": "shrink grow",
		"add-delete": "add delete", "delete-iface": "create remove",
	}
	for _, under := range Unders() {
		for _, family := range []int{4, 6} {
			if under == "resize" && family == 6 {
				continue
			}
			t.Run(under+familyName(family), func(t *testing.T) {
				s, p := lookupSpec(t, family, func(s *LookupSpec) { s.Under = under })
				run := mustRun(t, s)
				want := "start [before] [during] [after] [] stop close"
				if under == "none" {
					want = "start [rest] [] stop close"
				}
				if got := strings.Join(p.calls, " "); got != want {
					t.Errorf("calls %s, want %s", got, want)
				}
				if got := phaseNames(run); got != phases[under] || !run.Sample() {
					t.Errorf("phases %q, sample %v", got, run.Sample())
				}
				if under == "none" {
					return
				}
				if c := run.Churn; c == nil || c.Under != under || c.Operations == 0 || c.Reached <= 0 || run.Flap != nil {
					t.Errorf("churn %+v", run.Churn)
				}
			})
		}
	}
}

// An empty table is one too.
func TestLookupInAnEmptyTable(t *testing.T) {
	netnstest.Root(t)
	for _, under := range []string{"none", "resize", "add-delete", "delete-iface"} {
		s, p := lookupSpec(t, 4, func(s *LookupSpec) { s.Count, s.Sets, s.Under = 0, nil, under })
		if run := mustRun(t, s); !run.Sample() || p.scene.Table != nil {
			t.Errorf("%s: %+v", under, run)
		}
	}
}

// A sampler is told of each change at rates that it can take, and only then.
func TestLookupTellsTimes(t *testing.T) {
	netnstest.Root(t)
	for rate, want := range map[int]bool{1000: true, 20_000: false, 0: false} {
		s, p := lookupSpec(t, 4, func(s *LookupSpec) { s.Under, s.ChurnRate = "flap", rate })
		run := mustRun(t, s)
		if told := p.toggled > 0; told != want || told && int64(p.toggled) != run.Churn.Operations {
			t.Errorf("rate %d: told of %d changes of %d", rate, p.toggled, run.Churn.Operations)
		}
	}
}

// The source is a local address, or a route back by the link that packets come in
// by.
func TestLookupSource(t *testing.T) {
	netnstest.Root(t)
	for family, source := range map[int]string{4: "198.19.255.1", 6: "2001:2:0:ffff::1"} {
		for _, back := range []uint32{0, LookupIn(), LookupOut()} {
			s, p := lookupSpec(t, family, func(s *LookupSpec) { s.Source, s.Back = netip.MustParseAddr(source), back })
			mustRun(t, s)
			if len(p.scene.Props) != 1 || p.scene.Props[0].Index != back || p.scene.Props[0].Set.At(0).Addr() != s.Source {
				t.Errorf("%s by %d: %+v", source, back, p.scene.Props)
			}
		}
	}
}

// Once stopped, a run skips what is left of its stretches, restores its table and
// is partial.
func TestLookupStops(t *testing.T) {
	netnstest.Root(t)
	for _, at := range []string{"before", "during", "after"} {
		stop := make(chan struct{})
		s, p := lookupSpec(t, 4, func(s *LookupSpec) { s.Under, s.Duration = "add-delete", time.Hour })
		s.Duration = 20 * time.Millisecond
		s.Interrupt(stop)
		p.begin = func(name string) error {
			if name == at {
				close(stop)
			}
			return nil
		}
		run, err := (&Runner{}).Run(context.Background(), s, 1)
		if err != nil || !run.Partial || !run.Verified {
			t.Errorf("stopped %s: %v, %+v", at, err, run)
		}
		if p.calls[len(p.calls)-3] != "[]" {
			t.Errorf("calls %v", p.calls)
		}
	}
}

// What a sampler says is wrong fails the run, and nothing is left open.
func TestLookupSamplerFails(t *testing.T) {
	netnstest.Root(t)
	wrong := errors.New("a wrong answer")
	s, p := lookupSpec(t, 4, func(s *LookupSpec) { s.Under = "flap" })
	p.begin = func(name string) error {
		if name == "during" {
			return wrong
		}
		return nil
	}
	run, err := (&Runner{}).Run(context.Background(), s, 1)
	if !errors.Is(err, wrong) || run.Verified || p.calls[len(p.calls)-1] != "close" {
		t.Errorf("%v, %v", err, p.calls)
	}
}

// A table that was changed behind the run's back fails its check.
func TestLookupDemandsItsTable(t *testing.T) {
	netnstest.Root(t)
	s, p := lookupSpec(t, 4, func(*LookupSpec) {})
	p.begin = func(name string) error {
		if name != "" {
			return nil
		}
		here, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer here.Close()
		c, err := rtnl.Dial(here)
		if err != nil {
			return err
		}
		defer c.Close()
		template, err := rtnl.DelRoute(rtnl.Route{Family: 4, Table: 254, Index: LookupOut()})
		if err != nil {
			return err
		}
		var b rtnl.Batch
		b.AppendPrefix(template, s.Sets[4].At(7))
		out, err := c.Send(&b, rtnl.Options{})
		return errors.Join(err, out.Err())
	}
	if _, err := (&Runner{}).Run(context.Background(), s, 1); !errors.Is(err, ErrCheck) {
		t.Error(err)
	}
}

// Prefixes that the table has do not churn beside it.
func TestChurnAvoidsTheTable(t *testing.T) {
	for _, under := range []string{"add-delete", "delete-iface", "resize"} {
		var free []*Scene
		for _, full := range []bool{false, true} {
			s := &LookupSpec{TableSpec: TableSpec{
				Layout: prefixes.File, Families: []int{4}, Table: 254, Tables: 1, Order: "random", Batch: 64, Ack: "last", Seed: 1,
			}, Under: under, ChurnSize: 50, Duration: time.Second}
			if full { // with every other of what would churn
				var list []netip.Prefix
				props := free[0].Props
				for i, p := range props[len(props)-1].Set.All() {
					if i%2 == 0 {
						list = append(list, p)
					}
				}
				set, err := prefixes.Of(prefixes.IPv4, list)
				if err != nil {
					t.Fatal(err)
				}
				s.Count, s.Sets = set.Len(), map[int]*prefixes.Set{4: set}
			}
			c, err := newLookupChurn(s)
			if err != nil {
				t.Fatal(err)
			}
			free = append(free, c.scene)
			for _, p := range c.scene.Props {
				for _, prefix := range p.Set.All() {
					if full && slices.ContainsFunc(s.list(), func(q netip.Prefix) bool { return q == prefix }) {
						t.Fatalf("%s: %s churns, and is in the table", under, prefix)
					}
				}
			}
		}
	}
}

func (s *LookupSpec) list() []netip.Prefix {
	var list []netip.Prefix
	for _, p := range s.Sets[4].All() {
		list = append(list, p)
	}
	return list
}

// The spec is complete in the record, and its bounds are in the words of the
// command line.
func TestLookupSpec(t *testing.T) {
	s, _ := lookupSpec(t, 4, func(s *LookupSpec) { s.Lookups = map[string]int{"readers": 3} })
	text, err := json.Marshal(s.Spec())
	if err != nil || !strings.Contains(string(text), `"lookup":{"readers":3}`) || !strings.Contains(string(text), `"under":"none"`) {
		t.Errorf("%s, %v", text, err)
	}
	for want, change := range map[string]func(*LookupSpec){
		"--under x":                   func(s *LookupSpec) { s.Under = "x" },
		"--duration 0s":               func(s *LookupSpec) { s.Duration = 0 },
		"--duration 25h0m0s":          func(s *LookupSpec) { s.Duration = 25 * time.Hour },
		"--churn-rate -1":             func(s *LookupSpec) { s.ChurnRate = -1 },
		"--churn-size 0":              func(s *LookupSpec) { s.ChurnSize = 0 },
		"--churn-size 8193":           func(s *LookupSpec) { s.ChurnSize = 8193 },
		"the table is empty":          func(s *LookupSpec) { s.Count, s.Under = 0, "replace" },
		"of one family":               func(s *LookupSpec) { s.Families = []int{4, 6} },
		"are not resized":             func(s *LookupSpec) { s.Families, s.Under = []int{6}, "resize" },
		"at least 40 a second":        func(s *LookupSpec) { s.Under, s.ChurnRate = "flap", 39 },
		"need at least 4000 a second": func(s *LookupSpec) { s.Under, s.ChurnRate = "delete-iface", 100 },
	} {
		s, _ := lookupSpec(t, 4, func(*LookupSpec) {})
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
