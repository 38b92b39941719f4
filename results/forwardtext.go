package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A forwardGroup is the cells of one family and table: they differ in the path alone.
type forwardGroup struct {
	name  string // what tells it from the others, "" where it is the only one
	cells []cell // in the order of Paths
}

// forwardGroups splits the cells of a block by what follows the path in their names.
func forwardGroups(b block) []forwardGroup {
	var groups []forwardGroup
	for _, c := range b.cells {
		_, name, _ := strings.Cut(c.name, " (")
		name = strings.TrimSuffix(name, ")")
		i := slices.IndexFunc(groups, func(g forwardGroup) bool { return g.name == name })
		if i < 0 {
			i = len(groups)
			groups = append(groups, forwardGroup{name: name})
		}
		groups[i].cells = append(groups[i].cells, c)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.cells, func(x, y cell) int { return pathRank(x) - pathRank(y) })
	}
	slices.SortStableFunc(groups, func(x, y forwardGroup) int { return strings.Compare(familyIn(x.name), familyIn(y.name)) })
	return groups
}

func familyIn(name string) string {
	family, _, _ := strings.Cut(name, ", ")
	if strings.HasPrefix(family, "IPv") {
		return family
	}
	return ""
}

func (c *cell) path() string {
	path, _, _ := strings.Cut(c.name, " (")
	return path
}

func pathRank(c cell) int {
	if i := slices.Index(Paths(), c.path()); i >= 0 {
		return i
	}
	return len(Paths())
}

// cell returns the cell of a path, or nil.
func (g *forwardGroup) cell(path string) *cell {
	for i := range g.cells {
		if g.cells[i].path() == path {
			return &g.cells[i]
		}
	}
	return nil
}

// forwarding returns the packets of one stretch, or nil.
func (r *Run) forwarding(stretch string) *Forwarding {
	if r.Forward == nil {
		return nil
	}
	for i := range r.Forward.Stretches {
		if f := &r.Forward.Stretches[i]; f.Stretch == stretch {
			return f
		}
	}
	return nil
}

// forwardStretches lists the stretches of the runs.
func forwardStretches(runs []Run) (names []string) {
	for i := range runs {
		if runs[i].Forward == nil {
			continue
		}
		for _, f := range runs[i].Forward.Stretches {
			if !slices.Contains(names, f.Stretch) {
				names = append(names, f.Stretch)
			}
		}
	}
	return names
}

// gapOf is the time from one forwarded packet of a stretch to the next, ns.
func gapOf(stretch string) packetFigure {
	return func(r *Run) (float64, bool) {
		f := r.forwarding(stretch)
		if f == nil {
			return 0, false
		}
		return f.Gap()
	}
}

// cpuOf is the CPU time of a forwarded packet, ns. A kernel that counts CPU time in
// ticks does not tell.
func cpuOf(stretch string) packetFigure {
	return func(r *Run) (float64, bool) {
		f, p := r.forwarding(stretch), r.Phase(stretch)
		if f == nil || p == nil || p.CPUUnknown || tickedCPU(r) {
			return 0, false
		}
		return gap(p.User+p.System, f.Forwarded)
	}
}

func ofForwarding(stretch string, of func(*Forwarding) int64) packetFigure {
	return func(r *Run) (float64, bool) {
		f := r.forwarding(stretch)
		if f == nil {
			return 0, false
		}
		return float64(of(f)), true
	}
}

// forward writes what became of the packets of forward, and what a lookup costs.
func (p *page) forward(b block) {
	var rows []packetRow
	groups := forwardGroups(b)
	for _, g := range groups {
		for _, c := range g.cells {
			for _, stretch := range forwardStretches(c.runs) {
				in, out := func(f *Forwarding) int64 { return f.Injected }, func(f *Forwarding) int64 { return f.Forwarded }
				rows = append(rows, packetRow{
					texts: []string{plain(c.name), plain(stretch)},
					rate:  ofPackets(c.runs, perSecond(gapOf(stretch))), gap: ofPackets(c.runs, gapOf(stretch)), cpu: ofPackets(c.runs, cpuOf(stretch)),
					in: ofPackets(c.runs, ofForwarding(stretch, in)), out: ofPackets(c.runs, ofForwarding(stretch, out)),
					lost: ofPackets(c.runs, ofForwarding(stretch, (*Forwarding).Dropped)),
				})
			}
		}
	}
	p.grid(packetGrid(rows, []column{{title: "cell", left: true}, {title: "stretch", left: true}}, "forwarded"))
	for _, c := range b.cells {
		if text := dropText(c.runs, forwardDrops); text != "" {
			p.paragraph(plain(c.name)+": "+text, 2, none)
		}
	}
	p.costs(b, groups)
}

func forwardDrops(r *Run) (drops []Drop) {
	if r.Forward != nil {
		for _, f := range r.Forward.Stretches {
			drops = append(drops, f.Drops...)
		}
	}
	return drops
}

// forwardSentences say how many packets a second each path forwards, what a lookup
// costs, and how much longer a packet takes while something churns.
func forwardSentences(b block) []string {
	var out []string
	for _, g := range forwardGroups(b) {
		name := ""
		if g.name != "" {
			name = plain(g.name) + ": "
		}
		var rates []string
		for _, c := range g.cells {
			if s := ofPackets(c.runs, perSecond(gapOf(quietStretch(c.runs)))); s.N > 0 {
				rates = append(rates, fmt.Sprintf("%s %s", plain(c.path()), millions(s.Median)))
			}
		}
		if rates != nil {
			out = append(out, name+"Packets forwarded a second on one CPU: "+strings.Join(rates, ", ")+"."+g.costSentence())
		}
		for _, c := range g.cells {
			out = append(out, forwardChurn(&c)...)
		}
	}
	return out
}

// quietStretch is the one that nothing churns in.
func quietStretch(runs []Run) string {
	if slices.Contains(forwardStretches(runs), "before") {
		return "before"
	}
	return "rest"
}

// forwardChurn compares the stretches of one cell.
func forwardChurn(c *cell) []string {
	var spec struct {
		Under string `json:"under"`
	}
	if len(c.runs) == 0 || json.Unmarshal(c.runs[0].Spec, &spec) != nil {
		return nil
	}
	ratio := func(stretch string) Summary {
		var s byBoot
		for i := range c.runs {
			x, have := gapOf("before")(&c.runs[i])
			y, too := gapOf(stretch)(&c.runs[i])
			if have && too && c.runs[i].Sample() {
				s.add(c.runs[i].Boot, y/x)
			}
		}
		return s.summarize()
	}
	during, after := ratio("during"), ratio("after")
	switch {
	case during.N == 0:
		return nil
	case !during.HasInterval():
		return []string{tooFewRatios(c, during.N)}
	}
	return []string{fmt.Sprintf("%s: under %s a packet takes %s what it takes before (%s); afterwards %s.",
		plain(c.name), plain(spec.Under), timesWithin(during), ratioNote(during.N, boots(c.runs)), timesWithin(after))}
}
