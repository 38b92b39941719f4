package results

import (
	"fmt"
	"slices"
	"strings"
)

// The phases of delete-iface that its conclusion speaks of.
const (
	deletePhase = "delete"
	downPhase   = "down"
)

// deleteSentences says what removing the load of each cell costs net of the
// empty interface, and how many times what routes cost.
func deleteSentences(b block) []string {
	var subjects []load
	for i := range b.cells {
		if l, ok := loadOf(&b.cells[i]); ok {
			subjects = append(subjects, l)
		}
	}
	routes, empty := take(&subjects, cellRoutes), take(&subjects, cellEmpty)
	if len(subjects) == 0 && routes != nil {
		subjects, routes = []load{*routes}, nil
	}
	var out []string
	for _, l := range subjects {
		out = append(out, conclude(l, routes, empty))
	}
	if empty != nil {
		out = append(out, emptySentence(*empty))
	}
	if slices.ContainsFunc(b.cells, func(c cell) bool { return slices.Contains(PhaseNames(c.runs), downPhase) }) {
		out = append(out, "The link was taken down before it was removed: that is the phase down and not in these figures.")
	}
	return out
}

// A load is what the delete phase of one cell removed.
type load struct {
	cell            *cell
	subnets, ifaces int64
	mixed           bool // not the same in all runs
}

func loadOf(c *cell) (l load, ok bool) {
	l.cell = c
	for i := range c.runs {
		p := c.runs[i].Phase(deletePhase)
		switch {
		case p == nil:
		case !ok:
			l.subnets, l.ifaces, ok = p.Subnets, p.Ops, true
		default:
			l.mixed = l.mixed || p.Subnets != l.subnets || p.Ops != l.ifaces
		}
	}
	return l, ok
}

// take removes the load of the named cell from the list and returns it, or nil.
func take(loads *[]load, name string) *load {
	for i, l := range *loads {
		if l.cell.name == name {
			*loads = slices.Delete(*loads, i, i+1)
			return &l
		}
	}
	return nil
}

// String names the load, e.g. "8192 local subnets" or
// "4 interfaces with 8192 local subnets each".
func (l load) String() string {
	switch {
	case l.cell.name == cellEmpty && l.ifaces == 1:
		return "the empty interface"
	case l.cell.name == cellEmpty:
		return fmt.Sprintf("%d empty interfaces", l.ifaces)
	case l.mixed || l.subnets == 0 || l.ifaces == 0:
		return "the load of " + plain(l.cell.name)
	case l.ifaces == 1:
		return l.things(l.subnets)
	case l.subnets%l.ifaces == 0:
		return fmt.Sprintf("%d interfaces with %s each", l.ifaces, l.things(l.subnets/l.ifaces))
	}
	return fmt.Sprintf("%d interfaces with %s in all", l.ifaces, l.things(l.subnets))
}

func (l load) things(n int64) string {
	switch l.cell.name {
	case cellAddrs:
		return count(n, "local subnet", "local subnets")
	case cellRoutes:
		return count(n, "route", "routes")
	case cellSecondaries:
		return count(n, "address", "addresses") + " of one subnet"
	}
	return count(n, "subnet", "subnets") + " of " + plain(l.cell.name)
}

// raw summarises a metric of the delete phase.
func (l load) raw(m Metric) Summary { return Of(l.cell.runs, deletePhase, m) }

func (l load) net(empty load, m Metric) Summary {
	return Net(l.cell.runs, empty.cell.runs, deletePhase, m)
}

// conclude states the cost of l, against routes where they were measured. It is
// net of empty where that was.
func conclude(l load, routes, empty *load) string {
	switch {
	case l.mixed:
		return fmt.Sprintf("The runs of %s did not all remove the same number of subnets: no one figure holds for them.", plain(l.cell.name))
	case routes != nil && routes.mixed:
		routes = nil
	}
	switch {
	case empty == nil:
		return rawSentence(l, routes, "without the cell empty, the removal of the interface itself is in it")
	case empty.mixed || empty.ifaces != l.ifaces:
		return rawSentence(l, routes, "the runs of empty removed another number of interfaces")
	case l.net(*empty, WallTime).N == 0:
		return rawSentence(l, routes, "no run of empty has its boot and number")
	}
	return strings.TrimSpace(netSentence(l, routes, *empty) + " " + cpuSentence(l, routes, *empty))
}

func rawSentence(l load, routes *load, why string) string {
	s := l.raw(WallTime)
	text := fmt.Sprintf("Removing %s takes %s, raw: %s", l, figure(s, "", sampleNote(l)), why)
	if routes == nil {
		return text + "."
	}
	r := routes.raw(WallTime)
	if ratio := l.ratio(*routes); ratio.HasInterval() {
		return fmt.Sprintf("%s. That is %s what %s take (%s, raw too).", text, ratioText(ratio), routes, duration(r.Median))
	}
	return fmt.Sprintf("%s; %s take %s, raw too: too few pairs of runs for a ratio.", text, routes, duration(r.Median))
}

// ratio summarises, run by run, how many times the other load's wall time this one
// takes.
func (l load) ratio(other load) Summary {
	return ratioWithin(other.cell.runs, l.cell.runs, deletePhase, WallTime)
}

func netSentence(l load, routes *load, empty load) string {
	s := l.net(empty, WallTime)
	base := fmt.Sprintf("%s (%s)", empty, duration(empty.raw(WallTime).Median))
	var text string
	switch {
	case !s.HasInterval():
		text = fmt.Sprintf("Removing %s against %s: a difference of %s, which so few cannot tell from none", l, base, figure(s, "", pairNote(l, empty, s)))
	case positive(s):
		text = fmt.Sprintf("Removing %s costs %s net of %s", l, figure(s, "", pairNote(l, empty, s)), base)
	default:
		text = fmt.Sprintf("Removing %s %s %s", l, notMore(s), base) + ": " + figure(s, " net", pairNote(l, empty, s))
	}
	if routes == nil {
		return text + "." + belowNothing(s)
	}
	r := routes.net(empty, WallTime)
	switch {
	case r.N == 0:
		return text + "." + belowNothing(s)
	case positive(s) && positive(r):
		ratio := netRatio(l, *routes, empty, WallTime)
		if !ratio.HasInterval() {
			return fmt.Sprintf("%s; %s cost %s.", text, routes, figure(r, " net", ""))
		}
		return fmt.Sprintf("%s: %s what %s cost (%s net).", text, ratioText(ratio), routes, duration(r.Median))
	case !r.HasInterval():
		return fmt.Sprintf("%s; %s differ by %s.", text, routes, figure(r, "", ""))
	case positive(r):
		return fmt.Sprintf("%s; %s cost %s.", text, routes, figure(r, " net", ""))
	}
	return fmt.Sprintf("%s; %s %s %s: %s.%s", text, routes, pluralNotMore(r), empty, figure(r, " net", ""), belowNothing(s, r))
}

// belowNothing says what to make of a load that costs less than none.
func belowNothing(nets ...Summary) string {
	for _, s := range nets {
		if s.HasInterval() && s.Hi < 0 {
			return " A load cannot cost less than none: the removals waited for grace periods differently, so that their wall times do not compare. Go by the CPU time."
		}
	}
	return ""
}

// cpuSentence leaves out the time blocked, the noisy part of the wall time. There
// is none where the CPU time is unknown or comes in ticks.
func cpuSentence(l load, routes *load, empty load) string {
	s := l.net(empty, CPUTime)
	if s.N == 0 || tickedCPU(&l.cell.runs[0]) {
		return ""
	}
	text := "In CPU time, which leaves out waits for grace periods and locks: "
	switch {
	case s.HasInterval() && s.Hi < 0:
		return text + "less than " + empty.String() + ", " + figure(s, " net", "") + "."
	case s.HasInterval() && !positive(s):
		return text + "not distinguishable from " + empty.String() + ", " + figure(s, " net", "") + "."
	}
	text += figure(s, " net", "")
	if routes != nil {
		ratio := netRatio(l, *routes, empty, CPUTime)
		if r := routes.net(empty, CPUTime); positive(s) && positive(r) && ratio.HasInterval() {
			text += fmt.Sprintf(", %s the %s of %s", ratioText(ratio), duration(r.Median), routes)
		}
	}
	return text + "."
}

func emptySentence(empty load) string {
	wall, blocked := empty.raw(WallTime), empty.raw(BlockedTime)
	if blocked.N == 0 || tickedCPU(&empty.cell.runs[0]) {
		return fmt.Sprintf("Removing %s takes %s.", empty, figure(wall, "", ""))
	}
	return fmt.Sprintf("Removing %s takes %s, of which it is blocked for %s.", empty, figure(wall, "", ""), duration(blocked.Median))
}

// positive reports whether the whole interval is above zero.
func positive(s Summary) bool { return s.HasInterval() && s.Lo > 0 }

// notMore says how a difference that is not positive stands to its base.
func notMore(s Summary) string {
	if s.Hi < 0 {
		return "takes less time than"
	}
	return "costs no measurable time more than"
}

func pluralNotMore(s Summary) string {
	if s.Hi < 0 {
		return "take less time than"
	}
	return "cost no measurable time more than"
}

// figure renders a median and its interval, e.g.
// "36.2 ms (95 % interval 35.9 to 36.8 ms)"; kind follows the median, note ends
// the parenthesis.
func figure(s Summary, kind, note string) string {
	const level = "95" + nbsp + "%" + nbsp + "interval"
	median, interval := durations(s)
	if interval == "" {
		interval = "too few for a " + level
	} else {
		interval = level + " " + interval
	}
	if note != "" {
		interval = note + ", " + interval
	}
	return fmt.Sprintf("%s%s (%s)", median, kind, interval)
}

// sampleNote names the sample where it is too small for an interval.
func sampleNote(l load) string {
	if s := l.raw(WallTime); !s.HasInterval() {
		return sampleSize(s.N, boots(l.cell.runs))
	}
	return ""
}

// pairNote names the sample where it is too small for an interval or not all
// runs found a partner.
func pairNote(l, empty load, s Summary) string {
	paired := len(pairs(l.cell.runs, empty.cell.runs, deletePhase))
	switch {
	case paired < max(len(l.cell.runs), len(empty.cell.runs)):
		return count(paired, "pair of runs", "pairs of runs")
	case !s.HasInterval():
		return sampleSize(s.N, boots(l.cell.runs))
	}
	return ""
}

func sampleSize(n, boots int) string {
	if boots > 1 {
		return count(n, "boot", "boots")
	}
	return count(n, "run", "runs")
}
