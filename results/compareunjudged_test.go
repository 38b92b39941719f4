package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// unjudged compares base's runs with those that change leaves of another side of them.
func unjudged(t *testing.T, base []Run, opts CompareOptions, change func(*Run) bool) Unjudged {
	t.Helper()
	var new []Run
	for _, r := range base {
		r.Boot += " new"
		r.Phases = slices.Clone(r.Phases)
		if change(&r) {
			new = append(new, r)
		}
	}
	opts.FailAbove = percent(5)
	c, err := Compare([]Group{{"base", base}, {"new", new}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	u := c.Unjudged[0]
	if (c.Unheld() != nil) != (len(u.Failed)+len(u.Cells)+len(u.Rows) > 0) {
		t.Errorf("%+v, but %v", u, c.Unheld())
	}
	return u
}

// Whatever rows base has alone are told, of every sort of figure; what was left out on
// purpose is not.
func TestRowsOfBaseAlone(t *testing.T) {
	lookup := lookupCases()["lookup-rate"]
	sets := sevenAgainstSeven().side(0, nil)
	for i := range sets {
		if sets[i].Run == 3 {
			sets[i].Spec = bytes.Replace(sets[i].Spec, []byte("8192"), []byte("4096"), 1)
		}
	}
	all := func(*Run) bool { return true }
	for name, c := range map[string]struct {
		base        []Run
		opts        CompareOptions
		change      func(*Run) bool
		cells, rows int
		named       string // part of a name
	}{
		"everything is there": {base: churned("flap", 6, nil), change: all},
		"no rate": {churned("flap", 6, nil), CompareOptions{}, func(r *Run) bool {
			r.Flap = nil
			return true
		}, 0, 4, "flap 1000, flap, time from one operation to the next (1/rate)"}, // of two cells, and what was late
		"no times of operations": {churned("flap", 6, nil), CompareOptions{Metrics: []string{metricOpP99}}, func(r *Run) bool {
			if r.Cell == "1000" {
				r.Phases[1].Each = nil
			}
			return true
		}, 0, 1, "flap 1000, withdraw, time of an operation, p99"},
		"no latencies": {lookup.make(t), CompareOptions{}, func(r *Run) bool {
			r.Latency = r.Latency[:1]
			return true
		}, 0, -1, "lookup latency p99"},
		"no control": {resizeRuns(6, 40_000, nil), CompareOptions{}, func(r *Run) bool { return r.Cell != cellControl }, 1, -1, "net of the control"},
		"no control, asked for net alone": {append(resizeRuns(6, 40_000, nil), churned("flap", 6, nil)...), CompareOptions{Metrics: []string{metricCrossingNet, metricRate}},
			func(r *Run) bool { return r.Cell != cellControl }, 0, -1, "net of the control"},
		"ticks in new alone": {threeCells().make(), CompareOptions{Force: true}, func(r *Run) bool {
			r.Environment.Virtualisation = "uml"
			return true
		}, 0, 0, ""},
		"ticks, but asked for":     {threeCells().make(), CompareOptions{Force: true, Metrics: []string{metricCPU}}, all, 0, 0, ""},
		"a set of parameters":      {sets, CompareOptions{}, func(r *Run) bool { return r.Run != 3 }, 3, 0, "delete-iface addrs (subnets 4096, ifaces 1,"},
		"a phase, not asked for":   {threeCells().make(), CompareOptions{Phases: []string{deletePhase}}, func(r *Run) bool { r.Phases = r.Phases[len(r.Phases)-1:]; return true }, 0, 0, ""},
		"a phase":                  {threeCells().make(), CompareOptions{Metrics: []string{metricWall}}, func(r *Run) bool { r.Phases = r.Phases[len(r.Phases)-1:]; return true }, 0, 8, "empty, create, wall time"},
		"a cell without the phase": {threeCells().make(), CompareOptions{Phases: []string{"add"}}, func(r *Run) bool { return r.Cell != cellEmpty }, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := unjudged(t, c.base, c.opts, c.change)
			names := strings.ReplaceAll(strings.Join(slices.Concat(u.Cells, u.Rows), "\n"), nbsp, " ")
			if len(u.Cells) != c.cells || c.rows >= 0 && len(u.Rows) != c.rows || c.rows < 0 && len(u.Rows) == 0 || !strings.Contains(names, c.named) {
				t.Errorf("%d cells, %d rows, want %d, %d and %q:\n%s", len(u.Cells), len(u.Rows), c.cells, c.rows, c.named, names)
			}
		})
	}
}

// Sides that are cells share no more than they do.
func TestNothingIsMissedBetweenCells(t *testing.T) {
	groups, err := GroupBy(threeCells().make(), "cell")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(groups) // the last one is empty and has no phase add
	c, err := Compare(groups, CompareOptions{By: "cell", FailAbove: percent(1e6)})
	if err != nil || c.Unheld() != nil {
		t.Errorf("%v, %v", err, c.Unheld())
	}
	groups[2].Runs[0].Verified = false
	if c, err = Compare(groups, CompareOptions{By: "cell", FailAbove: percent(1e6)}); err != nil || c.Unheld() == nil ||
		c.Unheld().Error() != "1 run of new (empty) failed its checks: delete-iface empty (1)" {
		t.Errorf("%v, %v", err, c.Unheld())
	}
	if c, err = Compare(groups, CompareOptions{By: "cell"}); err != nil || c.Unheld() != nil {
		t.Errorf("without a limit: %v, %v", err, c.Unheld())
	}
}
