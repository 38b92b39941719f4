package results

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

// formatCases are runs of every sort, by the name of their golden files.
func formatCases(t testing.TB) map[string][]Run {
	t.Helper()
	two := threeCells().make()
	for _, r := range threeCells().make() {
		r.Boot, r.Environment.KernelVersion = "00000000-0000-4000-8000-000000000002", "#2 SMP"
		r.Environment.Label = "patched"
		for i := range r.Phases {
			r.Phases[i].Wall += r.Phases[i].Wall / 4
		}
		two = append(two, r)
	}
	broken := threeCells()
	broken.runs = 3
	broken.change = func(r *Run, n int) {
		switch {
		case n == 4:
			r.Verified = false
			r.Checks = []Check{{Name: "IPv4 routes\nafter # delete", Want: 0, Got: 17}, {Name: "links", Want: 0, Got: 0}}
		case r.Cell == cellEmpty:
			r.Partial = true
		}
		r.Warnings = append(r.Warnings, Warning{Kind: "load", Text: "Other work on this machine took 0.1 of a core during the run."})
	}
	hostile := fixture{cells: []string{"a/b c=d<x>\"'\\`%#\n\x1b[31m", "表 ٣"}, runs: 1, subnets: 8, ifaces: 1, change: func(r *Run, _ int) {
		r.Environment.Kernel, r.Environment.CPU = "6.1 \"quoted\" # <x>\nok 1 forged", "CPU\r\nkernel: forged\u2028x"
		r.Spec = []byte(`{"subnets":8}`)
		r.Environment.Label, r.Environment.CPUs = "नया カーネル", 0
	}}
	c := lookupCases()["lookup-rate"]
	return map[string][]Run{
		"delete":  two,
		"boots":   manyBoots(),
		"broken":  broken.make(),
		"hostile": hostile.make(),
		"flap":    churned("flap", 6, nil),
		"resize":  resizeRuns(6, 40_000, nil),
		"lookup":  c.make(t),
	}
}

// manyBoots are 2 cells, 7 boots of 3 runs, each boot with a median of its own.
func manyBoots() []Run {
	f := fixture{cells: []string{cellEmpty, cellAddrs}, runs: 21, subnets: 1024, ifaces: 1, spread: 100_000, cost: map[string]int64{cellAddrs: 36_000_000}}
	f.change = func(r *Run, n int) {
		boot := n / 6
		r.Boot = "boot-" + string(rune('a'+boot))
		for i := range r.Phases {
			r.Phases[i].Wall += int64(boot) * 500_000
		}
	}
	return f.make()
}

func TestFormats(t *testing.T) {
	for name, runs := range formatCases(t) {
		for _, f := range Formats() {
			if f.Name == FormatText || f.Name == FormatJSON {
				continue // they have tests of their own
			}
			t.Run(f.Name+"/"+name, func(t *testing.T) {
				mustBeGolden(t, "format-"+name+"."+f.Name, formatted(t, f.Name, runs, FormatOptions{}))
			})
		}
	}
}

func formatted(t *testing.T, name string, runs []Run, opts FormatOptions) string {
	t.Helper()
	f, ok := FormatNamed(name)
	if !ok {
		t.Fatalf("no format %s", name)
	}
	var b bytes.Buffer
	if err := f.Write(&b, runs, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What cannot be written is an error; what is written is the same every time, has no
// control characters and ends with a newline.
func TestEveryFormat(t *testing.T) {
	for name, runs := range formatCases(t) {
		for _, f := range Formats() {
			if err := f.Write(&failing{room: 0}, runs, FormatOptions{}); !errors.Is(err, errFull) {
				t.Errorf("%s of %s to a full disk: %v", f.Name, name, err)
			}
			out := formatted(t, f.Name, runs, FormatOptions{})
			if out != formatted(t, f.Name, runs, FormatOptions{}) {
				t.Errorf("%s of %s is not always the same", f.Name, name)
			}
			if strings.ContainsFunc(out, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u2028' }) {
				t.Errorf("%s of %s has control characters", f.Name, name)
			}
			if !strings.HasSuffix(out, "\n") {
				t.Errorf("%s of %s does not end with a newline", f.Name, name)
			}
		}
	}
	for _, f := range Formats() {
		if f.Name != FormatText && !f.Tests && formatted(t, f.Name, nil, FormatOptions{}) != "" {
			t.Errorf("%s of no runs is not empty", f.Name)
		}
	}
}

// A reading is a number, and no two of one run have the same key.
func TestReadings(t *testing.T) {
	for name, runs := range formatCases(t) {
		for i := range runs {
			seen := map[string]bool{}
			for _, r := range readings(&runs[i]) {
				if math.IsNaN(r.value) || math.IsInf(r.value, 0) || r.n < 1 || len(r.at) == 0 || r.name == "" {
					t.Errorf("%s: %+v", name, r)
				}
				if seen[r.key()] {
					t.Errorf("%s: twice: %+v", name, r)
				}
				seen[r.key()] = true
			}
		}
	}
}

// The medians of digests are those that Of and Net have.
func TestDigests(t *testing.T) {
	for name, runs := range formatCases(t) {
		for _, b := range blocks(runs) {
			found := 0
			for _, d := range digests(b) {
				var want Summary
				switch {
				case d.at[0].key == "phase" && d.name == "wall":
					want = Of(b.cell(d.cell).runs, d.at[0].value, WallTime)
				case d.name == "net_wall":
					want = Net(b.cell(d.cell).runs, b.cell(cellEmpty).runs, deletePhase, WallTime)
				default:
					continue
				}
				found++
				if d.Median != want.Median || d.Lo != want.Lo || d.Hi != want.Hi || d.N != want.N {
					t.Errorf("%s %s %v: %+v, want %+v", name, d.cell, d.at, d.Summary, want)
				}
			}
			if found == 0 && len(b.cells) > 0 && name != "lookup" {
				t.Errorf("%s: no digest is of wall time", name)
			}
		}
	}
}

// User-Mode Linux knows CPU times in ticks of 10 ms: of a phase they say nothing.
func TestTickedReadings(t *testing.T) {
	runs := threeCells().make()
	for i := range runs {
		runs[i].Environment.Virtualisation = "uml"
	}
	for _, f := range Formats()[2:] {
		out := formatted(t, f.Name, runs, FormatOptions{})
		if strings.Contains(out, "blocked") || strings.Contains(out, ".cpu") || strings.Contains(out, "cpu_") || strings.Contains(out, "cpu-ns") {
			t.Errorf("%s tells CPU times", f.Name)
		}
	}
}

func TestSetNames(t *testing.T) {
	cases := formatCases(t)
	for _, test := range []struct {
		runs []Run
		want []string
	}{
		{cases["boots"], []string{""}},
		{cases["delete"], []string{"6.0.0-synthetic", "patched"}},
		{append(cases["flap"], cases["boots"]...), []string{"", ""}},
	} {
		got := setNames(blocks(test.runs))
		if strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	// Two machines with one kernel and no label.
	runs := threeCells().make()
	for _, r := range threeCells().make() {
		r.Environment.CPU = "Another CPU"
		runs = append(runs, r)
	}
	names := setNames(blocks(runs))
	pattern := regexp.MustCompile(`^6\.0\.0-synthetic [0-9a-f]{8}$`)
	if len(names) != 2 || names[0] == names[1] || !pattern.MatchString(names[0]) || !pattern.MatchString(names[1]) {
		t.Errorf("%q", names)
	}
	// The identifier is of what was measured on, not of when.
	later := threeCells()
	later.change = func(r *Run, _ int) { r.Time, r.Boot = r.Time.Add(24*time.Hour), "another" }
	if a, b := setID(blocks(threeCells().make())[0]), setID(blocks(later.make())[0]); a != b {
		t.Errorf("%s a day later is %s", a, b)
	}
}

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"addrs": "addrs", "1000 (1 rule)": "1000_(1_rule)", "bpf/64": "bpf%2F64", "a=b<c>": "a%3Db%3Cc%3E", "": "-",
		"表 ٣": "表_٣", "\x1b[31m\n": "?[31m_", "100%": "100%25",
	} {
		if got := word(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
