package results

import "strings"

// A Section is what WriteText says of runs whose figures belong side by side: of one
// command, one kernel and machine, one spec. It is for renderings other than a
// terminal's. Texts hold no control characters, and spaces that do not break between a
// figure and its unit; they come from files and need the escaping of where they go.
type Section struct {
	Command string
	// Work tells sections apart that measured different things: two of equal Work
	// differ in kernel and machine alone.
	Work       string
	Heading    []string      // what was measured on what; how often and with which parameters
	Spec       string        // the parameters alone
	LeftOut    []string      // runs that are no samples, and why
	Cells      []SectionCell // those with samples, in the order in which they are shown
	Phases     []string      // in the order of the record
	Tables     []Table
	Growth     []PhaseGrowth // phases that took a number of subnets or routes
	Warnings   []string      // without "warning: "
	Conclusion []string      // sentences, none where the command has no conclusion
	Runs       []Run         // all, those left out too
}

// A SectionCell is the samples of a cell.
type SectionCell struct {
	Name string
	Runs []Run
}

// A Table is a table of text. Rows have one value a column.
type Table struct {
	Title   string
	Spec    string // parameters of what was compared
	Columns []TableColumn
	Rows    [][]string
	Results []Result // of a comparison, one a row; Unshown for those without
	Notes   []string
}

// A TableColumn is a column's heading and whether it holds words, which are aligned
// left, or figures, which are aligned right.
type TableColumn struct {
	Title string
	Words bool
}

// Sections groups runs and summarises each group, in order of first appearance.
func Sections(runs []Run) []Section {
	var all []Section
	for _, b := range blocks(runs) {
		all = append(all, newSection(b))
	}
	return all
}

func newSection(b block) Section {
	e := &b.runs[0].Environment
	l := layoutOf(b.runs[0].Command)
	spec := strings.Join(specTexts(b), ", ")
	s := Section{
		Command: plain(b.runs[0].Command), Heading: heading(b), LeftOut: leftOut(b), Spec: spec,
		Work:   strings.Join([]string{b.runs[0].Command, spec, e.Virtualisation, e.LinkKind, e.Arch}, "\x00"),
		Phases: PhaseNames(b.samples()), Growth: growths(b), Runs: b.runs,
	}
	for _, c := range b.cells {
		s.Cells = append(s.Cells, SectionCell{c.name, c.runs})
	}
	for _, w := range warningTexts(b) {
		s.Warnings = append(s.Warnings, strings.TrimPrefix(w, "warning: "))
	}
	if len(b.cells) == 0 {
		return s
	}
	s.Tables, s.Conclusion = sectionTables(b, l), l.sentence(b)
	return s
}

// sectionTables are those that WriteText shows, in its order.
func sectionTables(b block, l layout) []Table {
	var tables []Table
	add := func(title string, g grid, notes ...string) {
		if len(g.rows) > 0 {
			tables = append(tables, g.table(title, notes))
		}
	}
	add("Lookups", latencyGrid(b), latencyNotes(b)...)
	add("Phases", phaseGrid(phaseRows(b, l), l))
	add("Single operations", eachGrid(b))
	add("Rate", flapGrid(b))
	add("Listeners", listenerGrid(b))
	if v, ok := rebalancingOf(b); ok {
		add("Operations that change tnodes", transitionGrid(most(v.transitions(), shownTransitions)), v.notes()...)
		curve := curveGrid(v.curve())
		last := len(curve.columns) - 1 // a bar of characters
		curve.columns = curve.columns[:last]
		for i := range curve.rows {
			curve.rows[i] = curve.rows[i][:last]
		}
		add("Cost along the way", curve)
		add("Slowest operations", slowGrid(v.slowest(shownSlowest)))
	}
	for _, c := range watchedCells(b, (*Run).profiled) {
		for _, phase := range profilePhases(c.watched) {
			if s := sharesOf(c.watched, phase); s.samples >= minSamples {
				whole := c.perOperation(phase)
				add(capital(profileTitle(&c, s, whole)), profileGrid(s, whole))
			}
		}
	}
	for _, c := range watchedCells(b, (*Run).traced) {
		for _, phase := range tracePhases(c.watched) {
			add("Calls in "+plain(c.name)+", phase "+plain(phase), traceGrid(&c, phase),
				"Medians of the traced runs; times have the probes' own in them, and the functions called within.")
		}
	}
	rows := trieRows(b)
	add("IPv4 tries", trieGrid(rows), trieNotes(b, rows)...)
	add("IPv6 tables", rt6Grid(b))
	return tables
}

// table is the grid with nothing dropped.
func (g grid) table(title string, notes []string) Table {
	t := Table{Title: title, Rows: g.rows, Notes: notes}
	for _, c := range g.columns {
		t.Columns = append(t.Columns, TableColumn{strings.ReplaceAll(c.title, "\n", " "), c.left})
	}
	return t
}

// SideName names a run's kernel as a side of a comparison: the label, where it has
// one, else the kernel's release.
func (r *Run) SideName() string {
	switch e := &r.Environment; {
	case e.Label != "":
		return plain(e.Label)
	case e.Kernel != "":
		return plain(e.Kernel)
	}
	return "unknown kernel"
}

// Plain makes a string of a record one line without control characters.
func Plain(s string) string { return plain(s) }

// DurationText renders a time of ns with three significant digits and its unit.
func DurationText(ns float64) string { return duration(ns) }

// WorkKey is equal for runs that did the same work on the same sort of machine:
// command, cell, parameters, virtualisation, link kind and architecture. Seeds that
// decide nothing but the order of the runs are not in it, kernels neither.
func (r *Run) WorkKey() string {
	e := &r.Environment
	return strings.Join([]string{r.Command, r.Cell, sharedSpec(r), e.Virtualisation, e.LinkKind, e.Arch}, "\x00")
}

// SpecText is the parameters of a run that say something, for people.
func (r *Run) SpecText() string { return strings.Join(specTexts(block{runs: []Run{*r}}), ", ") }

// A LookupSet is the lookups of one probe, stretch and rate in the samples among some
// runs. Summaries are in ns, of boots as in Of.
type LookupSet struct {
	Probe, Stretch string
	Rate           int64 // lookups a second asked for, 0: closed loop
	P50, P99       Summary
	Latencies      []Latency // one a run
}

// Lookups lists what the runs looked up, probe by probe.
func Lookups(runs []Run) []LookupSet {
	var sets []LookupSet
	for _, k := range lookupKinds(runs) {
		s := LookupSet{
			Probe: plain(k.probe), Stretch: plain(k.stretch), Rate: k.rate,
			P50: ofLatency(runs, k, latencyP50), P99: ofLatency(runs, k, latencyP99),
		}
		for i := range runs {
			if l := runs[i].latency(k); l != nil && runs[i].Sample() {
				s.Latencies = append(s.Latencies, *l)
			}
		}
		if len(s.Latencies) > 0 {
			sets = append(sets, s)
		}
	}
	return sets
}
