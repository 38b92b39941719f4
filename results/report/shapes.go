package report

import (
	"maps"

	"fibchurn/results"
	"fibchurn/results/chart"
)

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
			shapes = append(shapes, chart.Shape{Key: s.key(), ByBits: possible(trie.TnodesByBits)})
			same = same && maps.Equal(shapes[0].ByBits, shapes[len(shapes)-1].ByBits)
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

// possible leaves out what no trie has, whatever the file says.
func possible(byBits map[int]int64) map[int]int64 {
	const keyLength = 32 // KEYLENGTH, net/ipv4/fib_trie.c
	kept := map[int]int64{}
	for bits, n := range byBits {
		if bits > 0 && bits <= keyLength && n > 0 {
			kept[bits] = n
		}
	}
	return kept
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
		if t := &tables[i]; len(possible(t.TnodesByBits)) > 0 && t.Prefixes > loopback && (largest == nil || t.Prefixes > largest.Prefixes) {
			largest = t
		}
	}
	return largest
}
