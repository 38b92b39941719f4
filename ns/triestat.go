package ns

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"fibchurn/results"
)

// ParseTrieStats reads /proc/net/fib_triestat (fib_triestat_seq_show and
// trie_show_stats, net/ipv4/fib_trie.c). A namespace without a table has the
// first line alone.
func ParseTrieStats(b []byte) (*results.TrieStats, error) {
	p := trieParser{stats: &results.TrieStats{Tables: []results.Trie{}}}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for number := 1; lines.Scan(); number++ {
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("fib_triestat line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("fib_triestat: %w", err)
	}
	if !p.basic {
		return nil, fmt.Errorf("fib_triestat: no line of basic information")
	}
	return p.stats, nil
}

type trieParser struct {
	stats *results.TrieStats
	trie  *results.Trie // the table that lines belong to
	basic bool          // the line of sizes was seen
	bits  bool          // the next line lists tnodes by size
}

func (p *trieParser) line(text string) error {
	if p.bits {
		p.bits = false
		return p.tnodes(text)
	}
	name, value, separated := strings.Cut(text, ":")
	if !separated {
		name, value, separated = strings.Cut(text, "=")
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case name == "Basic info":
		_, err := fmt.Sscanf(value, "size of leaf: %d bytes, size of tnode: %d bytes.", &p.stats.LeafBytes, &p.stats.TnodeBytes)
		p.basic = err == nil
		return err
	case !separated: // blank lines, and the rule under "Counters:"
		return nil
	case value == "" && name != "Counters":
		p.table(name)
		return nil
	case p.trie == nil:
		return fmt.Errorf("%q belongs to no table", text)
	case name == "Counters":
		p.trie.Counters = &results.TrieCounters{}
		return nil
	}
	return p.figure(name, value)
}

func (p *trieParser) table(name string) {
	name = strings.ToLower(strings.TrimPrefix(name, "Id "))
	p.stats.Tables = append(p.stats.Tables, results.Trie{Name: name, TnodesByBits: map[int]int64{}})
	p.trie = &p.stats.Tables[len(p.stats.Tables)-1]
}

// tnodes reads "  1: 8192  15: 1": the size of tnodes as a power of two, and how
// many there are. It is empty for a trie of one leaf.
func (p *trieParser) tnodes(text string) error {
	fields := strings.Fields(text)
	if len(fields)%2 != 0 {
		return fmt.Errorf("tnodes by size: %q", text)
	}
	for i := 0; i < len(fields); i += 2 {
		bits, err := strconv.Atoi(strings.TrimSuffix(fields[i], ":"))
		if err != nil {
			return err
		}
		count, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return err
		}
		p.trie.TnodesByBits[bits] = count
	}
	return nil
}

func (p *trieParser) figure(name, value string) error {
	t, c := p.trie, p.trie.Counters
	if c == nil {
		c = &results.TrieCounters{} // for the addresses below
	}
	if name == "Aver depth" {
		var err error
		t.AverageDepth, err = strconv.ParseFloat(value, 64)
		return err
	}
	if name == "Max depth" {
		var err error
		t.MaxDepth, err = strconv.Atoi(value)
		return err
	}
	figures := map[string]*int64{
		"Leaves":         &t.Leaves,
		"Prefixes":       &t.Prefixes,
		"Internal nodes": &t.Tnodes,
		"Pointers":       &t.Pointers,
		"Null ptrs":      &t.NullPointers,
		"Total size":     &t.SizeKB,

		"gets":                  &c.Gets,
		"backtracks":            &c.Backtracks,
		"semantic match passed": &c.SemanticMatchPassed,
		"semantic match miss":   &c.SemanticMatchMiss,
		"null node hit":         &c.NullNodeHit,
		"skipped node resize":   &c.SkippedResize,
	}
	figure, known := figures[name]
	if !known {
		return nil // a later kernel's
	}
	p.bits = name == "Internal nodes"
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*figure = n
	return nil
}

// ParseRT6Stats reads /proc/net/rt6_stats (rt6_stats_seq_show,
// net/ipv6/route.c): seven hexadecimal numbers.
func ParseRT6Stats(b []byte) (*results.RT6Stats, error) {
	s := &results.RT6Stats{}
	figures := []*int64{&s.Nodes, &s.RouteNodes, &s.RouteAllocs, &s.RouteEntries, &s.RouteCache, &s.DstEntries, &s.Discarded}
	fields := strings.Fields(string(b))
	if len(fields) < len(figures) {
		return nil, fmt.Errorf("rt6_stats: %d numbers instead of %d", len(fields), len(figures))
	}
	for i, figure := range figures {
		n, err := strconv.ParseInt(fields[i], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("rt6_stats: %w", err)
		}
		*figure = n
	}
	return s, nil
}
