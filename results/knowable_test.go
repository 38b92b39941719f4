package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Of one writer and several, a ratio takes six runs and has an interval.
func TestScalingSentences(t *testing.T) {
	for runs, want := range map[int]string{
		3:  "3 runs are too few to say how 4 writers compare with one: it takes 6.",
		10: "4 writers reach, against one, so many times the throughput: add 2.0 times (95 % interval ",
	} {
		got := scalingSentences(newBlock(writersRuns(runs, 2)))
		if len(got) != 1 || !strings.HasPrefix(strings.ReplaceAll(got[0], nbsp, " "), want) {
			t.Errorf("%d runs: %q, want %q", runs, got, want)
		}
	}
	if got := scalingSentences(newBlock(writersRuns(10, 1))); len(got) != 1 || !strings.Contains(got[0], "no difference is shown") {
		t.Errorf("of writers that gain nothing: %q", got)
	}
}

// writersRuns are of one writer and of four, which are so many times as fast.
func writersRuns(runs int, factor int64) []Run {
	f := threeCells()
	f.cells, f.runs = []string{"1", "4"}, runs
	f.change = func(r *Run, n int) {
		wall := int64(8_000_000 + n*n*7919%200_003)
		if r.Cell == "4" {
			wall /= factor
		}
		r.Command, r.Phases = "routes", []Phase{{Name: "add", Ops: 1000, Subnets: 1000, Wall: wall}}
		r.Spec = fmt.Appendf(nil, `{"parallel":%s}`, r.Cell)
	}
	return f.make()
}

// A fit takes two runs a size.
func TestGrowthTakesRunsOfEverySize(t *testing.T) {
	for runs, want := range map[int]int{1: 0, 2: 1} {
		f := threeCells()
		f.cells, f.runs = []string{"1000", "2000", "4000"}, runs
		f.change = func(r *Run, n int) {
			size := leadingNumber(r.Cell)
			r.Command, r.Spec = "routes", []byte(`{}`)
			r.Phases = []Phase{{Name: "add", Ops: size, Subnets: size, Wall: size*1000 + int64(n)}}
		}
		if got := growthSentences(newBlock(f.make()), "routes"); len(got) != want {
			t.Errorf("%d runs a size: %q", runs, got)
		}
	}
}

// An unknown CPU time is shown as such, is compared with nothing, and is told from
// 0 also in files that do not say so.
func TestUnknownCPUTime(t *testing.T) {
	text := `{"schema":1,"time":"2026-01-01T00:00:00Z","command":"netns","cell":"c","run":1,"boot":"a","spec":{},"environment":{},"verified":true,"partial":false,` +
		`"phases":[{"name":"dismantle","ops":1,"wall_ns":4000000,"user_ns":0,"system_ns":0,"blocked_ns":4000000}]}`
	runs, _, err := Read(strings.NewReader(text), "f")
	if err != nil || !runs[0].Phases[0].CPUUnknown {
		t.Fatalf("%+v, %v", runs, err)
	}
	row := phaseGrid(phaseRows(newBlock(runs), layoutOf("netns")), layoutOf("netns")).rows[0]
	if row[8] != "-" || row[10] != "-" {
		t.Errorf("CPU %q, blocked %q", row[8], row[10])
	}
	other := runs[0]
	other.Boot = "b"
	c, err := Compare([]Group{{"base", runs}, {"new", []Run{other}}}, CompareOptions{})
	if err != nil || len(c.Rows) != 1 || c.Rows[0].Metric != metricWall {
		t.Errorf("%+v, %v", c.Rows, err)
	}
}

// Warnings are counted among the samples, of which the figures are.
func TestWarningsOfSamples(t *testing.T) {
	f := threeCells()
	f.change = func(r *Run, n int) {
		r.Warnings, r.Partial = []Warning{{"load", "busy"}}, n == 5
	}
	if got := warningTexts(newBlock(f.make())); len(got) != 1 || !strings.HasPrefix(got[0], "warning: 29 of 29"+nbsp+"runs: load") {
		t.Errorf("%q", got)
	}
}

// A table that lost columns says how many.
func TestDroppedColumns(t *testing.T) {
	for width, want := range map[int]string{0: "", 200: "", 60: "columns do not fit 60 columns)"} {
		var buf bytes.Buffer
		if err := WriteText(&buf, threeCells().make(), TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(buf.String(), "not fit"); got != (want != "") || !strings.Contains(buf.String(), want) {
			t.Errorf("width %d: %s", width, buf.String())
		}
	}
}
