package results

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// The library reads every line: none is malformed, none is lost, and every unit has its
// metadata.
func TestBenchIsRead(t *testing.T) {
	for name, runs := range formatCases(t) {
		out := formatted(t, "bench", runs, FormatOptions{})
		r := benchfmt.NewReader(strings.NewReader(out), name)
		results := 0
		units := map[string]bool{}
		for r.Scan() {
			switch rec := r.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", name, rec)
			case *benchfmt.Result:
				results++
				for _, v := range rec.Values {
					units[v.Unit] = true
				}
			}
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if want := strings.Count(out, "\nBenchmark"); results != want || want == 0 {
			t.Errorf("%s: %d results of %d lines", name, results, want)
		}
		for unit := range units {
			if r.Units().Get(unit, "assume") == nil {
				t.Errorf("%s: unit %s has no metadata", name, unit)
			}
		}
	}
}

// What sets two blocks apart is in the configuration: no line of one can be pooled with
// lines of the other.
func TestBenchKeepsBlocksApart(t *testing.T) {
	for field, change := range map[string]func(*Environment){
		"kernel": func(e *Environment) { e.Kernel = "x" }, "version": func(e *Environment) { e.KernelVersion = "x" },
		"arch": func(e *Environment) { e.Arch = "x" }, "cpu": func(e *Environment) { e.CPU = "x" },
		"cpus": func(e *Environment) { e.CPUs = 99 }, "virtualisation": func(e *Environment) { e.Virtualisation = "x" },
		"label": func(e *Environment) { e.Label = "x" }, "options": func(e *Environment) { e.CommandLine = "x" },
		"debug": func(e *Environment) { e.Debug = []string{"KASAN"} }, "governor": func(e *Environment) { e.Governor = "x" },
		"sync mem": func(e *Environment) { e.FibSyncMem = 1 }, "link": func(e *Environment) { e.LinkKind = "x" },
		"rootless": func(e *Environment) { e.Rootless = true }, "program": func(e *Environment) { e.Fibchurn = "x" },
	} {
		runs := threeCells().make()[:6]
		for i := range runs[3:] {
			change(&runs[3+i].Environment)
		}
		all := blocks(runs)
		if len(all) != 2 {
			t.Fatalf("%s: %d blocks", field, len(all))
		}
		text := func(b block) string {
			var s strings.Builder
			for _, c := range benchConfig(b) {
				s.WriteString(c.Key + "=" + string(c.Value) + "\n")
			}
			return s.String()
		}
		if text(all[0]) == text(all[1]) {
			t.Errorf("%s is not in the configuration", field)
		}
	}
}

// benchstat, the real one, has the medians, the verdicts and the numbers of samples of
// our own comparison.
func TestBenchstat(t *testing.T) {
	slower := func(by float64, runs []Run) []Run {
		for i := range runs {
			r := &runs[i]
			r.Boot, r.Environment.Kernel = "new-"+r.Boot, "6.1.0-new"
			for p := range r.Phases {
				r.Phases[p].Wall = int64(float64(r.Phases[p].Wall) * by)
			}
		}
		return runs
	}
	for name, test := range map[string]struct{ base, new []Run }{
		"runs":  {threeCells().make(), slower(1.3, threeCells().make())},
		"boots": {manyBoots(), slower(2, manyBoots())},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Compare([]Group{{"base", test.base}, {"new", test.new}}, CompareOptions{Metrics: []string{metricWall}})
			if err != nil {
				t.Fatal(err)
			}
			rows := benchstat(t, test.base, test.new)
			if len(rows) != len(c.Rows) {
				t.Errorf("benchstat has %d rows, compare %d", len(rows), len(c.Rows))
			}
			for _, want := range c.Rows {
				got, ok := rows["DeleteIface/cell="+want.Cell+"/phase="+want.Phase+"-4"]
				if !ok {
					t.Errorf("benchstat has no row for %s %s: %v", want.Cell, want.Phase, rows)
					continue
				}
				near := func(got, ns float64) bool { return math.Abs(got*1e9-ns) <= 1e-6*ns }
				if !near(got.base, want.BaseSummary.Median) || !near(got.new, want.NewSummary.Median) {
					t.Errorf("%s %s: benchstat %g s and %g s, compare %g ns and %g ns", want.Cell, want.Phase,
						got.base, got.new, want.BaseSummary.Median, want.NewSummary.Median)
				}
				if !strings.Contains(got.p, "n="+strconv.Itoa(want.BaseSummary.N)) {
					t.Errorf("%s %s: benchstat has %q, compare %d samples", want.Cell, want.Phase, got.p, want.BaseSummary.N)
				}
				if (got.delta == "~") != (want.Result == Unshown) {
					t.Errorf("%s %s: benchstat says %s, compare %s", want.Cell, want.Phase, got.delta, want.Result)
				}
			}
		})
	}
}

type benchstatRow struct {
	base, new float64 // s
	delta, p  string
}

// benchstat compares wall times.
func benchstat(t *testing.T, base, new []Run) map[string]benchstatRow {
	t.Helper()
	dir := t.TempDir()
	args := []string{"tool", "benchstat", "-format", "csv", "-ignore", "kernel", "-filter", ".unit:wall-ns"}
	for name, runs := range map[string][]Run{"base": base, "new": new} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(formatted(t, "bench", runs, FormatOptions{})), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", append(args, filepath.Join(dir, "base"), filepath.Join(dir, "new"))...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, &stderr)
	}
	t.Logf("benchstat:\n%s%s", out, &stderr)
	r := csv.NewReader(bytes.NewReader(out))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]benchstatRow{}
	for _, rec := range records {
		if len(rec) < 7 || !strings.HasPrefix(rec[0], "DeleteIface/") {
			continue
		}
		var row benchstatRow
		if row.base, err = strconv.ParseFloat(rec[1], 64); err == nil {
			row.new, err = strconv.ParseFloat(rec[3], 64)
		}
		if err != nil {
			t.Fatal(err)
		}
		row.delta, row.p = rec[5], rec[6]
		if _, twice := rows[rec[0]]; twice {
			t.Errorf("benchstat has two rows for %s", rec[0])
		}
		rows[rec[0]] = row
	}
	return rows
}
