package lookup

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/internal/monotonic"
	"fibchurn/internal/prefixes"
)

func TestScheduleDoesNotDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		s := schedule{start: rng.Int64N(1 << 40), rate: 1 + rng.Int64N(MaxRate)}
		i := rng.Int64N(1 << 32)
		want := new(big.Int).Mul(big.NewInt(i), big.NewInt(1e9))
		want.Div(want, big.NewInt(s.rate))
		if got := s.due(i) - s.start; got != want.Int64() {
			t.Fatalf("request %d at %d/s is due after %d ns, want %d", i, s.rate, got, want)
		}
	}
}

// A stallingProbe answers at once, but for one lookup.
type stallingProbe struct {
	asked, at int
	stall     time.Duration
}

func (p *stallingProbe) Ask(int) error {
	p.asked++
	if p.asked == p.at {
		time.Sleep(p.stall)
	}
	return nil
}
func (p *stallingProbe) Answer() Answer { return Answer{Kinds: Unicast, Bits: -1} }
func (p *stallingProbe) Blank() error   { return nil }
func (p *stallingProbe) Close() error   { return nil }

// stalled measures 20 ms of lookups, one of which takes 10 ms.
func stalled(t *testing.T, rate int64) (*hdrhistogram.Histogram, *sheet) {
	t.Helper()
	keys := keysOf(t, generate(t, prefixes.IPv4, 10), func(s *Spec) { s.KeyCount = 16 })
	c, err := monotonic.Start()
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{probe: &stallingProbe{at: 20, stall: 10 * time.Millisecond}, keys: keys, ledger: newLedger(keys.Len())}
	start := c.Now()
	tr := turn{clock: &c, pace: schedule{start, rate}, until: start + 20e6, phase: &phase{}, sheet: newSheet()}
	if err := a.turn(&tr); err != nil {
		t.Fatal(err)
	}
	return tr.sheet.times[looked], tr.sheet
}

// A lookup that stalls is charged with those that it delays: at 10,000 a second a
// stall of 10 ms delays 100, by 10 ms down to nothing.
func TestCoordinatedOmissionIsCorrected(t *testing.T) {
	open, sheet := stalled(t, 10_000)
	if n := open.TotalCount(); n != 200 {
		t.Errorf("%d lookups in 20 ms at 10,000 a second", n)
	}
	var over int64
	for _, b := range open.Distribution() {
		if b.From > 1_000_000 {
			over += b.Count
		}
	}
	if over < 85 || sheet.late < 90 {
		t.Errorf("a stall of 10 ms delayed %d lookups by more than 1 ms, want 90; %d are noted as late", over, sheet.late)
	}
	if p := open.ValueAtPercentile(80); p < 4e6 {
		t.Errorf("80th percentile %d ns, want about 6 ms", p)
	}
	var closed [5]int64 // other work stalls lookups too, but not five times
	for i := range closed {
		h, _ := stalled(t, 0)
		if closed[i] = h.ValueAtPercentile(99); closed[i] <= 1e6 {
			return
		}
	}
	t.Errorf("closed loop: 99th percentile %d ns, but one lookup alone stalled", closed)
}

// A stretch that ends keeps the lookups that were due before its end.
func TestTurnIsOver(t *testing.T) {
	p := &phase{}
	tr := turn{until: 100, phase: p}
	if tr.over(99) || !tr.over(100) {
		t.Error("a turn without a change of stretch")
	}
	p.ended.Store(50)
	if tr.over(49) || !tr.over(50) {
		t.Error("a turn whose stretch ended at 50")
	}
}

func TestLedgerKeepsFirstAndLast(t *testing.T) {
	l := newLedger(2)
	a, b := Answer{Kinds: Unicast}.pack(), Answer{Kinds: NoRoute}.pack()
	for i, answer := range []packed{a, a, a, b, b, a} {
		l.note(1, answer, int64(10*i), int64(10*i+5))
	}
	var got []report
	l.last(func(r report) { got = append(got, r) })
	want := []report{
		{1, sighting{a, 0, 5}}, {1, sighting{a, 20, 25}}, {1, sighting{b, 30, 35}}, {1, sighting{b, 40, 45}},
		{1, sighting{a, 50, 55}}, {1, sighting{a, 50, 55}},
	}
	if !slices.Equal(got, want) || l.unkept != 0 {
		t.Errorf("%v, %d unkept; want %v", got, l.unkept, want)
	}
	for i := range maxReports {
		l.note(0, []packed{a, b}[i%2], 0, 0)
	}
	if l.unkept != maxReports-1 {
		t.Errorf("%d reports of a full log are noted as unkept", l.unkept)
	}
}

func TestBuckets(t *testing.T) {
	next := int64(0)
	for i := range histogramBuckets {
		start := bucketStart(i)
		if start != next || bucketOf(uint64(start)) != i {
			t.Fatalf("bucket %d starts at %d, want %d, which is in bucket %d", i, start, next, bucketOf(uint64(start)))
		}
		next = start + 1
		if i >= 4096 {
			next = start + 1<<(i/2048-1)
		}
		if bucketOf(uint64(next-1)) != i {
			t.Fatalf("%d is not in bucket %d", next-1, i)
		}
	}
	if got := bucketOf(1<<63 - 1); got != histogramBuckets-1 {
		t.Errorf("the longest time is in bucket %d of %d", got, histogramBuckets)
	}
}

func TestMAD(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		h := newHistogram()
		values := make([]int64, 1+2*rng.IntN(50)) // odd: one value is the median
		for i := range values {
			values[i] = rng.Int64N(2000) // where the histogram is exact
			record(h, values[i], 1)
		}
		slices.Sort(values)
		median := values[len(values)/2]
		for i, v := range values {
			values[i] = max(v-median, median-v)
		}
		slices.Sort(values)
		if got, want := mad(h), values[len(values)/2]; got != want {
			t.Errorf("MAD %d, want %d", got, want)
		}
	}
	if got := mad(newHistogram()); got != 0 {
		t.Errorf("MAD of nothing: %d", got)
	}
}

func TestRecordKeepsToItsBounds(t *testing.T) {
	h := newHistogram()
	record(h, -5, 1)
	record(h, 3*longest, 1)
	if h.TotalCount() != 2 || h.Min() != 0 || h.Max() < longest {
		t.Errorf("%d times from %d to %d", h.TotalCount(), h.Min(), h.Max())
	}
}
