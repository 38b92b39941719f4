package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Sections say what the terminal says: every row of their tables, every note, warning
// and conclusion.
func TestSections(t *testing.T) {
	for name, f := range map[string]fixture{
		"three cells": threeCells(),
		"doubts":      func() fixture { f := threeCells(); f.change = doubts; return f }(),
		"left out":    func() fixture { f := threeCells(); f.change = spoil; return f }(),
	} {
		runs := f.make()
		var b bytes.Buffer
		if err := WriteText(&b, runs, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		says := func(what string) {
			what = strings.Join(strings.Fields(strings.ReplaceAll(what, nbsp, " ")), " ")
			if !strings.Contains(text, what) {
				t.Errorf("%s: the terminal does not say %q", name, what)
			}
		}
		sections := Sections(runs)
		if len(sections) != 1 || len(sections[0].Tables) < 2 || len(sections[0].Conclusion) == 0 {
			t.Fatalf("%s: %d sections", name, len(sections))
		}
		s := sections[0]
		for _, line := range slices.Concat(s.Heading, s.LeftOut, s.Warnings, s.Conclusion) {
			says(line)
		}
		for _, table := range s.Tables {
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s, %s: %d values, %d columns", name, table.Title, len(row), len(table.Columns))
				}
				says(strings.Join(row, " "))
			}
			for _, note := range table.Notes {
				says(note)
			}
		}
	}
}

// Kernels share their work, other parameters and link kinds do not; a run without its
// seed's meaning is of the same work as one of another seed.
func TestWorkKeys(t *testing.T) {
	f := threeCells()
	f.runs = 2
	one := f.make()
	f.change = func(r *Run, _ int) { r.Environment.Label, r.Environment.Kernel = "new", "6.1" }
	two := f.make()
	f.subnets = 4096
	smaller := f.make()
	sections := Sections(slices.Concat(one, two, smaller))
	if len(sections) != 3 || sections[0].Work != sections[1].Work || sections[0].Work == sections[2].Work {
		t.Errorf("%d sections", len(sections))
	}
	other := one[0]
	other.Spec = []byte(strings.Replace(string(other.Spec), `"seed":1`, `"seed":2`, 1))
	if one[0].WorkKey() != two[0].WorkKey() || one[0].WorkKey() == smaller[0].WorkKey() || one[0].WorkKey() != other.WorkKey() || one[0].WorkKey() == one[1].WorkKey() {
		t.Error("keys of works")
	}
	if one[0].SideName() != "6.0.0-synthetic" || two[0].SideName() != "new" || (&Run{}).SideName() != "unknown kernel" {
		t.Error("names of sides")
	}
}

// The tables of a comparison have the result beside the delta, and the short one has
// the rows that show something, the slower ones first.
func TestComparisonTables(t *testing.T) {
	f := compared{boots: 8, runs: 2, spread: 0.01, factor: 1.3}
	c, err := Compare(f.groups(), CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slower := 0
	for _, table := range ComparisonTables(c) {
		if len(table.Results) != len(table.Rows) || table.Spec == "" {
			t.Errorf("%s: %d results, %d rows, spec %q", table.Title, len(table.Results), len(table.Rows), table.Spec)
		}
		for i, row := range table.Rows {
			if delta := slices.IndexFunc(table.Columns, func(c TableColumn) bool { return c.Title == "delta" }); table.Results[i] == Slower {
				slower++
				if row[delta+1] != "slower" || !strings.HasPrefix(row[delta], "+") {
					t.Errorf("%q", row)
				}
			}
		}
	}
	changed := ChangedTable(c)
	if slower == 0 || len(changed.Rows) != slower || len(changed.Rows[0]) != len(changed.Columns) {
		t.Errorf("%d slower, %d changed", slower, len(changed.Rows))
	}
	if !slices.ContainsFunc(changed.Rows, func(row []string) bool { return row[0] == "delete-iface addrs, delete, wall time" }) {
		t.Errorf("%q", changed.Rows)
	}
	f.sides = 3
	if c, err = Compare(f.groups(), CompareOptions{}); err != nil {
		t.Fatal(err)
	}
	if changed = ChangedTable(c); changed.Columns[1].Title != "new" || changed.Rows[0][1] == "" || len(changed.Rows[0]) != len(changed.Columns) {
		t.Errorf("of three sides: %q", changed.Rows)
	}
}

// Lookups summarise as the table of lookups does.
func TestLookups(t *testing.T) {
	run := func(boot string, p50 int64) Run {
		return Run{Verified: true, Boot: boot, Latency: []Latency{{Probe: "bpf", Stretch: "rest", Rate: 5, Count: 9, P50: p50, P99: 2 * p50}, {Probe: "none", Count: 0}}}
	}
	partial := run("c", 1)
	partial.Partial = true
	sets := Lookups([]Run{run("a", 10), run("a", 30), run("b", 40), partial})
	if len(sets) != 1 || sets[0].Probe != "bpf" || sets[0].Rate != 5 || sets[0].P50.N != 2 || sets[0].P50.Median != 30 || sets[0].P99.Median != 60 || len(sets[0].Latencies) != 3 {
		t.Errorf("%+v", sets)
	}
}
