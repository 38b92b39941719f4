package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A strand is the samples of one cell of one workload with one spec, on both
// sides.
type strand struct {
	command, cell string
	base, new     []Run
	controls      [2][]Run // of base and new: runs of the control with the same parameters, of resize
	forced        []string // why it would have been refused
}

// A pairing finds the strands of two sides.
type pairing struct {
	base, new               []Run // samples
	watchedBase, watchedNew []Run // profiled or traced
	opts                    CompareOptions
	warnings                []Warning
	forced                  []string // why what was refused was so
	missingCells            []string // of base, which new has not
	missingRows             []string // of base, in cells that new has
}

// A cellKey names what is compared with what.
type cellKey struct{ command, cell string }

func (p *pairing) key(r *Run) cellKey {
	if p.opts.By == "cell" {
		return cellKey{command: r.Command}
	}
	return cellKey{r.Command, r.Cell}
}

// strands returns what can be compared: workloads in the order of base, cells in
// that of the table of runs, since the runs' own order is random. It refuses what
// differs too much, and warns of it where that is forced.
func (p *pairing) strands() ([]strand, error) {
	always := p.forced // of all runs
	news := map[cellKey][]Run{}
	for _, part := range groupBy(p.new, p.key) {
		news[p.key(&part[0])] = part
	}
	var strands []strand
	var lonely []string
	for _, part := range groupBy(p.base, p.key) {
		k := p.key(&part[0])
		new := news[k]
		delete(news, k)
		if new == nil {
			lonely = append(lonely, k.String())
			p.missCell(k, part, k.String())
			continue
		}
		found, err := p.bySpec(k, part, new)
		if err != nil {
			return nil, err
		}
		strands = append(strands, found...)
	}
	p.warnOnly("base", lonely)
	p.warnOnly("new", remaining(p, news))
	if len(strands) == 0 {
		return nil, &IncomparableError{What: "workload or cell", Base: strings.Join(cellNames(p, p.base), ", "), New: strings.Join(cellNames(p, p.new), ", ")}
	}
	p.order(strands)
	for i := range strands {
		known := len(p.forced)
		if err := p.refuse(&strands[i]); err != nil {
			return nil, err
		}
		strands[i].forced = slices.Concat(always, strands[i].forced, p.forced[known:])
		strands[i].controls = [2][]Run{controlsOf(strands[i].base, p.base), controlsOf(strands[i].new, p.new)}
	}
	p.warnTicks(strands)
	return strands, nil
}

// controlsOf returns the runs of the cell control that belong to those of another.
func controlsOf(runs, all []Run) []Run {
	if len(runs) == 0 || runs[0].Cell == cellControl {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(r Run) bool {
		return r.Cell != cellControl || r.Command != runs[0].Command || comparableSpec(&r) != comparableSpec(&runs[0])
	})
}

// warnTicks says that CPU times are left out where they come in ticks.
func (p *pairing) warnTicks(strands []strand) {
	if p.opts.Metrics == nil && slices.ContainsFunc(strands, func(s strand) bool { return s.ticks() }) {
		p.warnings = append(p.warnings, Warning{"ticks", "User-Mode Linux counts CPU time in ticks: it is compared only with --metric cpu"})
	}
}

func (p *pairing) order(strands []strand) {
	first := map[string]int{}
	for i := range p.base {
		if _, ok := first[p.base[i].Command]; !ok {
			first[p.base[i].Command] = i
		}
	}
	slices.SortStableFunc(strands, func(a, b strand) int {
		return cmp.Or(cmp.Compare(first[a.command], first[b.command]), cmp.Compare(cellRank(a.cell), cellRank(b.cell)), cmp.Compare(a.cell, b.cell))
	})
}

func (k cellKey) String() string { return strings.TrimSpace(plain(k.command) + " " + plain(k.cell)) }

func cellNames(p *pairing, runs []Run) []string {
	var names []string
	for _, part := range groupBy(runs, p.key) {
		names = append(names, p.key(&part[0]).String())
	}
	return names
}

// remaining returns the names of what was not taken, in the order of new.
func remaining(p *pairing, news map[cellKey][]Run) []string {
	var names []string
	for _, part := range groupBy(p.new, p.key) {
		if k := p.key(&part[0]); news[k] != nil {
			names = append(names, k.String())
		}
	}
	return names
}

func (p *pairing) warnOnly(side string, names []string) {
	if names != nil {
		p.warnings = append(p.warnings, Warning{"one-side", fmt.Sprintf("only %s has %s", side, strings.Join(names, ", "))})
	}
}

// bySpec splits the runs of one cell by their specs.
func (p *pairing) bySpec(k cellKey, base, new []Run) ([]strand, error) {
	news := map[string][]Run{}
	for _, part := range groupBy(new, comparableSpec) {
		news[comparableSpec(&part[0])] = part
	}
	var found []strand
	var lonely [][]Run
	for _, part := range groupBy(base, comparableSpec) {
		spec := comparableSpec(&part[0])
		if news[spec] == nil {
			lonely = append(lonely, part)
			continue
		}
		found = append(found, strand{command: k.command, cell: k.cell, base: part, new: news[spec]})
		delete(news, spec)
	}
	if found == nil {
		known := len(p.forced)
		for _, err := range specErrors(k, &base[0], &new[0]) {
			if err := p.refused(err); err != nil {
				return nil, err
			}
		}
		return []strand{{command: k.command, cell: k.cell, base: base, new: new, forced: slices.Clone(p.forced[known:])}}, nil
	}
	if n := len(lonely) + len(news); n > 0 {
		p.warnings = append(p.warnings, Warning{"one-side", fmt.Sprintf("%s: %s of parameters on one side only", k, count(n, "set", "sets"))})
	}
	for _, part := range lonely {
		s := p.alone(k, part)
		p.missCell(k, part, fmt.Sprintf("%s (%s)", k, s.specText()))
	}
	return found, nil
}

// comparableSpec is a spec without what may differ between the sides: idle fields,
// and the link kind asked for where the record says which it was.
func comparableSpec(r *Run) string {
	var kept []string
	for _, f := range comparableFields(r) {
		kept = append(kept, f.name+"="+string(f.value))
	}
	return strings.Join(kept, "\n")
}

func comparableFields(r *Run) []specField {
	fields := slices.DeleteFunc(specFields(r.Spec), func(f specField) bool {
		return idleField(r, f.name) || f.name == "link_kind" && r.Environment.LinkKind != ""
	})
	slices.SortStableFunc(fields, func(a, b specField) int { return cmp.Compare(a.name, b.name) })
	return fields
}

// specText shows the parameters that all runs share, as the heading of the table
// of runs does, without the seed where it decides nothing.
func (s *strand) specText() string {
	texts := specTexts(block{runs: slices.Concat(s.base, s.new)})
	texts = slices.DeleteFunc(texts, func(t string) bool {
		return strings.HasPrefix(t, "seed"+nbsp) && !seedDecides(&s.base[0]) || strings.HasPrefix(t, "load"+nbsp) || strings.HasPrefix(t, "path"+nbsp) // the cell says it
	})
	return strings.ReplaceAll(strings.Join(texts, ", "), nbsp, " ")
}

// rows compares every gauge of the strand.
func (s *strand) rows(opts CompareOptions) []CompareRow {
	spec := s.specText()
	var rows []CompareRow
	for _, g := range s.gauges(opts) {
		r := CompareRow{Command: s.command, Cell: s.cell, Spec: spec, Phase: g.phase, Metric: g.metric}
		if r.take(byBootOf(s.base, g), byBootOf(s.new, g)) {
			r.Delta = deltaOf(r.base, r.new)
			rows = append(rows, r)
		}
	}
	return rows
}

// take fills in the row but for its delta, from the figures of both sides. It reports
// whether both have any.
func (r *CompareRow) take(base, new byBoot) bool {
	if len(base.boots) == 0 || len(new.boots) == 0 {
		return false
	}
	r.Unit = UnitRun
	if len(base.boots) > 1 && len(new.boots) > 1 {
		r.Unit = UnitBoot
	}
	r.base, r.new = base.samples(r.Unit), new.samples(r.Unit)
	r.separateBoots = r.Unit == UnitRun && !slices.Equal(base.boots, new.boots)
	r.BaseSummary, r.NewSummary = Summarize(r.base), Summarize(r.new)
	r.P = mannWhitney(r.base, r.new)
	return true
}

func byBootOf(runs []Run, g gauge) byBoot {
	var b byBoot
	for i := range runs {
		if v, ok := g.value(&runs[i]); ok {
			b.add(runs[i].Boot, v)
		}
	}
	return b
}

// samples returns one median a boot, or every figure.
func (b *byBoot) samples(unit string) []float64 {
	var values []float64
	for _, boot := range b.boots {
		if unit == UnitBoot {
			values = append(values, Summarize(b.values[boot]).Median)
		} else {
			values = append(values, b.values[boot]...)
		}
	}
	return values
}
