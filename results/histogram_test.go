package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// histogramLatency is a record of the given times, each with its count.
func histogramLatency(t testing.TB, times map[int64]int64) Latency {
	t.Helper()
	h := hdrhistogram.New(1, 60_000_000_000, 3)
	for ns, count := range times {
		if err := h.RecordValues(ns, count); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return Latency{
		Probe: "bpf", Stretch: "during", Count: h.TotalCount(), Min: h.Min(), Max: h.Max(),
		P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P95: h.ValueAtPercentile(95), MAD: 30,
		CalibrationP50: 32, NetP50: h.ValueAtPercentile(50) - 32, HDR: string(encoded),
	}
}

// humps is two humps and a long tail.
func humps() map[int64]int64 {
	times := map[int64]int64{9_000: 3, 51_000: 1}
	for i := range int64(200) {
		times[120+i/4] += 200 - i
		times[260+i/2] += i / 3
	}
	return times
}

func TestWriteHistogram(t *testing.T) {
	dfz := &Depth{Table: 254, Average: 21.84, Max: 39, Computed: true}
	for name, test := range map[string]struct {
		times map[int64]int64
		rate  int64
		opts  HistogramOptions
	}{
		"unicode":   {humps(), 0, HistogramOptions{Depth: dfz}},
		"ascii":     {humps(), 10_000, HistogramOptions{ASCII: true, Depth: &Depth{Table: 100, Average: 2.4, Max: 3}}},
		"colour":    {humps(), 0, HistogramOptions{Color: true}},
		"narrow":    {humps(), 0, HistogramOptions{Width: 30}},
		"one-value": {map[int64]int64{42: 7}, 0, HistogramOptions{}},
		"zero":      {map[int64]int64{0: 2, 1: 1}, 0, HistogramOptions{}},
		"wide":      {map[int64]int64{1: 1000, 4_000_000_000: 1000}, 0, HistogramOptions{}},
		"none":      {nil, 0, HistogramOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := histogramLatency(t, test.times)
			l.Rate = test.rate
			var got bytes.Buffer
			if err := WriteHistogram(&got, l, test.opts); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "histogram-"+name+".txt")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if test.opts.ASCII && strings.IndexFunc(got.String(), func(r rune) bool { return r > 126 }) >= 0 {
				t.Error("a character beyond ASCII")
			}
		})
	}
}

// No lookup is left out of the rows, whatever the times.
func TestHistogramRowsHoldAll(t *testing.T) {
	for ns := int64(1); ns < 50_000_000_000; ns = ns*7/2 + 1 {
		for _, spread := range []int64{0, 1, 3, ns / 3, ns, 9 * ns} {
			h := hdrhistogram.New(1, 600_000_000_000, 3)
			for i := range int64(100) {
				if err := h.RecordValue(ns + i*spread/100); err != nil {
					t.Fatal(err)
				}
			}
			var sum int64
			buckets := histogramBuckets(h)
			for _, b := range buckets {
				sum += b.count
			}
			if sum != 100 || len(buckets) > histogramRows+1 {
				t.Errorf("%d + %d: %d lookups in %d rows", ns, spread, sum, len(buckets))
			}
		}
	}
}

func TestWriteHistogramRefuses(t *testing.T) {
	for _, bad := range []string{"", "not base64 at all", "SElTVEZBQUFBQ0k="} {
		if err := WriteHistogram(&bytes.Buffer{}, Latency{Probe: "bpf", HDR: bad}, HistogramOptions{}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	l := histogramLatency(t, map[int64]int64{1: 1})
	if err := WriteHistogram(brokenPipe{}, l, HistogramOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the writer's error was lost: %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestDepthOf(t *testing.T) {
	tables := Tables{IPv4: &TrieStats{Tables: []Trie{
		{Name: "100", AverageDepth: 1.5, MaxDepth: 2}, {Name: "main", AverageDepth: 2.25, MaxDepth: 5},
	}}}
	for table, want := range map[uint32]Depth{
		254: {Table: 254, Average: 2.25, Max: 5},
		100: {Table: 100, Average: 1.5, Max: 2},
	} {
		if got, ok := DepthOf(tables, table); !ok || got != want {
			t.Errorf("table %d: %+v, %v", table, got, ok)
		}
	}
	if d, ok := DepthOf(tables, 255); ok {
		t.Errorf("a table that is not there: %+v", d)
	}
	if d, ok := DepthOf(Tables{}, 254); ok {
		t.Errorf("no IPv4: %+v", d)
	}
}
