package report

import (
	"fmt"
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

	room *int // charts that the page has room for yet
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

// maxCharts bounds each group and maxOfPage all of them, so that a page stays one that
// can be read.
const (
	maxCharts = 24
	maxOfPage = 300
)

func works(runs []results.Run, s sides) []work {
	var all []work
	room := maxOfPage
	index := map[string]int{}
	for _, side := range split(runs, s) {
		for _, section := range results.Sections(side.Runs) {
			i, ok := index[section.Work]
			if !ok {
				i = len(all)
				index[section.Work] = i
				all = append(all, work{ID: fmt.Sprintf("work%d", i+1), Title: section.Command, Spec: section.Spec, room: &room})
			}
			w := &all[i]
			name, ink := w.free(side.Name), s.ink(side.Name)
			if name != side.Name {
				ink = len(w.Sections) // as another side
			}
			w.Sections = append(w.Sections, sideSection{section, name, ink})
		}
	}
	for i := range all {
		w := &all[i]
		w.addGroup("Time by phase", w.strips())
		w.addGroup("Cost against table size", w.growth())
		percentiles, histograms, unread := w.latency()
		w.addGroup("Latency by percentile", percentiles, unread...)
		w.addGroup("Latency histograms", histograms)
		w.addGroup("Shape of the trie", w.shapes())
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
		name := runs[i].SideName()
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
	if len(charts)+len(notes) == 0 {
		return
	}
	g := group{Title: title}
	for _, c := range charts {
		if c.Context = w.Title; title != "" {
			c.Context += ", " + strings.ToLower(title[:1]) + title[1:]
		}
		if c.Explain != "" && !slices.Contains(notes, c.Explain) {
			notes = append(notes, c.Explain)
		}
	}
	kept := min(len(charts), maxCharts, *w.room)
	*w.room -= kept
	if more := len(charts) - kept; more > 0 {
		notes = append(notes, fmt.Sprintf("%d more are not drawn.", more))
	}
	g.Notes, g.Kept = notes, charts[:kept]
	w.Groups = append(w.Groups, g)
}

// several reports whether the work has more than one section, whose sides then need
// naming.
func (w *work) several() bool { return len(w.Sections) > 1 }

// Several is for the template.
func (w work) Several() bool { return w.several() }

func (s *sideSection) key() chart.Key { return chart.Key{Label: s.Side, Ink: s.Ink} }
