package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// How much of resize the terminal shows; the record has more.
const (
	shownTransitions = 12
	shownSlowest     = 6
	barWidth         = 24
)

// resize writes what the command resize saw, nothing for other commands.
func (p *page) resize(b block) {
	v, ok := rebalancingOf(b)
	if !ok {
		return
	}
	rows := v.transitions()
	p.grid(transitionGrid(most(rows, shownTransitions)))
	if n := v.resize.TransitionsTotal - int64(min(len(rows), shownTransitions)); n > 0 {
		p.paragraph(fmt.Sprintf("and %s that change less", count(n, "other sort of operation", "other sorts of operations")), 2, none)
	}
	p.grid(curveGrid(v.curve()))
	p.grid(slowGrid(v.slowest(shownSlowest)))
	for _, n := range v.notes() {
		p.paragraph(n, 2, none)
	}
}

// microseconds renders a time of ns in us, or nothing where there is none.
func microseconds(ns float64) string {
	if math.IsNaN(ns) {
		return ""
	}
	return fixed(ns/1e3, 2)
}

func transitionGrid(rows []transitionRow) grid {
	g := grid{columns: []column{
		{title: "operation", left: true},
		{title: "routes\nthen"},
		{title: "changes", left: true},
		{title: "tnodes\nbefore", left: true, drop: 4},
		{title: "tnodes\nafter", left: true, drop: 4},
		{title: "a\nrun", drop: 3},
		{title: "crossing\nus"},
		{title: "control\nus"},
		{title: "net\nus", drop: 1},
		{title: "95 % interval\nus", drop: 2},
		{title: "times", drop: 5},
	}}
	lows, highs := make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		if r.net.HasInterval() {
			lows[i], highs[i] = microseconds(r.net.Lo), microseconds(r.net.Hi)
		}
	}
	intervals := alignPairs(lows, highs)
	for i, r := range rows {
		ratio := ""
		if r.control.Median > 0 {
			ratio = fixed(r.crossing.Median/r.control.Median, 1)
		}
		g.rows = append(g.rows, append([]string{
			plain(r.Op), integers(r.Size)[0], kindsText(r.Kinds), sizesText(r.Before), sizesText(r.After)},
			integers(r.Ops)[0], microseconds(r.crossing.Median), microseconds(r.control.Median),
			microseconds(r.net.Median), intervals[i], ratio))
	}
	return g
}

// curveGrid has a column of additions and one of removals where there are any.
// The bar is as long as the longer of the two maxima.
func curveGrid(rows []binRow) grid {
	g := grid{columns: []column{{title: "routes", left: true}}}
	verbs := slices.DeleteFunc([]string{"add", "delete"}, func(verb string) bool {
		return !slices.ContainsFunc(rows, func(r binRow) bool { return r.p50[verb] > 0 })
	})
	for _, verb := range verbs {
		g.columns = append(g.columns, column{title: verb + "\np50 us"}, column{title: "every run's\nmax us"})
	}
	g.columns = append(g.columns, column{title: "max", left: true, drop: 1})
	froms, tos := make([]string, len(rows)), make([]string, len(rows))
	longest := 0.0
	for i, r := range rows {
		froms[i], tos[i] = integers(r.from)[0], integers(r.to)[0]
		longest = max(longest, r.longest())
	}
	ranges := alignPairs(froms, tos)
	for i, r := range rows {
		row := []string{ranges[i]}
		if r.from == r.to {
			row[0] = froms[i]
		}
		for _, verb := range verbs {
			p50, max := "", ""
			if _, ok := r.p50[verb]; ok {
				p50, max = microseconds(r.p50[verb]), microseconds(r.max[verb])
			}
			row = append(row, p50, max)
		}
		g.rows = append(g.rows, append(row, strings.Repeat("#", int(math.Round(barWidth*r.longest()/longest)))))
	}
	return g
}

func (r binRow) longest() float64 { return max(r.max["add"], r.max["delete"]) }

func slowGrid(operations []slowOperation) grid {
	g := grid{columns: []column{
		{title: "slowest", left: true},
		{title: "run", drop: 2},
		{title: "number", drop: 1},
		{title: "routes\nthen"},
		{title: "wall\nus"},
		{title: "blocked\nus"},
		{title: "changes", left: true},
	}}
	for _, op := range operations {
		blocked, changes := "", kindsText(op.Kinds)
		if op.Blocked > 0 {
			blocked = microseconds(float64(op.Blocked))
		}
		if changes == "" {
			changes = "none"
		}
		g.rows = append(g.rows, []string{
			plain(op.Op + " " + op.Prefix), integers(int64(op.run))[0], integers(op.Index)[0], integers(op.Size)[0],
			microseconds(float64(op.Wall)), blocked, changes,
		})
	}
	return g
}

// notes are what the tables have no room for.
func (v rebalancing) notes() []string {
	r := v.resize
	tnode := "the tnode"
	if r.Root {
		tnode = "the root tnode"
	}
	e := r.Events
	notes := []string{
		fmt.Sprintf("thresholds by the model: %s of the block goes from %d to %d bits with %d routes, and back when %d are left; %s",
			tnode, r.NodeBits, r.NodeBits+1, r.InflateAt, r.HalveAt, looksText(r.Looks)),
		fmt.Sprintf("a run: %s, %s beside the block, %s",
			count(r.Operations, "operation", "operations"), count(r.Beside, "route", "routes"), figures("splits", e.Splits, "inflates", e.Inflates, "halves", e.Halves, "collapses", e.Collapses, "calls of resize", e.Resizes)),
	}
	if r.Calls.Why == "" {
		return append(notes, fmt.Sprintf("calls of resize counted by a kprobe: %d", r.Calls.Counted))
	}
	return append(notes, "calls of resize not counted: "+plain(r.Calls.Why))
}

// looksText says what stands behind the model's word: a run that a look disproves
// is no sample.
func looksText(n int64) string {
	if n == 0 {
		return "the kernel's tnodes were not compared with it"
	}
	return count(n, "look", "looks") + " at the kernel's tnodes in the run agreed with it"
}
