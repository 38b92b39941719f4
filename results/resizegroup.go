package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The cells of resize.
const (
	cellCrossing = "crossing"
	cellControl  = "control"
)

// A rebalancing is what the runs of one block say of resize. control is nil where
// there are no runs of it.
type rebalancing struct {
	crossing, control *cell
	resize            *Resize // of the first run that crossed
}

// rebalancingOf returns false where no run crossed a threshold.
func rebalancingOf(b block) (v rebalancing, ok bool) {
	v.crossing, v.control = b.cell(cellCrossing), b.cell(cellControl)
	if v.crossing == nil {
		return v, false
	}
	for i := range v.crossing.runs {
		if r := v.crossing.runs[i].Resize; r != nil && v.resize == nil {
			v.resize = r
		}
	}
	return v, v.resize != nil
}

// A transitionRow is one transition over all runs: the median time of its
// operations a run, in both cells and, run by run, their difference.
type transitionRow struct {
	ResizeTransition
	crossing, control, net Summary // N is 0 where there are no runs
}

// transitions are in the order of the record.
func (v rebalancing) transitions() []transitionRow {
	rows := make([]transitionRow, len(v.resize.Transitions))
	for i, t := range v.resize.Transitions {
		rows[i].ResizeTransition = t
		var crossing, control, net byBoot
		collect(&crossing, v.crossing, t.key())
		collect(&control, v.control, t.key())
		if v.control != nil {
			for _, p := range pairs(v.crossing.runs, v.control.runs, v.resize.Pattern) {
				a, b := p.loaded.Resize.transition(t.key()), p.empty.Resize.transition(t.key())
				if a != nil && b != nil {
					net.add(p.loaded.Boot, float64(a.P50-b.P50))
				}
			}
		}
		rows[i].crossing, rows[i].control, rows[i].net = crossing.summarize(), control.summarize(), net.summarize()
	}
	return rows
}

// collect adds the medians of a transition in a cell's runs.
func collect(s *byBoot, c *cell, key string) {
	if c == nil {
		return
	}
	for i := range c.runs {
		if t := c.runs[i].Resize.transition(key); t != nil {
			s.add(c.runs[i].Boot, float64(t.P50))
		}
	}
}

// key tells the transitions of a run apart.
func (t *ResizeTransition) key() string { return fmt.Sprint(t.Op, t.Size, t.Kinds) }

// transition returns that of a key, or nil; r may be nil.
func (r *Resize) transition(key string) *ResizeTransition {
	if r == nil {
		return nil
	}
	for i := range r.Transitions {
		if r.Transitions[i].key() == key {
			return &r.Transitions[i]
		}
	}
	return nil
}

// most are the rows of most work, in order.
func most(rows []transitionRow, n int) []transitionRow {
	kept := slices.Clone(rows)
	slices.SortStableFunc(kept, func(a, b transitionRow) int { return cmp.Compare(b.Work(), a.Work()) })
	kept = kept[:min(len(kept), n)]
	return slices.DeleteFunc(slices.Clone(rows), func(r transitionRow) bool {
		return !slices.ContainsFunc(kept, func(k transitionRow) bool { return k.key() == r.key() })
	})
}

// kindOrder is the order in which the kernel can do things in one operation.
func kindOrder() []string { return []string{"split", "halve", "inflate", "collapse", "suffix"} }

// kindsText is what an operation did, e.g. "split, 2 inflates, 2050 collapses".
func kindsText(kinds map[string]int64) string {
	var texts []string
	for _, kind := range kindOrder() {
		switch n := kinds[kind]; {
		case n == 0:
		case kind == "suffix":
			texts = append(texts, fmt.Sprintf("search of %d children", n))
		case n == 1:
			texts = append(texts, kind)
		default:
			texts = append(texts, fmt.Sprintf("%d %ss", n, kind))
		}
	}
	return strings.Join(texts, ", ")
}

// sizesText is "2^12: 1" of each size.
func sizesText(sizes map[int]int64) string {
	var texts []string
	for _, bits := range slices.Sorted(maps.Keys(sizes)) {
		if n := sizes[bits]; n != 0 {
			texts = append(texts, fmt.Sprintf("2^%d: %d", bits, n))
		}
	}
	return strings.Join(texts, ", ")
}

// A binRow is the cost at one range of table sizes over all runs: the median of
// the runs' medians, and what the slowest operation took in every run at least.
type binRow struct {
	from, to int64
	p50, max map[string]float64 // by operation
}

// curve joins the curves of the crossing runs.
func (v rebalancing) curve() []binRow {
	var rows []binRow
	for _, b := range v.resize.Curve {
		if len(rows) == 0 || rows[len(rows)-1].from != b.From {
			rows = append(rows, binRow{b.From, b.To, map[string]float64{}, map[string]float64{}})
		}
		row := &rows[len(rows)-1]
		var medians, maxima []float64
		for i := range v.crossing.runs {
			if r := v.crossing.runs[i].Resize; r != nil {
				for _, other := range r.Curve {
					if other.Op == b.Op && other.From == b.From {
						medians, maxima = append(medians, float64(other.P50)), append(maxima, float64(other.Max))
					}
				}
			}
		}
		row.p50[b.Op], row.max[b.Op] = Summarize(medians).Median, slices.Min(maxima)
	}
	return rows
}

// A slowOperation is an operation and its run.
type slowOperation struct {
	run int
	ResizeOperation
}

// slowest are the operations of the crossing runs that took longest.
func (v rebalancing) slowest(n int) []slowOperation {
	var all []slowOperation
	for i := range v.crossing.runs {
		if r := v.crossing.runs[i].Resize; r != nil {
			for _, op := range slices.Concat(r.Crossings, r.Spikes) {
				all = append(all, slowOperation{v.crossing.runs[i].Run, op})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b slowOperation) int { return cmp.Compare(b.Wall, a.Wall) })
	return all[:min(len(all), n)]
}
