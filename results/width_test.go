package results

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/rivo/uniseg"
)

// labels are of many scripts, with their digits, and as wide as a terminal shows them.
func labels() map[string]int {
	return map[string]int{
		"6.12": 4, "٦٫١٢": 4, "६.१२": 4, "６．１２": 8, "๖.๑๒": 4, "カーネル ６": 11, "表": 2, "커널": 4,
		"e\u0301te\u0301": 3, "ядро": 4, "🐧 6.1": 6,
	}
}

// The library that lays tables out measures as uniseg does, which knows grapheme clusters.
func TestWidthOfLabels(t *testing.T) {
	for label, want := range labels() {
		if got := text.StringWidth(plain(label)); got != want {
			t.Errorf("%q is %d columns for the table, want %d", label, got, want)
		}
		if got := uniseg.StringWidth(label); got != want {
			t.Errorf("%q is %d columns for uniseg, want %d", label, got, want)
		}
	}
}

// Whatever the script of a cell's name, the columns right of it line up: by uniseg every
// row of the table is of one width.
func TestTablesOfAnyScript(t *testing.T) {
	var g grid
	g.columns = []column{{title: "kernel", left: true}, {title: "median\nms"}, {title: "Δ"}, {title: "interval"}}
	lows, highs := []string{}, []string{}
	for i := range len(labels()) {
		lows, highs = append(lows, fmt.Sprint(i)), append(highs, fmt.Sprint(i*100))
	}
	intervals := alignPairs(lows, highs)
	i := 0
	for label := range labels() {
		g.rows = append(g.rows, []string{label, fmt.Sprint(i * i), label, intervals[i]})
		i++
	}
	lines, headings, _ := g.lines(0)
	want := uniseg.StringWidth(lines[headings])
	for _, l := range lines[headings:] {
		if got := uniseg.StringWidth(l); got != want {
			t.Errorf("%d columns, want %d: %q", got, want, l)
		}
	}
}

// Names that are too long for the terminal are wrapped, and nothing of them is lost.
func TestLongNames(t *testing.T) {
	for _, name := range []string{
		strings.Repeat("long ", 20), strings.Repeat("表", 60), strings.Repeat("x", 90), "1000 " + strings.Repeat("６", 40) + " rules",
	} {
		g := grid{columns: []column{{title: "cell", left: true}, {title: "phase", left: true}, {title: "median\nms"}, {title: "MAD", drop: 1}},
			rows: [][]string{{name, "delete", "1.234", "0.1"}, {"short", "delete", "22.345", "0.1"}}}
		for _, width := range []int{40, 60, 80} {
			lines, _, _ := g.lines(width)
			var names strings.Builder
			for _, l := range lines {
				if got := uniseg.StringWidth(l); got > width {
					t.Errorf("%d columns of %d: %q", got, width, l)
				}
				names.WriteString(l)
			}
			squash := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := strings.Count(squash(names.String()), string([]rune(name)[0])); got < strings.Count(name, string([]rune(name)[0])) {
				t.Errorf("at %d something of %q is lost:\n%s", width, name, strings.Join(lines, "\n"))
			}
		}
	}
}

// Renderings of runs whose kernels and cells have such names stay within 60 and 80
// columns, wrapped rather than broken.
func TestNarrowTerminals(t *testing.T) {
	scripts := func(r *Run, _ int) {
		r.Environment.Label, r.Environment.CPU = "カーネル ６．１２", "معالج ٦٤"
		r.Warnings = append(r.Warnings, Warning{"load", "Other work on this machine took 0.1 of a core during the run."})
	}
	f := threeCells()
	f.change = scripts
	cells := fixture{cells: []string{"表 ٣", "ячейка", cellEmpty}, runs: 6, subnets: 8192, ifaces: 1, spread: 200_000, change: scripts}
	base, other := f.make(), threeCells().make()
	for i := range other {
		other[i].Boot, other[i].Environment.Label = "another", "पुराना ६.१"
	}
	c, err := Compare([]Group{{"カーネル ６．１２", base}, {"पुराना ६.१", other}}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{60, 80} {
		for name, write := range map[string]func(*strings.Builder) error{
			"text":    func(b *strings.Builder) error { return WriteText(b, base, TextOptions{Width: width}) },
			"cells":   func(b *strings.Builder) error { return WriteText(b, cells.make(), TextOptions{Width: width}) },
			"compare": func(b *strings.Builder) error { return WriteComparison(b, c, TextOptions{Width: width}) },
			"suite":   func(b *strings.Builder) error { return WriteOutcomes(b, "表", suiteOutcomes(), TextOptions{Width: width}) },
		} {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if got := text.StringWidth(strings.TrimRight(line, "\n")); got > width {
					t.Errorf("%s at %d: %d columns: %q", name, width, got, line)
				}
			}
			if name != "suite" {
				mustBeGolden(t, fmt.Sprintf("scripts-%s-%d.txt", name, width), b.String())
			}
		}
	}
}
