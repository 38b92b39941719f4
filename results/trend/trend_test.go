package trend

import (
	"encoding/json"
	"testing"
	"time"

	"fibchurn/results"
)

func run(at time.Time, label, kernel string, wall int64) results.Run {
	return results.Run{
		Schema: 1, Time: at, Command: "routes", Cell: "1000", Boot: at.String() + label, Verified: true, Spec: json.RawMessage(`{"count":1000,"seed":7}`),
		Environment: results.Environment{Label: label, Kernel: kernel},
		Phases:      []results.Phase{{Name: "add", Ops: 1000, Wall: wall}},
		Latency:     []results.Latency{{Probe: "bpf", Stretch: "rest", Count: 9, P50: wall / 100, P99: wall / 50}},
	}
}

func night(n int) time.Time { return time.Date(2026, 3, 1+n, 23, 50, 0, 0, time.UTC) }

// A night goes from noon to noon.
func TestNight(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]time.Time{
		noon:                                 noon,
		noon.Add(-time.Second):               noon.AddDate(0, 0, -1),
		noon.Add(23 * time.Hour):             noon,
		noon.Add(24 * time.Hour):             noon.AddDate(0, 0, 1),
		noon.In(time.FixedZone("x", 5*3600)): noon,
	} {
		if got := Night(at); !got.Equal(want) {
			t.Errorf("%v is of %v, want %v", at, got, want)
		}
	}
}

func TestSeries(t *testing.T) {
	var runs []results.Run
	for n := range 10 {
		for _, minutes := range []time.Duration{0, 5, 20} { // past midnight
			for _, label := range []string{"base", "new"} {
				wall := int64(1_000_000 + 1000*int64(minutes))
				if label == "new" && n >= 5 {
					wall *= 2
				}
				runs = append(runs, run(night(n).Add(minutes*time.Minute), label, "6.0", wall))
			}
		}
	}
	failed := run(night(3), "base", "6.0", 1)
	failed.Verified = false
	all := Of(append(runs, failed))
	if len(all) != 6 { // two labels of the phase, p50 and p99
		t.Fatalf("%d series", len(all))
	}
	for _, s := range all {
		if len(s.Points) != 10 || s.Points[0].Summary.N != 3 {
			t.Errorf("%s %s %s: %d points of %d", s.Side, s.Figure, s.Metric, len(s.Points), s.Points[0].Summary.N)
		}
		changed := 0
		if s.Side == "new" {
			changed = 1
		}
		if len(s.Changes) != changed {
			t.Fatalf("%s %s %s: changes %v", s.Side, s.Figure, s.Metric, s.Changes)
		}
		if changed == 1 && (s.Changes[0].Index != 5 || s.Changes[0].Ratio() != 2) {
			t.Errorf("%+v", s.Changes[0])
		}
	}
	if first := all[0]; first.Side != "base" || first.Figure != "add" || first.Medians()[0] != 1_005_000 {
		t.Errorf("%+v", first)
	}
	kept, cut := Latest(runs)
	if !cut || len(kept) != 6 {
		t.Errorf("%d of the latest night", len(kept))
	}
	if kept, cut := Latest(runs[:18]); cut || len(kept) != 18 {
		t.Errorf("%d of three nights", len(kept))
	}
}

// Without labels kernels that follow one another are one series, those that meet in a
// night are several.
func TestKernels(t *testing.T) {
	var follow, meet []results.Run
	for n := range 8 {
		kernel := "6." + string(rune('0'+n))
		follow = append(follow, run(night(n), "", kernel, 1e6))
		meet = append(meet, run(night(n), "", "6.1", 1e6), run(night(n).Add(time.Minute), "", "6.2", 2e6))
	}
	if all := Of(follow); len(all) != 3 || all[0].Side != "" || len(all[0].Points) != 8 || all[0].Points[7].Kernel != "6.7" {
		t.Errorf("%d series", len(all))
	}
	if all := Of(meet); len(all) != 6 || all[0].Side != "6.1" || all[5].Side != "6.2" {
		t.Errorf("%d series", len(all))
	}
	if all := Of(follow[:3]); len(all) != 0 {
		t.Errorf("%d series of three nights", len(all))
	}
}
