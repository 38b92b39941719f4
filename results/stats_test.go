package results

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchmath"
)

// The intervals are those of the binomial distribution: of 10 values the 2nd
// and the 9th, at 1 - 2*(1+10)/1024 = 97.85 %; of 6 the first and the last, at
// 1 - 2/64 = 96.875 %.
func TestSummarize(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name   string
		values []int64
		want   Summary
	}{
		{"one", []int64{7}, Summary{N: 1, Median: 7, Lo: -inf, Hi: inf, Confidence: 1, Min: 7, Max: 7}},
		{"five", []int64{5, 1, 2, 4, 3}, Summary{N: 5, Median: 3, Lo: -inf, Hi: inf, Confidence: 1, MAD: 1, Min: 1, Max: 5}},
		{"six", []int64{6, 1, 2, 4, 3, 50}, Summary{N: 6, Median: 3.5, Lo: 1, Hi: 50, Confidence: 0.96875, MAD: 2, Min: 1, Max: 50}},
		{"ten", []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 100},
			Summary{N: 10, Median: 6.5, Lo: 3, Hi: 10, Confidence: 0.978515625, MAD: 2.5, Min: 2, Max: 100}},
		{"equal", []int64{4, 4, 4, 4, 4, 4}, Summary{N: 6, Median: 4, Lo: 4, Hi: 4, Confidence: 0.96875, Min: 4, Max: 4}},
		{"negative", []int64{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10},
			Summary{N: 10, Median: -5.5, Lo: -9, Hi: -2, Confidence: 0.978515625, MAD: 2.5, Min: -10, Max: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.values)
			got := Summarize(c.values)
			if got.HasInterval() != (len(got.Warnings) == 0) {
				t.Errorf("interval %v, warnings %v", got.HasInterval(), got.Warnings)
			}
			got.Warnings = nil
			got.Confidence = math.Round(got.Confidence*1e9) / 1e9
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if !slices.Equal(before, c.values) {
				t.Errorf("the caller's values became %v", c.values)
			}
		})
	}
}

func TestSummarizeFloatsInPlace(t *testing.T) {
	values := []float64{3, 1, 2}
	Summarize(values)
	if !slices.Equal(values, []float64{3, 1, 2}) {
		t.Errorf("the caller's values became %v", values)
	}
}

func TestSummarizeNothing(t *testing.T) {
	s := Summarize([]float64(nil))
	if s.N != 0 || !math.IsNaN(s.Median) || s.HasInterval() || len(s.Warnings) != 1 {
		t.Errorf("got %+v", s)
	}
}

// MinRuns must be what benchmath needs.
func TestMinRuns(t *testing.T) {
	for n := 1; n <= 2*MinRuns; n++ {
		values := make([]float64, n)
		b := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
		finite := !math.IsInf(b.Lo, 0) && !math.IsInf(b.Hi, 0)
		if finite != (n >= MinRuns) || finite != Summarize(values).HasInterval() {
			t.Errorf("%d values: interval %v to %v", n, b.Lo, b.Hi)
		}
	}
}

// deleteRun is a verified run whose delete took wall ns.
func deleteRun(boot string, number int, minute int, wall int64) Run {
	return Run{Boot: boot, Run: number, Verified: true, Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC),
		Phases: []Phase{{Name: deletePhase, Wall: wall, User: 1, System: wall / 2, Blocked: wall - wall/2 - 1}}}
}

func TestNet(t *testing.T) {
	failed, partial := deleteRun("a", 4, 0, 999), deleteRun("a", 5, 0, 999)
	failed.Verified, partial.Partial = false, true
	other := deleteRun("a", 6, 0, 999)
	other.Phases[0].Name = "add"
	loaded := []Run{
		deleteRun("a", 2, 0, 50), deleteRun("a", 1, 0, 30), deleteRun("a", 3, 0, 10),
		failed, partial, other, deleteRun("b", 7, 0, 999), deleteRun("a", 8, 0, 999),
	}
	empty := []Run{
		deleteRun("a", 1, 0, 20), deleteRun("a", 2, 0, 22), deleteRun("a", 3, 0, 21), deleteRun("a", 4, 0, 1),
		deleteRun("a", 5, 0, 1), deleteRun("a", 6, 0, 1), deleteRun("a", 7, 0, 1), deleteRun("b", 8, 0, 1),
	}
	// 50-22, 30-20, 10-21
	got := Net(loaded, empty, deletePhase, WallTime)
	if got.N != 3 || got.Median != 10 || got.Min != -11 || got.Max != 28 || got.MAD != 18 {
		t.Errorf("got %+v", got)
	}
	if got := Net(loaded, nil, deletePhase, WallTime); got.N != 0 {
		t.Errorf("without empty runs: %+v", got)
	}
}

// Two invocations on one boot number their runs alike: the later loaded run
// belongs to the later empty run, whatever the order in the file.
func TestNetOfTwoInvocations(t *testing.T) {
	loaded := []Run{deleteRun("a", 1, 1, 30), deleteRun("a", 1, 61, 130)}
	empty := []Run{deleteRun("a", 1, 60, 100), deleteRun("a", 1, 0, 10)}
	got := Net(loaded, empty, deletePhase, WallTime)
	if got.N != 2 || got.Min != 20 || got.Max != 30 {
		t.Errorf("got %+v", got)
	}
}

func TestOfSeveralBoots(t *testing.T) {
	runs := []Run{
		deleteRun("a", 1, 0, 10), deleteRun("a", 2, 0, 12), deleteRun("a", 3, 0, 500),
		deleteRun("b", 1, 0, 20), deleteRun("b", 2, 0, 20), deleteRun("c", 1, 0, 5),
	}
	got := Of(runs, deletePhase, WallTime) // medians 12, 20, 5
	if got.N != 3 || got.Median != 12 || got.MAD != 7 || got.Min != 5 || got.Max != 500 {
		t.Errorf("got %+v", got)
	}
}

func TestMetrics(t *testing.T) {
	p := &Phase{Wall: 10, User: 1, System: 2, Blocked: 7}
	if WallTime(p) != 10 || CPUTime(p) != 3 || BlockedTime(p) != 7 {
		t.Error(WallTime(p), CPUTime(p), BlockedTime(p))
	}
}
