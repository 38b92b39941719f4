package lookup

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// observer is what the workloads take a sampler for.
type observer interface {
	Start(*ns.Namespace) error
	Stop(*results.Run) error
}

var _ observer = (*Sampler)(nil)

// sampler starts one for the bed.
func (b *bed) sampler(t *testing.T, change func(*Spec)) *Sampler {
	t.Helper()
	spec := *b.spec()
	change(&spec)
	s, err := New(spec, b.set)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(b.n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func stretch(t *testing.T, s *Sampler, name string, d time.Duration) {
	t.Helper()
	if err := s.Stretch(name); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
}

func TestSamplerFilesStretches(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	b := newBed(t, prefixes.IPv4, prefixes.DFZ, 1000)
	s := b.sampler(t, func(s *Spec) { s.Probes, s.Readers = Probes(), 2 })
	for _, name := range []string{Before, During, "", After} {
		stretch(t, s, name, 200*time.Millisecond)
	}
	var run results.Run
	if err := s.Stop(&run); err != nil {
		t.Fatal(err)
	}
	if len(run.Latency) != 3*4 || len(run.Warnings) != 0 {
		t.Errorf("%d latencies, want 4 probes in 3 stretches; warnings %v", len(run.Latency), run.Warnings)
	}
	for _, l := range run.Latency {
		h, err := hdrhistogram.Decode([]byte(l.HDR))
		if err != nil {
			t.Fatal(err)
		}
		if h.TotalCount() != l.Count || l.Count < 1 || l.Rate != 0 {
			t.Errorf("%s %s: %d lookups at rate %d, %d in the histogram", l.Probe, l.Stretch, l.Count, l.Rate, h.TotalCount())
		}
		if l.Min > l.P50 || l.P50 > l.P90 || l.P90 > l.P95 || l.P95 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
			t.Errorf("%s %s: percentiles out of order: %+v", l.Probe, l.Stretch, l)
		}
		if l.CalibrationP50 <= 0 || l.NetP50 != l.P50-l.CalibrationP50 || l.NetP50 <= 0 {
			t.Errorf("%s %s: median %d, calibration %d, net %d", l.Probe, l.Stretch, l.P50, l.CalibrationP50, l.NetP50)
		}
	}
	for _, c := range run.Checks {
		if !c.OK() || c.Want < 1 {
			t.Errorf("%+v", c)
		}
	}
	if len(s.Throughput()) != len(run.Latency) {
		t.Errorf("throughput of %d stretches", len(s.Throughput()))
	}
	if runtime.GOMAXPROCS(0) != procs {
		t.Errorf("GOMAXPROCS is left at %d", runtime.GOMAXPROCS(0))
	}
}

// Other work can keep the reader from its rate: it has three tries.
func TestSamplerKeepsItsRate(t *testing.T) {
	const rate = 2000
	b := newBed(t, prefixes.IPv6, prefixes.DFZ, 1000)
	var reached [3]float64
	for i := range reached {
		s := b.sampler(t, func(s *Spec) { s.Probes, s.Rate = []string{ProbeNetlink}, rate })
		stretch(t, s, Rest, time.Second)
		var run results.Run
		if err := s.Stop(&run); err != nil {
			t.Fatal(err)
		}
		if len(run.Latency) != 1 || run.Latency[0].Rate != rate {
			t.Fatalf("%+v", run.Latency)
		}
		reached[i] = s.Throughput()[0].PerSecond
		if reached[i] > 0.7*rate && reached[i] < 1.3*rate {
			return
		}
	}
	t.Errorf("%.0f lookups a second, want about %d", reached, rate)
}

// flap withdraws and announces half of the bed's routes, until it is told to stop.
func (b *bed) flap(t *testing.T, half *prefixes.Set, timeline *Oracle, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, present := range []bool{false, true} {
			sent := time.Now()
			if present {
				b.routes(t, half, 254)
			} else {
				b.withdraw(t, half)
			}
			acknowledged := time.Now()
			if timeline != nil {
				for _, p := range half.All() {
					timeline.Toggled(p, present, sent, acknowledged)
				}
			}
		}
	}
}

func TestSamplerUnderChurn(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.DFZ, 2000)
		half, err := b.set.Sample(200)
		if err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			toggling, timed bool
		}{"toggling": {true, false}, "timed": {true, true}, "taken for stable": {false, false}} {
			t.Run(f.String()+"/"+name, func(t *testing.T) {
				s := b.sampler(t, func(s *Spec) { s.FIBMatch, s.Keys = true, Mixed })
				if test.toggling {
					if err := s.Oracle().Toggling(half, Route{Kind: Unicast}); err != nil {
						t.Fatal(err)
					}
				}
				var timeline *Oracle
				if test.timed {
					timeline = s.Oracle()
				}
				stretch(t, s, Before, 100*time.Millisecond)
				stretch(t, s, During, 0)
				b.flap(t, half, timeline, 300*time.Millisecond)
				stretch(t, s, After, 100*time.Millisecond)
				var run results.Run
				err := s.Stop(&run)
				for _, c := range run.Checks {
					t.Logf("%s: %d of %d", c.Name, c.Got, c.Want)
				}
				var wrong *WrongAnswerError
				if test.toggling && err != nil || !test.toggling && !errors.As(err, &wrong) {
					t.Errorf("%v", err)
				}
				for _, w := range run.Warnings {
					t.Errorf("%+v", w)
				}
			})
		}
	}
}

// A history that is a lie is found: the answers are older or younger than it says.
func TestSamplerJudgesByTheHistory(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Random, 100)
	s := b.sampler(t, func(s *Spec) { s.Probes, s.KeyCount = []string{ProbeNetlink}, 500 })
	if err := s.Oracle().Toggling(b.set, Route{Kind: Unicast}); err != nil {
		t.Fatal(err)
	}
	long := time.Now()
	for _, p := range b.set.All() {
		s.Oracle().Toggled(p, false, long, long)
	}
	stretch(t, s, Rest, 50*time.Millisecond)
	var run results.Run
	var wrong *WrongAnswerError
	if err := s.Stop(&run); !errors.As(err, &wrong) || wrong.More == 0 || wrong.Probe != "netlink" {
		t.Errorf("%v", err)
	} else if !strings.Contains(err.Error(), "after the start") {
		t.Errorf("%q does not say when", err)
	}
	if len(run.Checks) != 1 || run.Checks[0].OK() {
		t.Errorf("%+v", run.Checks)
	}
}

func TestSamplerSaysWhatCannotBe(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Dense, 10)
	set6 := generate(t, prefixes.IPv6, 5)
	if _, err := New(DefaultSpec(), set6); err == nil {
		t.Error("IPv4 lookups in an IPv6 table were accepted")
	}
	bad := DefaultSpec()
	bad.KeyCount = 0
	if _, err := New(bad, b.set); err == nil {
		t.Error("a bad spec was accepted")
	}
	s := b.sampler(t, func(s *Spec) { s.Probes, s.OIF = []string{ProbeBPF}, 0 })
	if err := s.Stretch("noon"); err == nil {
		t.Error("an unknown stretch was accepted")
	}
	if err := s.Stretch(Rest); err == nil || !strings.Contains(err.Error(), "needs an interface") {
		t.Errorf("a probe that cannot be opened: %v", err)
	}
	if err := s.Stop(&results.Run{}); err == nil {
		t.Error("the error was forgotten")
	}
	unused := b.sampler(t, func(*Spec) {})
	if err := errors.Join(unused.Close(), unused.Close()); err != nil {
		t.Error(err)
	}
}

// An empty table has misses alone.
func TestSamplerOfAnEmptyTable(t *testing.T) {
	b := newBed(t, prefixes.IPv4, prefixes.Dense, 1)
	b.withdraw(t, b.set)
	spec := *b.spec()
	spec.Keys = Miss
	s, err := New(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(b.n); err != nil {
		t.Fatal(err)
	}
	stretch(t, s, Rest, 50*time.Millisecond)
	if err := s.Stop(&results.Run{}); err != nil {
		t.Error(err)
	}
}

// The namespace goes away with the sampler: its threads and descriptors hold it no
// longer.
func TestSamplerLeavesNothing(t *testing.T) {
	n, _ := netnstest.New(t)
	s, err := New(func() Spec { s := DefaultSpec(); s.Probes, s.Dst = []string{ProbeNetlink}, "20.0.0.1"; return s }(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := threads(t)
	if err := s.Start(n); err != nil {
		t.Fatal(err)
	}
	stretch(t, s, Rest, 20*time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if threads(t) <= before+1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := threads(t); got > before+1 {
		t.Errorf("%d threads in other namespaces, %d before", got, before)
	}
}

// The interface of all routes goes down, comes up and is removed under the readers.
func TestSamplerWhileTheInterfaceGoes(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		b := newBed(t, f, prefixes.DFZ, 2000)
		s := b.sampler(t, func(s *Spec) { s.Probes = Probes() })
		if f == prefixes.IPv6 {
			b.address(t, "2001:db8:ffff::1/64")
		}
		if err := s.Oracle().Toggling(b.set, Route{Kind: Unicast}); err != nil {
			t.Fatal(err)
		}
		stretch(t, s, Before, 50*time.Millisecond)
		stretch(t, s, During, 0)
		for _, change := range []func(*rtnl.Batch) error{
			func(b2 *rtnl.Batch) error { return b2.SetLink(b.link.Index, false) },
			func(b2 *rtnl.Batch) error { return b2.SetLink(b.link.Index, true) },
			func(b2 *rtnl.Batch) error { return b2.DelLink(b.link.Index) },
		} {
			var batch rtnl.Batch
			if err := change(&batch); err != nil {
				t.Fatal(err)
			}
			b.send(t, &batch)
			time.Sleep(50 * time.Millisecond)
		}
		stretch(t, s, After, 50*time.Millisecond)
		if err := s.Stop(&results.Run{}); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
