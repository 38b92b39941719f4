package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A compared is synthetic sides: of every boot the same cells and phases, with
// factors drawn from a seed.
type compared struct {
	boots, runs int     // runs a boot
	spread      float64 // of runs and of boots
	factor      float64 // of the delete phase of addrs, in new sides
	sides       int     // 0: two
	base, new   func(*Run)
	opts        CompareOptions
}

func (f compared) groups() []Group {
	var groups []Group
	for i := range max(2, f.sides) {
		name, change := "base.jsonl", f.base
		if i > 0 {
			name, change = fmt.Sprintf("new%d.jsonl", i), f.new
		}
		groups = append(groups, Group{name, f.side(i, change)})
	}
	return groups
}

func (f compared) side(index int, change func(*Run)) []Run {
	rng := rand.New(rand.NewPCG(uint64(index), 1))
	var runs []Run
	for boot := range f.boots {
		cells := threeCells()
		cells.runs = f.runs
		bootFactor := math.Exp(f.spread * rng.NormFloat64())
		for _, r := range cells.make() {
			r.Boot = fmt.Sprintf("side-%d-boot-%d", index, boot)
			r.Time = r.Time.Add(time.Duration(boot)*time.Hour + time.Duration(index)*time.Minute)
			r.Environment.Debug = []string{}
			for i := range r.Phases {
				p := &r.Phases[i]
				k := bootFactor * math.Exp(f.spread*rng.NormFloat64())
				if index > 0 && r.Cell == cellAddrs && p.Name == deletePhase {
					k *= f.factor
				}
				for _, ns := range []*int64{&p.Wall, &p.User, &p.System, &p.Blocked} {
					*ns = int64(float64(*ns) * k)
				}
			}
			if change != nil {
				change(&r)
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func sevenAgainstSeven() compared {
	return compared{boots: 7, runs: 3, spread: 0.02, factor: 1.15}
}

func percent(x float64) *float64 { x /= 100; return &x }

// comparedCases maps the name of a golden file to what it renders.
func comparedCases() map[string]comparedCase {
	wide := TextOptions{Width: 150}
	with := func(set func(*compared)) compared { c := sevenAgainstSeven(); set(&c); return c }
	limit := with(func(c *compared) { c.opts.FailAbove = percent(5) })
	return map[string]comparedCase{
		"boots":     {sevenAgainstSeven(), wide},
		"limit":     {limit, wide},
		"narrow-60": {limit, TextOptions{Width: 60}},
		"narrow-80": {limit, TextOptions{Width: 80}},
		"colour":    {limit, TextOptions{Width: 100, Color: true}},
		"faster":    {with(func(c *compared) { c.factor = 0.8 }), wide},
		"equal":     {with(func(c *compared) { c.factor = 1 }), wide},
		"three-boots": {with(func(c *compared) {
			c.boots, c.opts.FailAbove = 3, percent(5)
		}), wide},
		"runs": {with(func(c *compared) {
			c.boots, c.runs = 1, 12
			c.opts.Metrics, c.opts.Phases = []string{metricWall, metricBlocked}, []string{deletePhase}
		}), wide},
		"three-sides": {with(func(c *compared) {
			c.sides, c.opts.Metrics = 3, []string{metricWall}
		}), wide},
		"doubts": {with(func(c *compared) {
			c.opts.Phases = []string{deletePhase}
			c.base = spoilBoots
			c.new = func(r *Run) {
				r.Environment.CPU, r.Environment.Governor, r.Environment.CommandLine = "Other CPU", "powersave", "BOOT_IMAGE=b quiet nosmt"
				r.Warnings = []Warning{{"load", fmt.Sprintf("other work took %d.5 %% of 4 CPUs", 3+r.Run)}}
				r.Time = r.Time.AddDate(0, 0, 1)
			}
		}), wide},
		"latency": {with(func(c *compared) {
			c.base, c.new = lookups(1), lookups(1.3)
			c.opts.Metrics = latencyMetrics()
		}), wide},
	}
}

type comparedCase struct {
	compared compared
	opts     TextOptions
}

// spoilBoots interrupts the runs of one number and fails one run.
func spoilBoots(r *Run) {
	r.Partial = r.Run == 3 && r.Boot != "side-0-boot-0"
	r.Verified = r.Run != 2 || r.Boot != "side-0-boot-1"
}

// lookups gives a run two probes, of which one is not distinguishable from its
// calibration.
func lookups(factor float64) func(*Run) {
	return func(r *Run) {
		ns := func(x float64) int64 { return int64(x * factor * (1 + float64(r.Phases[0].Wall%997)/20000)) }
		r.Latency = []Latency{
			{Probe: "netlink", Stretch: "during", Rate: 1000, Count: 5000, P50: ns(6000), P99: ns(9000), NetP50: ns(6000) - 6300},
			{Probe: "bpf", Stretch: "rest", Count: 5000, P50: ns(200), P99: ns(400), NetP50: ns(180)},
			{Probe: "connect", Stretch: "rest"},
		}
	}
}

// To write testdata anew see TestWriteText.
func TestWriteComparison(t *testing.T) {
	for name, c := range comparedCases() {
		t.Run(name, func(t *testing.T) {
			got := renderComparison(t, c)
			golden(t, filepath.Join("testdata", "compare-"+name+".txt"), got)
			text := strings.ReplaceAll(string(got), "\x1b["+string(green)+"m", "")
			checkText(t, text, c.opts)
		})
	}
}

func renderComparison(t *testing.T, c comparedCase) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteComparison(&buf, compareAll(t, c.compared), c.opts); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func compareAll(t *testing.T, f compared) Comparison {
	t.Helper()
	c, err := Compare(f.groups(), f.opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// From 62 columns on, which the columns that never go take, everything fits.
func TestWriteComparisonAtAnyWidth(t *testing.T) {
	c := compareAll(t, comparedCases()["limit"].compared)
	for width := 62; width < 160; width++ {
		var buf bytes.Buffer
		opts := TextOptions{Width: width}
		if err := WriteComparison(&buf, c, opts); err != nil {
			t.Fatal(err)
		}
		checkText(t, buf.String(), opts)
	}
}

func TestWriteComparisonKeepsControlCharactersOut(t *testing.T) {
	f := sevenAgainstSeven()
	f.boots = 2
	evil := "a\x1b[31mb\nc\u202ed"
	f.base = func(r *Run) {
		r.Command, r.Cell, r.Phases[0].Name, r.Environment.CPU = evil, r.Cell+evil, evil, evil
		r.Environment.CommandLine, r.Environment.Kernel = evil, evil
		r.Warnings = []Warning{{evil, evil}}
		r.Spec = []byte(`{"a\u001bb":"c\u001bd"}`)
	}
	f.new = func(r *Run) { f.base(r); r.Environment.CommandLine = "x"; r.Environment.CPU = evil + "2" }
	groups := f.groups()
	groups[0].Name, groups[1].Name = evil, evil
	c, err := Compare(groups, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := WriteComparison(&buf, c, TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(buf.String(), "\x1b\u202e") {
		t.Errorf("control characters in:\n%q", buf.String())
	}
}

func TestEncodeComparison(t *testing.T) {
	f := comparedCases()["latency"].compared
	f.opts.FailAbove = percent(5)
	var buf bytes.Buffer
	if err := EncodeComparison(&buf, compareAll(t, f)); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "compare-latency.jsonl"), buf.Bytes())
	for line := range strings.Lines(buf.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// What makes figures meaningless is refused, and named; force compares it with a
// warning.
func TestIncomparable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Run)
		by     string
		want   string
	}{
		"virtualisation": {func(r *Run) { r.Environment.Virtualisation = "tcg" }, "",
			"not comparable: virtualisation: base has kvm, new has tcg (delete-iface addrs)"},
		"architecture": {func(r *Run) { r.Environment.Arch = "arm64" }, "", "architecture: base has x86_64, new has arm64"},
		"CPUs":         {func(r *Run) { r.Environment.CPUs = 8 }, "", "CPUs: base has 4, new has 8"},
		"link kind":    {func(r *Run) { r.Environment.LinkKind = "veth" }, "kernel", "link kind: base has dummy, new has veth"},
		"debug kernel": {func(r *Run) { r.Warnings = []Warning{{"debug-kernel", "KASAN"}} }, "", "debug kernel: base has no, new has yes"},
		"schema":       {func(r *Run) { r.Schema = 2 }, "", "schema: base has 1, new has 2"},
		"spec":         {func(r *Run) { r.Spec = bytes.Replace(r.Spec, []byte("8192"), []byte("4096"), 1) }, "", "parameter subnets: base has 8192, new has 4096"},
		"a mixed side": {func(r *Run) {
			if r.Run == 2 {
				r.Environment.Virtualisation = "tcg"
			}
		}, "", "new has kvm and tcg"},
	} {
		t.Run(name, func(t *testing.T) {
			f := sevenAgainstSeven()
			f.new = c.change
			f.opts.By = c.by
			_, err := Compare(f.groups(), f.opts)
			var incomparable *IncomparableError
			if !errors.As(err, &incomparable) || !strings.Contains(err.Error(), c.want) || !incomparable.Forcible {
				t.Fatalf("%v, want %s", err, c.want)
			}
			f.opts.Force = true
			forced := compareAll(t, f)
			if !slices.ContainsFunc(forced.Warnings, func(w Warning) bool { return w.Kind == "forced" && strings.Contains(w.Text, c.want) }) {
				t.Errorf("forced, but no warning in %v", forced.Warnings)
			}
			if len(forced.Rows) != len(compareAll(t, sevenAgainstSeven()).Rows) {
				t.Errorf("forced: %d rows", len(forced.Rows))
			}
		})
	}
}

// What does not matter, or was asked for, is not refused.
func TestComparable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Run)
		by     string
	}{
		"seed":                      {func(r *Run) { r.Spec = bytes.Replace(r.Spec, []byte(`"seed":1`), []byte(`"seed":2`), 1) }, ""},
		"link kind asked otherwise": {func(r *Run) { r.Spec = bytes.Replace(r.Spec, []byte("auto"), []byte("dummy"), 1) }, ""},
		"order of parameters": {func(r *Run) {
			r.Spec = []byte(strings.Replace(strings.Replace(string(r.Spec), `"subnets":8192,`, "", 1), "{", `{"subnets":8192,`, 1))
		}, ""},
		"CPUs by CPUs":           {func(r *Run) { r.Environment.CPUs = 8 }, "environment.cpus"},
		"virtualisation unknown": {func(r *Run) { r.Environment.Virtualisation = "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := sevenAgainstSeven()
			f.new = c.change
			f.opts.By = c.by
			compareAll(t, f)
		})
	}
}

func TestNothingToCompare(t *testing.T) {
	for name, change := range map[string]func(*compared){
		"no samples":         func(c *compared) { c.new = func(r *Run) { r.Partial = true } },
		"no runs":            func(c *compared) { c.boots = 0 },
		"another workload":   func(c *compared) { c.new = func(r *Run) { r.Command = "routes" } },
		"no phase in common": func(c *compared) { c.opts.Phases = []string{"nonesuch"} },
	} {
		t.Run(name, func(t *testing.T) {
			f := sevenAgainstSeven()
			change(&f)
			_, err := Compare(f.groups(), f.opts)
			var incomparable *IncomparableError
			if !errors.As(err, &incomparable) || incomparable.Forcible || strings.ContainsAny(err.Error(), "\n"+nbsp) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Compare(nil, CompareOptions{}); err == nil {
		t.Error("no groups")
	}
}

func TestDoubts(t *testing.T) {
	kinds := func(f compared) []string {
		var kinds []string
		for _, w := range compareAll(t, f).Warnings {
			kinds = append(kinds, w.Kind)
		}
		return kinds
	}
	for name, c := range map[string]struct {
		change func(*compared)
		want   []string
	}{
		"none":         {func(*compared) {}, nil},
		"kernel image": {func(c *compared) { c.new = func(r *Run) { r.Environment.CommandLine = "BOOT_IMAGE=/b quiet" } }, nil},
		"boot options": {func(c *compared) { c.new = func(r *Run) { r.Environment.CommandLine = "quiet nosmt" } }, []string{"differs"}},
		"fib_sync_mem": {func(c *compared) { c.new = func(r *Run) { r.Environment.FibSyncMem = 65536 } }, []string{"differs"}},
		"fib_sync_mem asked for": {func(c *compared) {
			c.new = func(r *Run) { r.Environment.FibSyncMem = 65536 }
			c.opts.By = "environment.fib_sync_mem"
		}, nil},
		"unknown":      {func(c *compared) { c.new = func(r *Run) { r.Environment.Virtualisation = "" } }, []string{"unknown"}},
		"one boot":     {func(c *compared) { c.boots, c.runs = 1, 12 }, []string{"boots"}},
		"order":        {func(c *compared) { c.new = func(r *Run) { r.Time = r.Time.AddDate(0, 1, 0) } }, []string{"order"}},
		"mixed kernel": {func(c *compared) { c.new = func(r *Run) { r.Environment.Kernel += r.Boot[7:] } }, []string{"mixed"}},
		"a cell on one side": {func(c *compared) {
			c.new = func(r *Run) {
				if r.Cell == cellEmpty {
					r.Cell = "void"
				}
			}
		}, []string{"one-side", "one-side"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := sevenAgainstSeven()
			c.change(&f)
			if got := kinds(f); !slices.Equal(got, c.want) {
				t.Errorf("warnings %v, want %v", got, c.want)
			}
		})
	}
}

// Of several boots on both sides the boots' medians are compared, else the runs;
// no run counts that is no sample, or that is there twice.
func TestUnits(t *testing.T) {
	boots := compareAll(t, sevenAgainstSeven()).Rows[0]
	if boots.Unit != UnitBoot || boots.BaseSummary.N != 7 {
		t.Errorf("%d %ss", boots.BaseSummary.N, boots.Unit)
	}
	f := sevenAgainstSeven()
	f.new = func(r *Run) { r.Boot = "one" }
	if r := compareAll(t, f).Rows[0]; r.Unit != UnitRun || r.NewSummary.N != 21 {
		t.Errorf("%d %ss", r.NewSummary.N, r.Unit)
	}
	f = sevenAgainstSeven()
	f.boots, f.base = 1, func(r *Run) { r.Verified, r.Partial = r.Run != 1, r.Run == 2 }
	groups := f.groups()
	groups[0].Runs = append(groups[0].Runs, groups[0].Runs...)
	c, err := Compare(groups, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b := c.Base; c.Rows[0].BaseSummary.N != 1 || b.Samples != 3 || b.Partial != 6 || b.Failed != 6 || b.Twice != 3 || b.Runs != 18 {
		t.Errorf("%+v", b)
	}
}

func TestGroupBy(t *testing.T) {
	runs := threeCells().make()
	for i := range runs {
		runs[i].Environment.Label = []string{"patched", ""}[i%2]
		runs[i].Environment.FibSyncMem = int64(i % 3)
	}
	for key, want := range map[string]string{
		"cell": "empty routes addrs", "label": "patched|no label", "kernel": "6.0.0-synthetic",
		"environment.fib_sync_mem": "0 1 2", "environment.link_kind": "dummy", "environment.rootless": "false",
	} {
		groups, err := GroupBy(runs, key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		var names []string
		for _, g := range groups {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != strings.ReplaceAll(want, "|", " ") {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	var unknown *KeyError
	if _, err := GroupBy(runs, "environment.colour"); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

// Cells compare with one another as they are.
func TestCompareByCell(t *testing.T) {
	groups, err := GroupBy(sevenAgainstSeven().side(0, nil), "cell")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(groups, CompareOptions{By: "cell", Metrics: []string{metricWall}, Phases: []string{deletePhase}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Rows {
		if r.Result != Slower || !strings.HasSuffix(r.Cell, " vs empty") {
			t.Errorf("%s: %s", r.Name(), r.Result)
		}
	}
	if len(c.Rows) != 2 {
		t.Errorf("%d rows", len(c.Rows))
	}
}

// A regression is worse by more than the limit and significant: neither alone.
func TestRegressions(t *testing.T) {
	for _, c := range []struct {
		factor float64
		boots  int
		limit  float64
		want   int // wall and CPU time of one phase
	}{
		{1.15, 7, 5, 2}, {1.15, 7, 40, 0}, {1.15, 3, 5, 0}, {0.8, 7, 0, 0}, {1, 7, 0, 0}, {1.15, 7, 0, 2},
	} {
		f := sevenAgainstSeven()
		f.factor, f.boots, f.opts.FailAbove = c.factor, c.boots, percent(c.limit)
		if got := compareAll(t, f).Regressions(); len(got) != c.want {
			t.Errorf("%+v: %d regressions", c, len(got))
		}
	}
}

// Wall time per operation is there by itself only where operations differ.
func TestPerOperation(t *testing.T) {
	metrics := func(f compared) string {
		var names []string
		for _, r := range compareAll(t, f).Rows {
			if !slices.Contains(names, r.Metric) {
				names = append(names, r.Metric)
			}
		}
		return strings.Join(names, " ")
	}
	f := sevenAgainstSeven()
	if got := metrics(f); got != "wall cpu" {
		t.Errorf("metrics %s", got)
	}
	f.opts.Metrics = []string{metricPerOp}
	if got := metrics(f); got != "wall/op" {
		t.Errorf("metrics %s", got)
	}
	f = sevenAgainstSeven()
	f.new = func(r *Run) { r.Phases[0].Ops *= 2 }
	if got := metrics(f); got != "wall cpu wall/op" {
		t.Errorf("metrics %s", got)
	}
}

func TestGeometricMean(t *testing.T) {
	row := func(base, delta float64) CompareRow {
		return CompareRow{BaseSummary: Summary{Median: base}, NewSummary: Summary{Median: base * (1 + delta)}, Delta: Delta{Estimate: delta, Relative: true}}
	}
	m, ok := geometricMeanOf([]CompareRow{row(1, 1), row(100, -0.5), {Delta: Delta{Estimate: 7}}})
	if !ok || math.Abs(m.Base-10) > 1e-9 || math.Abs(m.Delta) > 1e-12 || m.Rows != 2 {
		t.Errorf("%+v", m)
	}
	if _, ok := geometricMeanOf([]CompareRow{row(1, 1)}); ok {
		t.Error("of one row")
	}
}
