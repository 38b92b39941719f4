package results

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// To write testdata anew from the fixtures and the renderer:
//
//	go test ./results -run TestWriteText -update
//
// and read the difference before it is committed.
var update = flag.Bool("update", false, "write the golden files in testdata anew")

// textCases maps the name of a golden file to what it renders.
func textCases() map[string]textCase {
	wide := TextOptions{Width: 132}
	change := func(f fixture, change func(*Run, int)) fixture { f.change = change; return f }
	with := func(f fixture, set func(*fixture)) fixture { set(&f); return f }
	full := threeCells()
	return map[string]textCase{
		"full":         {full, wide},
		"narrow-80":    {full, TextOptions{Width: 80}},
		"narrow-60":    {full, TextOptions{Width: 60}},
		"colour":       {with(full, func(f *fixture) { f.change = doubts }), TextOptions{Width: 80, Color: true}},
		"one-run":      {with(full, func(f *fixture) { f.runs = 1 }), wide},
		"left-out":     {change(full, spoil), wide},
		"all-left-out": {change(with(full, func(f *fixture) { f.runs = 1 }), func(r *Run, _ int) { r.Partial = true }), wide},
		"warnings":     {change(full, doubts), wide},
		"no-empty":     {with(full, func(f *fixture) { f.cells = []string{cellAddrs, cellRoutes} }), wide},
		"no-routes":    {with(full, func(f *fixture) { f.cells = []string{cellAddrs, cellEmpty} }), wide},
		"routes-only":  {with(full, func(f *fixture) { f.cells = []string{cellRoutes, cellEmpty} }), wide},
		"only-empty":   {with(full, func(f *fixture) { f.cells = []string{cellEmpty} }), wide},
		"routes-free": {with(full, func(f *fixture) {
			f.cost = map[string]int64{cellAddrs: 36_000_000}
		}), wide},
		"nothing-measurable": {with(full, func(f *fixture) { f.cost = nil }), wide},
		"negative": {with(full, func(f *fixture) {
			f.cost = map[string]int64{cellAddrs: 36_000_000, cellRoutes: -800_000}
		}), wide},
		"ipv6":   {with(full, func(f *fixture) { f.ipv6 = true }), wide},
		"ifaces": {with(full, func(f *fixture) { f.ifaces = 4 }), wide},
		"secondaries": {with(full, func(f *fixture) {
			f.cells = []string{cellEmpty, cellSecondaries, cellRoutes, cellAddrs}
		}), wide},
		"down-first":  {change(full, downFirst), wide},
		"boots":       {change(with(full, func(f *fixture) { f.runs = 21 }), sevenBoots), wide},
		"two-kernels": {change(full, func(r *Run, n int) { r.Environment.Kernel = []string{"6.0.0-a", "6.0.0-b"}[n/15] }), wide},
		"two-specs":   {change(full, func(r *Run, n int) { smaller(r, n >= 15) }), wide},
		"shapes":      {change(full, func(r *Run, n int) { otherShape(r, n) }), wide},
		"other":       {change(full, func(r *Run, _ int) { r.Command = "per-op" }), wide},
	}
}

type textCase struct {
	fixture fixture
	opts    TextOptions
}

func TestWriteText(t *testing.T) {
	stored := []string{"full", "one-run", "left-out", "no-empty", "nothing-measurable", "ipv6", "ifaces"}
	for name, c := range textCases() {
		t.Run(name, func(t *testing.T) {
			in := filepath.Join("testdata", name+".jsonl")
			if !slices.Contains(stored, name) {
				in = filepath.Join(t.TempDir(), "runs.jsonl")
				write(t, in, string(encodeAll(t, c.fixture.make())))
			} else {
				golden(t, in, encodeAll(t, c.fixture.make()))
			}
			got := render(t, readFile(t, in), c.opts)
			golden(t, filepath.Join("testdata", name+".txt"), got)
			checkText(t, string(got), c.opts)
		})
	}
}

// checkText holds for every rendering: no escape byte without colour, no
// trailing space, no line wider than the terminal, no figure that is none.
func checkText(t *testing.T, text string, opts TextOptions) {
	t.Helper()
	if !opts.Color && strings.Contains(text, "\x1b") {
		t.Error("an escape byte without colour")
	}
	for _, bad := range []string{"NaN", "Inf", "∞", nbsp, " \n"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in the text", bad)
		}
	}
	for line := range strings.Lines(text) {
		for _, c := range []colour{bold, red, yellow} {
			line = strings.ReplaceAll(line, "\x1b["+string(c)+"m", "")
		}
		line = strings.TrimSuffix(strings.ReplaceAll(line, "\x1b[0m", ""), "\n")
		if len(line) > opts.Width {
			t.Errorf("%d columns wide: %s", len(line), line)
		}
	}
}

func TestWriteTextKeepsControlCharactersOut(t *testing.T) {
	f := threeCells()
	f.change = func(r *Run, _ int) {
		evil := "a\x1b[31mb\nc\u202ed"
		r.Command, r.Cell, r.Phases[0].Name, r.Environment.CPU = evil, r.Cell+evil, evil, evil
		r.Warnings = []Warning{{evil, evil}}
		r.Spec = []byte(`{"a\u001bb":"c\u001bd"}`)
	}
	text := string(render(t, f.make(), TextOptions{Width: 100}))
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("control characters in:\n%q", text)
	}
}

func TestWriteTextLeavesRunsAlone(t *testing.T) {
	runs, want := threeCells().make(), threeCells().make()
	render(t, runs, TextOptions{})
	if d := cmp.Diff(want, runs); d != "" {
		t.Error(d)
	}
}

// From 55 columns on, which the columns that never go take, everything fits.
func TestWriteTextAtAnyWidth(t *testing.T) {
	for width := 55; width < 140; width++ {
		opts := TextOptions{Width: width}
		checkText(t, string(render(t, threeCells().make(), opts)), opts)
	}
}

func TestWriteTextNoRuns(t *testing.T) {
	if got := string(render(t, nil, TextOptions{})); got != "no runs\n" {
		t.Errorf("got %q", got)
	}
}

// spoil interrupts one run and fails two.
func spoil(r *Run, n int) {
	switch n {
	case 4:
		r.Verified = false
		r.Checks = []Check{{"IPv4 addresses before delete", 8192, 8192}, {"IPv4 routes before delete", 8192, 8190}}
		r.Phases[0].Wall = 1e12
	case 8:
		r.Verified = false
	case 29:
		r.Partial, r.Verified = true, false
		r.Phases = r.Phases[:1]
	}
}

func doubts(r *Run, n int) {
	r.Warnings = []Warning{{"debug-kernel", "the kernel is built with LOCKDEP, which slows every lock"}}
	r.Environment.Debug = []string{"LOCKDEP"}
	if n%10 == 3 {
		r.Warnings = append(r.Warnings, Warning{"load", fmt.Sprintf("other work took %d.5 %% of 4 CPUs", 3+n)})
	}
}

func downFirst(r *Run, _ int) {
	down := *r.Phase(deletePhase)
	down.Name = downPhase
	last := len(r.Phases) - 1
	r.Phases = append(r.Phases[:last:last], down, r.Phases[last])
}

func sevenBoots(r *Run, _ int) {
	r.Boot = r.Boot[:len(r.Boot)-1] + string(rune('1'+(r.Run-1)/3))
}

// smaller gives the run a tenth of the load.
func smaller(r *Run, yes bool) {
	if !yes {
		return
	}
	r.Spec = bytes.Replace(r.Spec, []byte("8192"), []byte("819"), 1)
	for i := range r.Phases {
		r.Phases[i].Subnets /= 10
	}
}

func otherShape(r *Run, n int) {
	if r.Cell == cellAddrs && n%2 == 0 {
		r.Trie.Before.IPv4.Tables[0].AverageDepth = 1.7
	}
}

func render(t *testing.T, runs []Run, opts TextOptions) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteText(&buf, runs, opts); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func encodeAll(t *testing.T, runs []Run) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := NewEncoder(&buf)
	for i := range runs {
		if err := enc.Encode(&runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func readFile(t *testing.T, name string) []Run {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, warnings, err := Read(f, name)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return runs
}

// golden compares got with the file, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}
