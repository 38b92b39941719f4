package results

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A trieRow is one table's trie before or after the last phase of a cell.
type trieRow struct {
	cell, when string
	trie       *Trie // nil: the namespace had no IPv4 table
	name       string
}

// trieRows takes the shapes of each cell's last sample.
func trieRows(b block) []trieRow {
	var rows []trieRow
	for _, c := range b.cells {
		for _, m := range moments(c.lastTrie()) {
			if m.tables.IPv4 == nil {
				continue // out of the load's families, or not in this kernel
			}
			tries := mergeTwins(m.tables.IPv4.Tables)
			if len(tries) == 0 {
				tries = []trieRow{{name: "none"}}
			}
			for _, t := range tries {
				t.cell, t.when = c.name, m.when
				rows = append(rows, t)
			}
		}
	}
	return rows
}

func (c *cell) lastTrie() TrieChange { return c.runs[len(c.runs)-1].Trie }

type moment struct {
	when   string
	tables Tables
}

func moments(t TrieChange) []moment { return []moment{{"before", t.Before}, {"after", t.After}} }

// mergeTwins shows local and main once where their figures are the same, as
// they are while both tables share one trie.
func mergeTwins(tries []Trie) []trieRow {
	var rows []trieRow
	local, main := indexOf(tries, "local"), indexOf(tries, "main")
	twins := local >= 0 && main >= 0 && sameShape(tries[local], tries[main])
	for i := range tries {
		switch {
		case twins && i == local:
		case twins && i == main:
			rows = append(rows, trieRow{trie: &tries[i], name: "main = local"})
		default:
			rows = append(rows, trieRow{trie: &tries[i], name: tries[i].Name})
		}
	}
	return rows
}

func indexOf(tries []Trie, name string) int {
	return slices.IndexFunc(tries, func(t Trie) bool { return t.Name == name })
}

// sameShape compares all figures but the counters, which lookups move.
func sameShape(a, b Trie) bool {
	a.Name, b.Name = "", ""
	a.Counters, b.Counters = nil, nil
	if len(a.TnodesByBits) == 0 && len(b.TnodesByBits) == 0 {
		a.TnodesByBits, b.TnodesByBits = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

func trieGrid(rows []trieRow) grid {
	g := grid{columns: []column{
		{title: "trie", left: true},
		{title: "", left: true},
		{title: "table", left: true},
		{title: "average\ndepth"},
		{title: "max\ndepth", drop: 3},
		{title: "leaves"},
		{title: "prefixes", drop: 4},
		{title: "tnodes"},
		{title: "null\npointers", drop: 2},
		{title: "memory\nkB", drop: 1},
	}}
	for _, r := range rows {
		row := []string{plain(r.cell), r.when, plain(r.name), "", "", "", "", "", "", ""}
		if t := r.trie; t != nil {
			row = append(row[:3], fixed(t.AverageDepth, 2))
			row = append(row, integers(int64(t.MaxDepth), t.Leaves, t.Prefixes, t.Tnodes, t.NullPointers, t.SizeKB)...)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// rt6Grid shows the IPv6 tables of each cell's last sample.
func rt6Grid(b block) grid {
	g := grid{columns: []column{
		{title: "IPv6", left: true},
		{title: "", left: true},
		{title: "fib\nnodes"},
		{title: "route\nnodes"},
		{title: "route\nallocs", drop: 2},
		{title: "route\nentries"},
		{title: "route\ncache", drop: 4},
		{title: "dst\nentries", drop: 1},
		{title: "discarded\nroutes", drop: 3},
	}}
	for _, c := range b.cells {
		for _, m := range moments(c.lastTrie()) {
			if s := m.tables.IPv6; s != nil {
				g.rows = append(g.rows, append([]string{plain(c.name), m.when}, integers(s.Nodes, s.RouteNodes,
					s.RouteAllocs, s.RouteEntries, s.RouteCache, s.DstEntries, s.Discarded)...))
			}
		}
	}
	return g
}

func integers(ns ...int64) []string {
	texts := make([]string, len(ns))
	for i, n := range ns {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return texts
}

// trieNotes returns what the trie's columns have no room for: the tnodes by
// size, the counters, and cells whose runs differ in shape.
func trieNotes(b block, rows []trieRow) []string {
	notes := sizeNotes(rows)
	for _, r := range rows {
		if r.trie != nil && r.trie.Counters != nil {
			notes = append(notes, fmt.Sprintf("counters, %s: %s", r.label(), counterText(r.trie.Counters)))
		}
	}
	for _, c := range b.cells {
		if !oneShape(c.runs) {
			notes = append(notes, fmt.Sprintf("the %s of %s differ in shape; shown is the last one, run%s%d",
				count(len(c.runs), "run", "runs"), plain(c.name), nbsp, c.runs[len(c.runs)-1].Run))
		}
	}
	return notes
}

// sizeNotes says once what several tries have in common.
func sizeNotes(rows []trieRow) []string {
	var sizes []string
	labels := map[string][]string{}
	for _, r := range rows {
		if r.trie == nil || len(r.trie.TnodesByBits) == 0 {
			continue
		}
		size := tnodeSizes(r.trie.TnodesByBits)
		if labels[size] == nil {
			sizes = append(sizes, size)
		}
		labels[size] = append(labels[size], r.label())
	}
	for i, size := range sizes {
		sizes[i] = fmt.Sprintf("tnodes by size, %s: %s", strings.Join(labels[size], ", "), size)
	}
	return sizes
}

func (r trieRow) label() string {
	label := plain(r.cell) + " " + r.when
	if r.name != "main" && r.name != "main = local" {
		label += " (table " + plain(r.name) + ")"
	}
	return label
}

// tnodeSizes lists "2^bits: count" in order of size.
func tnodeSizes(byBits map[int]int64) string {
	var sizes []string
	for _, bits := range slices.Sorted(maps.Keys(byBits)) {
		sizes = append(sizes, fmt.Sprintf("2^%d:%s%d", bits, nbsp, byBits[bits]))
	}
	return strings.Join(sizes, ", ")
}

func counterText(c *TrieCounters) string {
	return figures("gets", c.Gets, "backtracks", c.Backtracks, "semantic match passed", c.SemanticMatchPassed,
		"missed", c.SemanticMatchMiss, "null node hit", c.NullNodeHit, "skipped node resize", c.SkippedResize)
}

// figures lists names and their numbers, given in turn.
func figures(pairs ...any) string {
	var texts []string
	for i := 0; i < len(pairs); i += 2 {
		texts = append(texts, fmt.Sprintf("%s%s%d", pairs[i], nbsp, pairs[i+1]))
	}
	return strings.Join(texts, ", ")
}

// oneShape reports whether the runs' tries were the same before the last phase
// and after it.
func oneShape(runs []Run) bool {
	for i := 1; i < len(runs); i++ {
		if !sameTables(runs[0].Trie.Before, runs[i].Trie.Before) || !sameTables(runs[0].Trie.After, runs[i].Trie.After) {
			return false
		}
	}
	return true
}

// sameTables compares shapes. Of IPv6 it takes the tree alone: the other figures
// are totals since the namespace was made, or fall a grace period later.
func sameTables(a, b Tables) bool {
	if (a.IPv4 == nil) != (b.IPv4 == nil) || (a.IPv6 == nil) != (b.IPv6 == nil) {
		return false
	}
	if a.IPv4 != nil && !slices.EqualFunc(a.IPv4.Tables, b.IPv4.Tables, func(x, y Trie) bool {
		return x.Name == y.Name && sameShape(x, y)
	}) {
		return false
	}
	return a.IPv6 == nil || a.IPv6.Nodes == b.IPv6.Nodes && a.IPv6.RouteNodes == b.IPv6.RouteNodes &&
		a.IPv6.RouteEntries == b.IPv6.RouteEntries
}
