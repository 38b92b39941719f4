package lookup

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/internal/prefixes"
	"fibchurn/results"
)

// measure makes lookups for a while and returns what came of it.
func (b *bed) measure(t testing.TB, d time.Duration, spec *Spec, keys *Keys) ([]results.Latency, []Throughput) {
	t.Helper()
	s, err := New(*spec, b.set)
	if err != nil {
		t.Fatal(err)
	}
	if keys != nil {
		s.keys = keys
	}
	if err := s.Start(b.n); err != nil {
		t.Fatal(err)
	}
	if err := s.Stretch(Rest); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	var run results.Run
	if err := s.Stop(&run); err != nil {
		t.Fatal(err)
	}
	return run.Latency, s.Throughput()
}

// BenchmarkNetlinkAgainstC alternates the netlink probe with a C program that does
// the same, "PROGRAM get DEV COUNT 1", named in NLFLOOR; it prints p50_ns= and
// p99_ns=. It looks up 20.0.i.7 in consecutive /24s.
func BenchmarkNetlinkAgainstC(b *testing.B) {
	program := os.Getenv("NLFLOOR")
	if program == "" {
		b.Skip("NLFLOOR names no program")
	}
	const count, rounds = 20_000, 11
	bed := newBed(b, prefixes.IPv4, prefixes.Dense, count)
	keys := &Keys{family: prefixes.IPv4, size: 4}
	for _, p := range bed.set.All() {
		a := p.Addr().As4()
		a[3] = 7
		keys.addrs = append(keys.addrs, a[:]...)
	}
	s := bed.spec()
	s.Probes, s.KeyCount = []string{ProbeNetlink}, count
	var p50s, p99s, rates []float64
	for range rounds {
		var c50, c99 int64
		err := bed.n.Do(func() error {
			out, err := exec.Command(program, "get", bed.link.Name, fmt.Sprint(count), "1").Output()
			if err == nil {
				c50, c99, err = scanFloor(string(out))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		l, through := bed.measure(b, 150*time.Millisecond, s, keys)
		p50s = append(p50s, float64(l[0].P50)/float64(c50))
		p99s = append(p99s, float64(l[0].P99)/float64(c99))
		rates = append(rates, through[0].PerSecond)
		b.Logf("C p50 %d p99 %d; probe p50 %d p99 %d, %.0f/s", c50, c99, l[0].P50, l[0].P99, through[0].PerSecond)
	}
	b.ReportMetric(middle(p50s), "p50-ratio")
	b.ReportMetric(middle(p99s), "p99-ratio")
	b.ReportMetric(middle(rates), "lookups/s")
}

func scanFloor(line string) (p50, p99 int64, err error) {
	var op string
	var count, batch, failed, wall, cpu int64
	var each float64
	_, err = fmt.Sscanf(line, "op=%s count=%d batch=%d failed=%d wall_ns=%d cpu_ns=%d ns_per_op=%f p50_ns=%d p99_ns=%d", &op, &count, &batch, &failed, &wall, &cpu, &each, &p50, &p99)
	return p50, p99, err
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkHalves compares the medians of two halves of one run, by turns.
func BenchmarkHalves(b *testing.B) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		bed := newBed(b, f, prefixes.DFZ, 1000)
		s := bed.spec()
		s.Probes = []string{ProbeBPF}
		sampler, err := New(*s, bed.set)
		if err != nil {
			b.Fatal(err)
		}
		if err := sampler.Start(bed.n); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{Before, After} {
			if err := sampler.Stretch(name); err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		var run results.Run
		if err := sampler.Stop(&run); err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(run.Latency); i += 2 {
			first, second := run.Latency[i], run.Latency[i+1]
			b.Logf("%s %s: %d and %d ns, calibration %d and %d", f, first.Probe, first.P50, second.P50, first.CalibrationP50, second.CalibrationP50)
		}
		for _, t := range sampler.Throughput() {
			b.Logf("%s %s: %.2f M/s", f, t.Probe, t.PerSecond/1e6)
		}
	}
}

// BenchmarkDepth measures tables of growing depth.
func BenchmarkDepth(b *testing.B) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		for _, count := range []int{0, 1000, 100_000, 900_000} {
			if f == prefixes.IPv6 && count > 200_000 {
				count = 200_000
			}
			bed := newBed(b, f, prefixes.DFZ, max(count, 1))
			s := bed.spec()
			s.Probes, s.KeyCount = []string{ProbeBPF}, 1<<16
			if count == 0 {
				bed.withdraw(b, bed.set)
				bed.set, s.Keys = nil, Miss
			}
			latencies, _ := bed.measure(b, time.Second, s, nil)
			for _, l := range latencies {
				b.Logf("%s %d routes, %s: net median %d ns (%d - %d), p99 %d; mean %.1f", f, count, l.Probe, l.NetP50, l.P50, l.CalibrationP50, l.P99, meanOf(b, l))
			}
			bed.n.Close()
		}
	}
}

func meanOf(b *testing.B, l results.Latency) float64 {
	b.Helper()
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		b.Fatal(err)
	}
	return h.Mean()
}
