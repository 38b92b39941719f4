package results

import (
	"math"
	"slices"
)

// A layout is what the terminal rendering of one command shows besides the
// table of phases.
type layout struct {
	perTitle string               // heading of the column "ns per ..."
	per      func(*Phase) int64   // its divisor; the column is blank where it is 0
	net      string               // phase that is also shown net of the cell "empty"
	sentence func(block) []string // paragraphs of the conclusion
}

func layoutOf(command string) layout {
	switch command {
	case "delete-iface":
		return layout{
			perTitle: "ns per\nsubnet",
			per:      func(p *Phase) int64 { return p.Subnets },
			net:      deletePhase,
			sentence: deleteSentences,
		}
	case "netns":
		return netnsLayout()
	case "nexthops":
		return nexthopsLayout()
	case "routes":
		return layout{perTitle: "ns per\nroute", per: perRoute, sentence: routesSentences}
	case "addrs":
		return layout{perTitle: "ns per\naddress", per: perRoute, sentence: addrsSentences}
	case "flap":
		return layout{perTitle: "ns per\nroute", per: perRoute, sentence: flapSentences}
	case "lookup":
		return layout{perTitle: "ns per\nop", per: func(p *Phase) int64 { return p.Ops }, sentence: lookupSentences}
	case "forward":
		return layout{perTitle: "ns per\nop", per: perChange, sentence: forwardSentences}
	case "flood":
		return layout{perTitle: "ns per\nop", per: perChange, sentence: floodSentences}
	case "resize":
		return layout{perTitle: "ns per\nop", per: func(p *Phase) int64 { return p.Ops }, sentence: resizeSentences}
	}
	return layout{
		perTitle: "ns per\nop",
		per:      func(p *Phase) int64 { return p.Ops },
		sentence: func(block) []string { return nil },
	}
}

// ofPacketClock reports whether a phase is one of packets, whose times have a table of
// their own: the phase's time has the waits of the calls in it that put packets in.
func ofPacketClock(phase string) bool {
	return slices.Contains([]string{floodPhase, "rest", "before", "during", "after"}, phase)
}

// perChange is the number of changes beside packets.
func perChange(p *Phase) int64 {
	if ofPacketClock(p.Name) {
		return 0
	}
	return p.Ops
}

// perRoute is the number of routes a phase works on, also where it takes fewer
// requests, as a flush does.
func perRoute(p *Phase) int64 {
	if p.Subnets > 0 {
		return p.Subnets
	}
	return p.Ops
}

// A phaseRow is one row of the table of phases, in ns.
type phaseRow struct {
	cell, phase        string
	wall, cpu, blocked Summary
	user               float64 // share of user time in the CPU time, NaN unknown
	per                float64 // ns per subnet or operation, NaN none
}

// phaseRows returns a row for each cell and phase in the block, and below them
// the rows net of the empty cell.
func phaseRows(b block, l layout) []phaseRow {
	var rows []phaseRow
	for _, c := range b.cells {
		for _, phase := range PhaseNames(c.runs) {
			rows = append(rows, phaseRow{
				cell: c.name, phase: phase,
				wall: Of(c.runs, phase, WallTime), cpu: Of(c.runs, phase, CPUTime), blocked: Of(c.runs, phase, BlockedTime),
				user: userShare(c.runs, phase),
				per:  Of(c.runs, phase, perUnit(l.per)).Median,
			})
		}
	}
	return append(rows, netRows(b, l)...)
}

func netRows(b block, l layout) []phaseRow {
	var rows []phaseRow
	empty := b.cell(cellEmpty)
	if empty == nil || l.net == "" {
		return nil
	}
	for _, c := range b.cells {
		net := func(m Metric) Summary { return Net(c.runs, empty.runs, l.net, m) }
		if c.name == cellEmpty || net(WallTime).N == 0 {
			continue
		}
		rows = append(rows, phaseRow{
			cell: c.name + " net", phase: l.net,
			wall: net(WallTime), cpu: net(CPUTime), blocked: net(BlockedTime),
			user: math.NaN(),
			per:  net(WallTime).Median / Of(c.runs, l.net, func(p *Phase) float64 { return divisor(l.per(p)) }).Median,
		})
	}
	return rows
}

// perUnit divides wall time; NaN where there is nothing to divide by.
func perUnit(per func(*Phase) int64) Metric {
	return func(p *Phase) float64 { return WallTime(p) / divisor(per(p)) }
}

func divisor(n int64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

// PhaseNames returns the names of the runs' phases in the order of the record.
func PhaseNames(runs []Run) []string {
	var names []string
	for i := range runs {
		for _, p := range runs[i].Phases {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// knowableCPU is the CPU time, in ns, from which on its split into user and system
// means something: a kernel that accounts by timer tick (of up to 10 ms,
// CONFIG_TICK_CPU_ACCOUNTING) gives a few ticks to one of them by chance.
const knowableCPU = 100e6

// userShare takes all runs together, and is NaN where they are too short.
func userShare(runs []Run, phase string) float64 {
	var user, cpu int64
	for i := range runs {
		if p := runs[i].Phase(phase); p != nil {
			user, cpu = plus(user, p.User), plus(cpu, p.User, p.System)
		}
	}
	if cpu < knowableCPU {
		return math.NaN()
	}
	return float64(user) / float64(cpu)
}

// phaseGrid lays the rows out. All times of a table share one unit.
func phaseGrid(rows []phaseRow, l layout) grid {
	u, digits := tableUnit(rows)
	timeText := func(ns float64) string { return fixed(ns/u.ns, digits) }
	g := grid{columns: []column{
		{title: "cell", left: true},
		{title: "phase", left: true},
		{title: "median\n" + u.name},
		{title: "95 % interval\n" + u.name},
		{title: "MAD\n" + u.name, drop: 6},
		{title: "min\n" + u.name, drop: 7},
		{title: "max\n" + u.name, drop: 7},
		{title: l.perTitle, drop: 2},
		{title: "CPU\n" + u.name, drop: 3},
		{title: "user\n%", drop: 5},
		{title: "blocked\n" + u.name, drop: 4},
	}}
	intervals := intervalTexts(rows, timeText)
	spread := func(s Summary) string {
		if s.N < 2 {
			return "-" // one run deviates from nothing
		}
		return timeText(s.MAD)
	}
	known := func(ns float64) string {
		if math.IsNaN(ns) {
			return "-"
		}
		return timeText(ns)
	}
	for i, r := range rows {
		g.rows = append(g.rows, []string{
			plain(r.cell), plain(r.phase), timeText(r.wall.Median), intervals[i],
			spread(r.wall), timeText(r.wall.Min), timeText(r.wall.Max),
			orBlank(r.per, 0), known(r.cpu.Median), orBlank(100*r.user, 1), known(r.blocked.Median),
		})
	}
	return g
}

// tableUnit chooses the unit by the longest row. Three digits after the point
// keep short phases legible beside it.
func tableUnit(rows []phaseRow) (u unit, digits int) {
	longest := 0.0
	for _, r := range rows {
		longest = max(longest, math.Abs(r.wall.Median))
	}
	switch u = unitOf(longest); u.name {
	case "ns":
		return u, 0
	case "s":
		return unitOf(1e6), 3
	}
	return u, 3
}

func intervalTexts(rows []phaseRow, timeText func(float64) string) []string {
	lows, highs := make([]string, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		if r.wall.HasInterval() {
			lows[i], highs[i] = timeText(r.wall.Lo), timeText(r.wall.Hi)
		}
	}
	return alignPairs(lows, highs)
}

// orBlank renders x, or nothing where there is no such figure.
func orBlank(x float64, decimals int) string {
	if math.IsNaN(x) {
		return ""
	}
	return fixed(x, decimals)
}
