package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// A lookupCase makes synthetic runs of lookup: no kernel measured them.
type lookupCase struct {
	cells  []lookupPoint
	names  []string
	runs   int
	under  string // "": none
	rate   int64
	cost   func(p lookupPoint, probe, stretch string) int64 // ns on top of 100
	change func(*Run)
	opts   TextOptions
}

// lookupCases maps the name of a golden file to what it renders.
func lookupCases() map[string]lookupCase {
	one := []lookupPoint{{count: 1000, family: 4, readers: 1}}
	free := func(lookupPoint, string, string) int64 { return 0 }
	worse := func(_ lookupPoint, probe, stretch string) int64 {
		if stretch == "during" {
			return map[string]int64{"netlink": 400, "bpf": 20, "bpf/64": 15}[probe]
		}
		return 0
	}
	rules := func(p lookupPoint, _, _ string) int64 {
		return 30*int64(min(p.rules, 1)) + 9*int64(p.rules) - 12*int64(p.direct)
	}
	wide := TextOptions{Width: 150}
	return map[string]lookupCase{
		"lookup-rest":    {cells: one, names: []string{"1000"}, runs: 10, cost: free, opts: wide},
		"lookup-one-run": {cells: one, names: []string{"1000"}, runs: 1, cost: free, opts: wide},
		"lookup-churn":   {cells: one, names: []string{"1000"}, runs: 10, under: "flap", cost: worse, opts: wide},
		"lookup-narrow":  {cells: one, names: []string{"1000"}, runs: 10, under: "flap", cost: worse, opts: TextOptions{Width: 80}},
		"lookup-rate":    {cells: one, names: []string{"1000"}, runs: 6, under: "replace", rate: 2000, cost: worse, opts: wide},
		"lookup-rules": {
			cells: []lookupPoint{{1000, 4, 0, 0, 0, 1}, {1000, 4, 1, 0, 0, 1}, {1000, 4, 100, 0, 0, 1}},
			names: []string{"1000 (0 rules)", "1000 (1 rule)", "1000 (100 rules)"}, runs: 10, cost: rules, opts: wide,
		},
		"lookup-direct": {
			cells: []lookupPoint{{1000, 4, 0, 0, 0, 1}, {1000, 4, 0, 0, 1, 1}},
			names: []string{"1000 (full)", "1000 (direct)"}, runs: 10, cost: rules, opts: wide,
		},
		"lookup-unmerged": { // costs nothing
			cells: []lookupPoint{{1000, 4, 0, 0, 0, 1}, {1000, 4, 0, 1, 0, 1}},
			names: []string{"1000 (merged)", "1000 (unmerged)"}, runs: 10, cost: free, opts: wide,
		},
		"lookup-readers": {
			cells: []lookupPoint{{1000, 4, 0, 0, 0, 1}, {1000, 4, 0, 0, 0, 2}},
			names: []string{"1000 (1 reader)", "1000 (2 readers)"}, runs: 10, cost: free, opts: wide,
		},
		"lookup-histogram": {cells: one, names: []string{"1000"}, runs: 3, cost: free, opts: TextOptions{Width: 100, Histograms: true}},
		"lookup-ascii":     {cells: one, names: []string{"1000"}, runs: 1, cost: free, opts: TextOptions{Width: 80, Histograms: true, ASCII: true, Color: true}},
		"lookup-stopped":   {cells: one, names: []string{"1000"}, runs: 1, under: "flap", cost: worse, opts: wide, change: func(r *Run) { r.Partial = true }},
		"lookup-wrong": {cells: one, names: []string{"1000"}, runs: 2, cost: free, opts: wide, change: func(r *Run) {
			if r.Run == 2 {
				r.Verified, r.Checks = false, []Check{{"right answers to lookups by netlink", 1000, 999}}
			}
		}},
		"lookup-hostile": {cells: one, names: []string{"\x1b[31m\n"}, runs: 1, cost: free, opts: TextOptions{Width: 80, Histograms: true}, change: func(r *Run) {
			r.Latency = r.Latency[:1]
			r.Latency[0].Probe, r.Latency[0].Stretch, r.Latency[0].HDR = "\x1b[2J/\x07", "\n", "nonsense"
		}},
	}
}

func (c lookupCase) make(t testing.TB) []Run {
	var runs []Run
	for n := 1; n <= c.runs; n++ {
		for i, p := range c.cells {
			r := c.run(t, p, n)
			r.Cell = c.names[i]
			if c.change != nil {
				c.change(&r)
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func (c lookupCase) run(t testing.TB, p lookupPoint, n int) Run {
	r := threeCells().run(cellRoutes, n, 0)
	r.Command, r.Phases, r.Time = "lookup", []Phase{}, time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
	under := c.under
	if under == "" {
		under = "none"
	}
	r.Spec = json.RawMessage(fmt.Sprintf(`{"count":%d,"families":[%d],"rules":%d,"unmerge":%v,"seed":1,"under":%q,"lookup":{"readers":%d,"direct":%v,"seed":1}}`,
		p.count, p.family, p.rules, p.unmerge == 1, under, p.readers, p.direct == 1))
	r.Depths = []Depth{{Table: 254, Average: 1.5, Max: 3, Computed: p.family == 6}}
	stretches := []string{"rest"}
	if c.under != "" {
		stretches = []string{"before", "during", "after"}
		r.Churn = &Churn{c.under, Flap{Rate: c.rate, Reached: 1990 + float64(n), Operations: 2000, Elapsed: 1e9, Duration: 1e9, Stopped: r.Partial}}
	}
	for _, stretch := range stretches {
		for i, probe := range []string{"netlink", "bpf", "bpf/64"} {
			jitter := int64((n*7+i*3+len(stretch)+p.unmerge*n)%5) - 2
			l := syntheticLatency(t, 100+jitter+c.cost(p, probe, stretch), 30)
			l.Probe, l.Stretch, l.Rate, l.Reached = probe, stretch, c.rate, float64(p.readers)*1e6+1000*float64(jitter)
			r.Latency = append(r.Latency, l)
		}
	}
	return r
}

// syntheticLatency is of 1000 lookups about a median, with a tail.
func syntheticLatency(t testing.TB, p50, calibration int64) Latency {
	t.Helper()
	h := hdrhistogram.New(1, 60_000_000_000, 3)
	for i := range 1000 {
		x := (float64(i) + 0.5) / 1000
		if err := h.RecordValue(p50 + int64(3*math.Log(x/(1-x)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.RecordValues(50*p50, 5); err != nil {
		t.Fatal(err)
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	at := h.ValueAtPercentile
	return Latency{
		Count: h.TotalCount(), Min: h.Min(), P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9), Max: h.Max(),
		MAD: 3, CalibrationP50: calibration, NetP50: at(50) - calibration, HDR: string(encoded),
	}
}

func TestLookupText(t *testing.T) {
	for name, c := range lookupCases() {
		t.Run(name, func(t *testing.T) {
			got := render(t, c.make(t), c.opts)
			golden(t, filepath.Join("testdata", name+".txt"), got)
			if c.opts.ASCII && bytes.ContainsFunc(got, func(r rune) bool { return r > 126 }) {
				t.Error("there are characters beyond ASCII")
			}
			if !c.opts.Color && bytes.ContainsFunc(got, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Error("there are control characters")
			}
		})
	}
}

// The records survive being written and read.
func TestLookupRecord(t *testing.T) {
	c := lookupCases()["lookup-churn"]
	runs := c.make(t)
	got := render(t, runs, c.opts)
	read, _, err := Read(bytes.NewReader(encodeAll(t, runs)), "runs")
	if err != nil {
		t.Fatal(err)
	}
	if again := render(t, read, c.opts); !bytes.Equal(got, again) {
		t.Errorf("rendered anew:\n%s\nbefore:\n%s", again, got)
	}
}

func TestTypicalRun(t *testing.T) {
	c := lookupCases()["lookup-rest"]
	k := lookupKind{"bpf", "rest", 0}
	runs := c.make(t)
	typical := typicalRun(runs, k).latency(k).P50
	below, above := 0, 0
	for i := range runs {
		switch p := runs[i].latency(k).P50; {
		case p < typical:
			below++
		case p > typical:
			above++
		}
	}
	if below > len(runs)/2 || above > len(runs)/2 {
		t.Errorf("%d runs below the typical one and %d above it", below, above)
	}
}
