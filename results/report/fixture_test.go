package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/results"
)

// A fixture makes synthetic runs, the same in every call: no kernel measured them.
type fixture struct {
	labels []string
	nights int
	boots  int // of each label and night
	sizes  []int64
	lookup bool
	level  func(label string, night int) float64 // of the phase delete
}

func (f fixture) make(t testing.TB) []results.Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	var runs []results.Run
	for night := range f.nights {
		for boot := range f.boots {
			for _, label := range f.labels {
				for i, size := range f.sizes {
					r := f.run(t, rng, label, size, night)
					r.Run, r.Boot = 1, fmt.Sprintf("%s-%d-%d", label, night, boot)
					r.Time = at.AddDate(0, 0, night).Add(time.Duration(boot*100+i) * time.Second)
					runs = append(runs, r)
				}
			}
		}
	}
	return runs
}

func (f fixture) run(t testing.TB, rng *rand.Rand, label string, size int64, night int) results.Run {
	noise := func() float64 { return math.Exp(0.02 * rng.NormFloat64()) }
	phase := func(name string, ns float64) results.Phase {
		wall := int64(ns * noise())
		return results.Phase{Name: name, Ops: size, Subnets: size, Wall: wall, System: wall * 9 / 10, Blocked: wall / 10}
	}
	level := 1.0
	if f.level != nil {
		level = f.level(label, night)
	}
	trie := results.Trie{Name: "main", AverageDepth: 2, MaxDepth: 3, Leaves: size, Prefixes: size, Tnodes: size/256 + 1,
		TnodesByBits: map[int]int64{1: 3, 8: size / 256, 12: 1}}
	r := results.Run{
		Schema: results.Schema, Command: "routes", Cell: fmt.Sprint(size), Verified: true,
		Spec: json.RawMessage(fmt.Sprintf(`{"count":%d,"layout":"dense","families":[4],"seed":1}`, size)),
		Environment: results.Environment{
			Label: label, Kernel: "6.0.0-synthetic", KernelVersion: "#1 SMP", Arch: "x86_64", CommandLine: "quiet", CPU: "Synthetic CPU",
			CPUs: 4, Virtualisation: "kvm", ClockSource: "tsc", Governor: "performance", FibSyncMem: 524288, Debug: []string{},
			LinkKind: "dummy", Fibchurn: "test",
		},
		Phases:   []results.Phase{phase("add", float64(size)*3000), phase("delete", math.Pow(float64(size), 1.1)*5000*level)},
		Trie:     results.TrieChange{Before: results.Tables{IPv4: &results.TrieStats{Tables: []results.Trie{trie}}}},
		Warnings: []results.Warning{},
	}
	if f.lookup {
		r.Command = "lookup"
		for _, stretch := range []string{"before", "during"} {
			r.Latency = append(r.Latency, latency(t, rng, stretch, float64(size)))
		}
	}
	return r
}

func latency(t testing.TB, rng *rand.Rand, stretch string, size float64) results.Latency {
	h := hdrhistogram.New(1, 1e9, 3)
	for range 5000 {
		ns := 100 * math.Pow(size, 0.1) * math.Exp(0.1*rng.NormFloat64())
		if stretch == "during" && rng.IntN(50) == 0 {
			ns *= 20
		}
		if err := h.RecordValue(int64(ns)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return results.Latency{Probe: "bpf", Stretch: stretch, Count: h.TotalCount(), Reached: 1e6, Min: h.Min(), P50: h.ValueAtPercentile(50),
		P90: h.ValueAtPercentile(90), P95: h.ValueAtPercentile(95), P99: h.ValueAtPercentile(99), P999: h.ValueAtPercentile(99.9),
		Max: h.Max(), MAD: 5, CalibrationP50: 20, NetP50: h.ValueAtPercentile(50) - 20, HDR: string(text)}
}
