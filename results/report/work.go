package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// A work is what was measured on one or more kernels: the sections of equal Work.
type work struct {
	ID       string
	Title    string
	Spec     string
	Sections []sideSection
	Groups   []group
	Flames   []flame
}

// A sideSection is a section and the side it is of.
type sideSection struct {
	results.Section
	Side string
	Ink  int
}

// A group is charts of one sort.
type group struct {
	Title string
	Notes []string
	Kept  []*chart.Chart
}

// A flame is a flame graph.
type flame struct {
	Title string
	SVG   template.HTML
}

// maxCharts bounds each group, so that a page stays one that can be read.
const maxCharts = 24

func works(runs []results.Run, s sides) []work {
	var all []work
	index := map[string]int{}
	for _, side := range split(runs, s) {
		for _, section := range results.Sections(side.Runs) {
			i, ok := index[section.Work]
			if !ok {
				i = len(all)
				index[section.Work] = i
				all = append(all, work{ID: fmt.Sprintf("work%d", i+1), Title: section.Command, Spec: section.Spec})
			}
			w := &all[i]
			w.Sections = append(w.Sections, sideSection{section, w.free(side.Name), s.ink(side.Name)})
		}
	}
	for i := range all {
		w := &all[i]
		w.addGroup("Time by phase", w.strips())
		w.addGroup("Cost against table size", w.growth())
		percentiles, histograms := w.latency()
		w.addGroup("Latency by percentile", percentiles)
		w.addGroup("Latency histograms", histograms)
		w.addGroup("Shape of the trie", w.shapes())
		w.Flames = w.flames()
	}
	return all
}

// split returns the runs side by side, base first; those of no side are one.
func split(runs []results.Run, s sides) []results.Group {
	if len(s.groups) > 0 {
		return s.groups
	}
	groups := []results.Group{}
	for i := range runs {
		name := s.of(&runs[i])
		at := slices.IndexFunc(groups, func(g results.Group) bool { return g.Name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, results.Group{Name: name})
		}
		groups[at].Runs = append(groups[at].Runs, runs[i])
	}
	return groups
}

// free is the name of a side, numbered where it has several sections: of other
// machines, or other versions.
func (w *work) free(name string) string {
	free := name
	for n := 2; slices.ContainsFunc(w.Sections, func(s sideSection) bool { return s.Side == free }); n++ {
		free = fmt.Sprintf("%s (%d)", name, n)
	}
	return free
}

func (w *work) addGroup(title string, charts []*chart.Chart, notes ...string) {
	if len(charts) == 0 {
		return
	}
	g := group{Title: title}
	for _, c := range charts {
		if c.Explain != "" && !slices.Contains(notes, c.Explain) {
			notes = append(notes, c.Explain)
		}
	}
	if more := len(charts) - maxCharts; more > 0 {
		notes = append(notes, fmt.Sprintf("%d more are not drawn.", more))
		charts = charts[:maxCharts]
	}
	g.Notes, g.Kept = notes, charts
	w.Groups = append(w.Groups, g)
}

// several reports whether the work has more than one section, whose sides then need
// naming.
func (w *work) several() bool { return len(w.Sections) > 1 }

// Several is for the template.
func (w work) Several() bool { return w.several() }

func (s *sideSection) key() chart.Key { return chart.Key{Label: s.Side, Ink: s.Ink} }

// strips has a chart for each phase, with a row for each cell and side.
func (w *work) strips() []*chart.Chart {
	const maxRows = 30
	var charts []*chart.Chart
	for _, phase := range w.phases() {
		var rows []chart.StripRow
		for _, cell := range w.cells() {
			for i := range w.Sections {
				s := &w.Sections[i]
				runs := s.runsOf(cell)
				row := chart.StripRow{Label: results.Plain(cell), Ink: s.Ink, Summary: results.Of(runs, phase, results.WallTime)}
				if w.several() {
					row.Label += ", " + s.Side
				}
				for k := range runs {
					if p := runs[k].Phase(phase); p != nil {
						row.Values = append(row.Values, results.WallTime(p))
					}
				}
				if len(row.Values) > 0 {
					rows = append(rows, row)
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		title := results.Plain(phase)
		if more := len(rows) - maxRows; more > 0 {
			title += fmt.Sprintf(" (first %d of %d rows)", maxRows, len(rows))
			rows = rows[:maxRows]
		}
		charts = append(charts, chart.Strip(title, rows))
	}
	return charts
}

func (w *work) phases() []string {
	var names []string
	for _, s := range w.Sections {
		for _, p := range s.Phases {
			if !slices.Contains(names, p) {
				names = append(names, p)
			}
		}
	}
	return names
}

func (w *work) cells() []string {
	var names []string
	for _, s := range w.Sections {
		for _, c := range s.Cells {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// runsOf are the samples of a cell.
func (s *sideSection) runsOf(cell string) []results.Run {
	for _, c := range s.Cells {
		if c.Name == cell {
			return c.Runs
		}
	}
	return nil
}

// growth has a chart for each phase that was measured at several sizes, and one for
// each probe.
func (w *work) growth() []*chart.Chart {
	var charts []*chart.Chart
	for _, phase := range w.phases() {
		var series []chart.GrowthSeries
		var fits []string
		for i := range w.Sections {
			s := &w.Sections[i]
			for _, g := range s.Growth {
				if g.Phase != phase || slices.Min(g.Sizes) == slices.Max(g.Sizes) {
					continue
				}
				one := chart.GrowthSeries{Key: s.key(), Sizes: g.Sizes, Times: g.Times}
				if g.Fitted {
					one.Fit = &g.Fit
					text := fmt.Sprintf("n^%.2f (%.2f to %.2f)", g.Fit.Exponent, g.Fit.Lo, g.Fit.Hi)
					if w.several() {
						text = s.Side + " " + text
					}
					fits = append(fits, text)
				}
				series = append(series, one)
			}
		}
		if len(series) == 0 {
			continue
		}
		caption := "Too few sizes for a fit, which takes 3; the line joins the medians."
		if fits != nil {
			caption = "Grows as " + strings.Join(fits, ", ") + "."
		}
		c := chart.Growth(results.Plain(phase), caption, "routes or subnets n", series)
		c.Explain = "Dots are runs; both axes are logarithmic. The line is a power of the size n, fitted by least squares; its exponent, with a 95 % interval, is 1 where the cost is linear and 2 where it is quadratic."
		charts = append(charts, c)
	}
	return append(charts, w.lookupGrowth()...)
}

func (w *work) lookupGrowth() []*chart.Chart {
	var charts []*chart.Chart
	var order []string
	series := map[string][]chart.GrowthSeries{}
	for i := range w.Sections {
		s := &w.Sections[i]
		of := map[string]int{}
		for _, c := range s.Cells {
			size := tableSize(c.Runs)
			for _, set := range results.Lookups(c.Runs) {
				if size == 0 || set.Stretch != "before" && set.Stretch != "rest" {
					continue
				}
				title := "lookup by " + set.Probe + ", p50 " + set.Stretch
				at, ok := of[title]
				if !ok {
					if series[title] == nil {
						order = append(order, title)
					}
					at = len(series[title])
					of[title] = at
					series[title] = append(series[title], chart.GrowthSeries{Key: s.key()})
				}
				g := &series[title][at]
				for _, l := range set.Latencies {
					if l.P50 > 0 {
						g.Sizes, g.Times = append(g.Sizes, float64(size)), append(g.Times, float64(l.P50))
					}
				}
			}
		}
	}
	for _, title := range order {
		kept := slices.DeleteFunc(series[title], func(g chart.GrowthSeries) bool {
			return len(g.Sizes) == 0 || slices.Min(g.Sizes) == slices.Max(g.Sizes)
		})
		if len(kept) > 0 {
			c := chart.Growth(title, "", "routes in the table", kept)
			c.Explain = "Of lookups, which grow by no power of the size, the line joins the medians."
			charts = append(charts, c)
		}
	}
	return charts
}

// tableSize is the number of routes that a cell's lookups had, 0 where it is not
// known, or not the only parameter by which cells differ.
func tableSize(runs []results.Run) int64 {
	var spec struct {
		Count  int64 `json:"count"`
		Lookup struct {
			Readers int `json:"readers"`
		} `json:"lookup"`
		Rules int `json:"rules"`
	}
	if len(runs) == 0 || json.Unmarshal(runs[0].Spec, &spec) != nil || spec.Lookup.Readers > 1 || spec.Rules > 0 {
		return 0
	}
	return spec.Count
}

// latency has two charts for each cell and probe, with a curve for each stretch, or where
// there are several sides one for each stretch too, with a curve for each side.
func (w *work) latency() (percentiles, histograms []*chart.Chart) {
	var order []string
	curves := map[string][]chart.LatencyCurve{}
	for _, cell := range w.cells() {
		for i := range w.Sections {
			s := &w.Sections[i]
			for _, set := range results.Lookups(s.runsOf(cell)) {
				title := results.Plain(cell) + ", " + set.Probe
				if set.Rate > 0 {
					title += fmt.Sprintf(" at %d/s", set.Rate)
				}
				key := chart.Key{Label: set.Stretch}
				if w.several() {
					title += ", " + set.Stretch
					key = s.key()
				} else {
					key.Ink = len(curves[title]) % chart.Inks
				}
				counts, err := chart.Merge(set)
				if err != nil {
					continue // the tables have its percentiles all the same
				}
				if curves[title] == nil {
					order = append(order, title)
				}
				curves[title] = append(curves[title], chart.LatencyCurve{Key: key, Counts: counts})
			}
		}
	}
	for _, title := range order[:min(len(order), maxCharts)] {
		percentiles = append(percentiles, chart.Percentiles(title, curves[title]))
		histograms = append(histograms, chart.Histogram(title, curves[title]))
	}
	return percentiles, histograms
}

// shapes has a chart for each cell whose runs had a trie of some size; sides whose
// tries are the same are drawn once.
func (w *work) shapes() []*chart.Chart {
	var charts []*chart.Chart
	for _, cell := range w.cells() {
		var shapes []chart.Shape
		var table string
		same := true
		for i := range w.Sections {
			s := &w.Sections[i]
			trie := largestTrie(s.runsOf(cell))
			if trie == nil {
				continue
			}
			table = trie.Name
			shapes = append(shapes, chart.Shape{Key: s.key(), ByBits: trie.TnodesByBits})
			same = same && equalShapes(shapes[0].ByBits, trie.TnodesByBits)
		}
		if len(shapes) == 0 {
			continue
		}
		caption := ""
		if same && len(shapes) > 1 {
			caption, shapes = "The same on all sides.", shapes[:1]
		}
		c := chart.Tnodes(results.Plain(cell)+", table "+results.Plain(table), caption, shapes)
		c.Explain = "Tnodes by size before the last phase of a cell's last run, as /proc/net/fib_triestat has it; the number is on a logarithmic axis."
		charts = append(charts, c)
	}
	return charts
}

func equalShapes(a, b map[int]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for bits, n := range a {
		if b[bits] != n {
			return false
		}
	}
	return true
}

// loopback is how many prefixes an up lo brings: a trie of no more has no shape.
const loopback = 4

// largestTrie is the IPv4 trie of the most prefixes before the last phase of the last
// run, nil where none has a tnode.
func largestTrie(runs []results.Run) *results.Trie {
	if len(runs) == 0 || runs[len(runs)-1].Trie.Before.IPv4 == nil {
		return nil
	}
	var largest *results.Trie
	tables := runs[len(runs)-1].Trie.Before.IPv4.Tables
	for i := range tables {
		if t := &tables[i]; len(t.TnodesByBits) > 0 && t.Prefixes > loopback && (largest == nil || t.Prefixes > largest.Prefixes) {
			largest = t
		}
	}
	return largest
}
