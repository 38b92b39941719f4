package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"

	"fibchurn/results"
	"fibchurn/results/trend"
)

// everySort is a chart of every sort, with hostile texts.
func everySort(t *testing.T) map[string]*Chart {
	const evil = `<a&"'>` + "\u65e5\u672c"
	values := []float64{3e6, 3.1e6, 4e6, 2.9e6, 3.05e6, 9e6}
	set := results.LookupSet{Probe: "bpf", Stretch: "rest", Latencies: []results.Latency{{HDR: encoded(t, 1)}, {HDR: encoded(t, 2)}}}
	counts, err := Merge(set)
	if err != nil {
		t.Fatal(err)
	}
	curves := []LatencyCurve{{Key{evil, 0, false}, counts}, {Key{"b", 1, true}, counts}}
	series := trend.Series{Metric: "wall time"}
	for i := range 12 {
		series.Points = append(series.Points, trend.Point{Night: time.Date(2026, 3, 1+i, 12, 0, 0, 0, time.UTC), Summary: results.Summarize([]float64{1e6 + float64(i/6)*1e6})})
	}
	series.Changes = []trend.Change{{Index: 6, Before: 1e6, After: 2e6}}
	return map[string]*Chart{
		"strip": Strip(evil, []StripRow{{evil, 0, values, results.Summarize(values)}, {"b", 1, []float64{5e3}, results.Summarize([]float64{5e3})}}),
		"deltas": Deltas(evil, []DeltaRow{{evil, 0, results.Delta{Estimate: 0.2, Lo: 0.1, Hi: 0.3, Relative: true}},
			{"b", 1, results.Delta{Estimate: -0.1, Lo: math.Inf(-1), Hi: math.Inf(1), Relative: true}}}),
		"percentiles": Percentiles(evil, curves),
		"histogram":   Histogram(evil, curves),
		"growth": Growth(evil, "", "routes", []GrowthSeries{{Key{"a", 0, false}, []float64{1e3, 1e4, 1e5}, []float64{1e6, 1e7, 1e8}, &results.Growth{Exponent: 1, Factor: 1e3}},
			{Key{"b", 1, false}, []float64{1e3, 1e4}, []float64{2e6, 3e7}, nil}}),
		"tnodes": Tnodes(evil, "", []Shape{{Key{"a", 0, false}, map[int]int64{1: 4097, 14: 1}}}),
		"trend":  Trend(evil, "", []TrendLine{{Key{"a", 0, false}, series}}),
	}
}

func encoded(t *testing.T, seed uint64) string {
	h := hdrhistogram.New(1, 1e9, 3)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 20000 {
		if err := h.RecordValue(int64(200 * math.Exp(0.5*rng.NormFloat64()))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What goes into a page has no colour or font of its own; files stand alone; all are
// well-formed, and the picture has twice the size.
func TestEverySort(t *testing.T) {
	for name, c := range everySort(t) {
		inline, err := c.Inline()
		if err != nil {
			t.Fatal(name, err)
		}
		if found := regexp.MustCompile(`#[0-9A-Fa-f]{6}|Liberation|<script|[(]NaN|NaN|Inf`).FindString(inline); found != "" {
			t.Errorf("%s, inline, has %q", name, found)
		}
		var svg, picture bytes.Buffer
		if err := errors.Join(c.WriteSVG(&svg), c.WritePNG(&picture)); err != nil {
			t.Fatal(name, err)
		}
		if strings.Contains(svg.String(), "var(") || !strings.Contains(svg.String(), "&lt;a&amp;") {
			t.Errorf("%s: the file needs a page, or has no title", name)
		}
		for _, text := range []string{inline, svg.String()} {
			wellFormed(t, name, text)
		}
		decoded, err := png.Decode(&picture)
		if err != nil || decoded.Bounds().Dx() != 2*width {
			t.Errorf("%s: %v, %v", name, decoded.Bounds(), err)
		}
	}
}

func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// vgsvg computes the colour from the premultiplied one: it must come out as it was.
func TestInks(t *testing.T) {
	inks := []ink{textInk(), lineInk(), gridInk()}
	for n := range Inks {
		inks = append(inks, seriesInk(n))
	}
	for _, i := range inks {
		for _, alpha := range []float64{1, 0.85, 0.8, 0.5, 0.35, 0.16} {
			r, g, b, a := i.faded(alpha).RGBA()
			of := func(v uint32) uint8 { return uint8(float64(v) * (255.0 / float64(a))) }
			if got := opaque(of(r), of(g), of(b)); got.hex() != i.hex() {
				t.Errorf("%s with %g comes out as %s", i.hex(), alpha, got.hex())
			}
		}
	}
}

// A merged curve has the percentiles that the histograms together have.
func TestCounts(t *testing.T) {
	set := results.LookupSet{Latencies: []results.Latency{{HDR: encoded(t, 3)}, {HDR: encoded(t, 4)}}}
	counts, err := Merge(set)
	if err != nil {
		t.Fatal(err)
	}
	both, err := hdrhistogram.Decode([]byte(set.Latencies[0].HDR))
	if err != nil {
		t.Fatal(err)
	}
	other, err := hdrhistogram.Decode([]byte(set.Latencies[1].HDR))
	if err != nil {
		t.Fatal(err)
	}
	both.Merge(other)
	if counts.total != both.TotalCount() {
		t.Errorf("%d lookups, want %d", counts.total, both.TotalCount())
	}
	// ofRank is the time of the lookup of that rank, from 1.
	ofRank := func(rank float64) float64 {
		sum := 0.0
		for _, bar := range both.Distribution() {
			if sum += float64(bar.Count); sum >= rank && bar.Count > 0 {
				return float64(bar.To)
			}
		}
		return float64(both.Max())
	}
	for _, p := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		if got, want := counts.at(p), ofRank(p*float64(counts.total)-1e-6); got != want {
			t.Errorf("p%g: %g, want %g", p, got, want)
		}
	}
	curve := counts.curve()
	for i, xy := range curve {
		rank := float64(counts.total) * (1 - math.Pow(10, -xy.X))
		if lo, hi := ofRank(rank-0.01), ofRank(rank+0.01); i < len(curve)-1 && (xy.Y < lo || xy.Y > hi) {
			t.Errorf("at %g: %g, want %g to %g", xy.X, xy.Y, lo, hi)
		}
		if i > 0 && (xy.X < curve[i-1].X || xy.Y < curve[i-1].Y) {
			t.Errorf("falls at %g", xy.X)
		}
	}
	if last := curve[len(curve)-1]; last.Y != counts.at(1) {
		t.Errorf("the curve ends at %v, the slowest took %g", last, counts.at(1))
	}
	lo, hi, sum := counts.at(0), counts.at(1), 0.0
	shares := counts.shares(lo, hi, 48)
	for i := 1; i < len(shares)-1; i += 2 {
		sum += shares[i].Y
	}
	if math.Abs(sum-100) > 0.1 {
		t.Errorf("the shares are %g %% together", sum)
	}
	if _, err := Merge(results.LookupSet{Latencies: []results.Latency{{HDR: "!"}}}); err == nil {
		t.Error("a histogram that cannot be read was merged")
	}
}

// Every axis has at least two figures and not more than it has room for, none of them
// twice.
func TestTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 3000 {
		lo := math.Exp(rng.Float64() * 25)
		hi := lo * math.Exp(rng.Float64()*rng.Float64()*25)
		var p plot.Axis
		from, to := spread(lo, hi, true)
		timeAxis(&p, from, to, true, "")
		checkTicks(t, p)
		from, to = spread(lo, hi, false)
		timeAxis(&p, from, to, false, "")
		checkTicks(t, p)
	}
}

func checkTicks(t *testing.T, axis plot.Axis) {
	t.Helper()
	seen := map[string]bool{}
	for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		switch {
		case tick.Label == "":
			continue
		case seen[tick.Label], strings.HasPrefix(tick.Label, "-0"), tick.Value < axis.Min*(1-1e-6)-1e-6, tick.Value > axis.Max*(1+1e-6):
			t.Errorf("%g to %g: %q at %g", axis.Min, axis.Max, tick.Label, tick.Value)
		}
		seen[tick.Label] = true
	}
	if len(seen) < 2 || len(seen) > 9 {
		t.Errorf("%g to %g: %d labels", axis.Min, axis.Max, len(seen))
	}
}

func TestShortened(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcdefghij": "abc…hij", "ééééééééé": "ééé…ééé"} {
		if got := shortened(text, 7); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	values := make([]float64, 5000)
	for i := range values {
		values[i] = float64(i)
	}
	if got := shown(values); len(got) != shownDots || got[0] != 0 || got[shownDots-1] != 4999 {
		t.Errorf("%d of them, %g to %g", len(got), got[0], got[len(got)-1])
	}
}
