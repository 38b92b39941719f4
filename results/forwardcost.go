package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A lookupCost is what the lookup of one path costs a packet, both ways: as the
// difference to packets that are redirected without one, and as the share of profile
// samples that were in the lookup's functions.
type lookupCost struct {
	cell     *cell
	gaps     Summary // difference of the times from packet to packet, ns
	cpus     Summary // difference of the CPU times, ns
	gap, cpu float64 // from packet to packet, and CPU time of one, ns: what the share is of
	samples  int64   // of the profiles, 0 without one
	symbols  []lookupSymbol
	inLookup int64 // samples in its functions
}

// A lookupSymbol is the samples that found the CPU in one function itself.
type lookupSymbol struct {
	symbol  string
	samples int64
}

// share is the part of the samples that n is; NaN without a profile.
func (l *lookupCost) share(n int64) float64 {
	if l.samples == 0 {
		return math.NaN()
	}
	return float64(n) / float64(l.samples)
}

// profiled is the time of n samples in a packet's, ns.
func (l *lookupCost) profiled(n int64, packet float64) float64 { return l.share(n) * packet }

// lookupPrefixes are how the names of the functions begin that look routes up: those
// of bpf_fib_lookup (net/core/filter.c), of rules, of the IPv4 trie and of IPv6
// tables, and of what chooses among next hops.
func lookupPrefixes() []string {
	return []string{
		"bpf_fib_lookup", "bpf_xdp_fib_lookup", "bpf_skb_fib_lookup", "bpf_ipv4_fib_lookup", "bpf_ipv6_fib_lookup", "bpf_fib_set_fwd_params",
		"fib_table_lookup", "fib_get_table", "fib_lookup", "fib_select_", "fib_rules_lookup", "fib_validate_source", "__fib_validate_source",
		"fib4_rule", "fib6_", "__fib6_", "l3mdev_fib_table", "l3mdev_update_flow", "ip_mtu_from_fib_result", "ip6_mtu_from_fib6",
		"ip6_pol_route", "rt6_", "find_match", "find_rr_leaf", "__find_rr_leaf", "ip_route_input", "ip6_route_input", "ip6_route_lookup",
	}
}

// costs are those of the paths of a group that look up. Profiled runs are no samples,
// and are among all the runs of the block.
func (g *forwardGroup) costs(all []Run) []lookupCost {
	var costs []lookupCost
	base := g.cell(PathRedirect)
	for i := range g.cells {
		c := &g.cells[i]
		stretch := quietStretch(c.runs)
		if c.path() == PathRedirect {
			continue
		}
		l := lookupCost{cell: c, gap: ofPackets(c.runs, gapOf(stretch)).Median, cpu: ofPackets(c.runs, cpuOf(stretch)).Median}
		if base != nil && c.path() != PathStack {
			l.gaps = differencePackets(c.runs, base.runs, gapOf(stretch))
			l.cpus = differencePackets(c.runs, base.runs, cpuOf(stretch))
		}
		l.profile(all, stretch)
		if l.gaps.N > 0 || l.inLookup > 0 {
			costs = append(costs, l)
		}
	}
	return costs
}

// profile counts the samples of the cell's profiled runs.
func (l *lookupCost) profile(all []Run, stretch string) {
	in := map[string]int64{}
	for i := range all {
		r := &all[i]
		if r.Cell != l.cell.name || !r.Held() || r.Partial {
			continue
		}
		p := r.profileOf(stretch)
		if p == nil {
			continue
		}
		self, samples := p.selfSamples()
		l.samples = plus(l.samples, samples)
		for symbol, n := range self {
			if slices.ContainsFunc(lookupPrefixes(), func(prefix string) bool { return strings.HasPrefix(symbol, prefix) }) {
				in[symbol], l.inLookup = plus(in[symbol], n), plus(l.inLookup, n)
			}
		}
	}
	for symbol, n := range in {
		l.symbols = append(l.symbols, lookupSymbol{symbol, n})
	}
	slices.SortFunc(l.symbols, func(x, y lookupSymbol) int {
		return cmp.Or(cmp.Compare(y.samples, x.samples), cmp.Compare(x.symbol, y.symbol))
	})
}

// costs writes what a lookup costs, both ways side by side, and below it the
// functions of the profile.
func (p *page) costs(b block, groups []forwardGroup) {
	var costs []lookupCost
	for _, g := range groups {
		costs = append(costs, g.costs(b.runs)...)
	}
	p.grid(costGrid(costs))
	p.grid(symbolGrid(costs))
}

// costGrid leaves out the columns that no cell has a figure for.
func costGrid(costs []lookupCost) grid {
	has := func(f func(*lookupCost) bool) bool {
		return slices.ContainsFunc(costs, func(l lookupCost) bool { return f(&l) })
	}
	columns := []struct {
		column
		shown bool
		text  func(*lookupCost) string
	}{
		{column{title: "cost of\nthe lookup", left: true}, true, func(l *lookupCost) string { return plain(l.cell.name) }},
		{column{title: "difference\nof gaps ns"}, has(hasGaps), func(l *lookupCost) string { return known(l.gaps) }},
		{column{title: "95 % interval\nns", drop: 2}, has(hasGaps), func(l *lookupCost) string { return interval(l.gaps) }},
		{column{title: "difference\nof CPU ns", drop: 1}, has(hasCPUs), func(l *lookupCost) string { return known(l.cpus) }},
		{column{title: "95 % interval\nns", drop: 3}, has(hasCPUs), func(l *lookupCost) string { return interval(l.cpus) }},
		{column{title: "profile\nshare %"}, has(hasProfile), func(l *lookupCost) string { return orBlank(100*l.share(l.inLookup), 2) }},
		{column{title: "share x\ngap ns"}, has(hasProfile), func(l *lookupCost) string { return orBlank(l.profiled(l.inLookup, l.gap), 2) }},
		{column{title: "share x\nCPU ns", drop: 4}, has(hasProfile), func(l *lookupCost) string { return orBlank(l.profiled(l.inLookup, l.cpu), 2) }},
	}
	g := grid{rows: make([][]string, len(costs))}
	for _, c := range columns {
		if !c.shown {
			continue
		}
		g.columns = append(g.columns, c.column)
		for i := range costs {
			g.rows[i] = append(g.rows[i], c.text(&costs[i]))
		}
	}
	return g
}

func hasGaps(l *lookupCost) bool    { return l.gaps.N > 0 }
func hasCPUs(l *lookupCost) bool    { return l.cpus.N > 0 }
func hasProfile(l *lookupCost) bool { return l.samples > 0 }

// interval renders that of a time in ns.
func interval(s Summary) string {
	if !s.HasInterval() {
		return "-"
	}
	return fixed(s.Lo, 1) + " to " + fixed(s.Hi, 1)
}

// known renders a median in ns, or nothing where there is none.
func known(s Summary) string {
	if s.N == 0 {
		return ""
	}
	return fixed(s.Median, 1)
}

// shownSymbols is how many functions of a cell's profile the terminal shows.
const shownSymbols = 8

func symbolGrid(costs []lookupCost) grid {
	g := grid{columns: []column{
		{title: "profile", left: true}, {title: "function", left: true}, {title: "samples", drop: 1}, {title: "share\n%"}, {title: "share x\ngap ns"}, {title: "share x\nCPU ns", drop: 2},
	}}
	for i := range costs {
		l := &costs[i]
		row := func(name string, n int64) {
			g.rows = append(g.rows, []string{plain(l.cell.name), plain(name), fmt.Sprint(n), fixed(100*l.share(n), 2), orBlank(l.profiled(n, l.gap), 2), orBlank(l.profiled(n, l.cpu), 2)})
		}
		if l.samples == 0 {
			continue
		}
		rest := l.inLookup
		for _, s := range l.symbols[:min(len(l.symbols), shownSymbols)] {
			row(s.symbol, s.samples)
			rest -= s.samples
		}
		if rest > 0 {
			row("other functions of the lookup", rest)
		}
		row("all of the lookup", l.inLookup)
	}
	return g
}

// costSentence states the cost as the difference, where it was measured.
func (g *forwardGroup) costSentence() string {
	var texts []string
	base := g.cell(PathRedirect)
	if base == nil {
		return ""
	}
	for _, path := range []string{PathLookup, PathDirect} {
		c := g.cell(path)
		if c == nil {
			continue
		}
		stretch := quietStretch(c.runs)
		s := differencePackets(c.runs, base.runs, gapOf(stretch))
		if s.N == 0 {
			continue
		}
		texts = append(texts, path+" "+packetsText(s, c)+cpuText(differencePackets(c.runs, base.runs, cpuOf(stretch)), c))
	}
	if texts == nil {
		return ""
	}
	return " A lookup costs a packet, as the difference to " + PathRedirect + ": " + strings.Join(texts, "; ") + "."
}

// packetsText is a time of packets with its interval, or the size of the sample.
func packetsText(s Summary, c *cell) string {
	note := ""
	if !s.HasInterval() {
		note = sampleSize(s.N, boots(c.runs))
	}
	return figure(s, "", note)
}

// cpuText adds what it is in CPU time, which other work on the CPU leaves alone.
func cpuText(s Summary, c *cell) string {
	if s.N == 0 {
		return ""
	}
	return ", in CPU time " + packetsText(s, c)
}
