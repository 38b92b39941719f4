package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// resizeSentences says what a crossing costs, what all of them cost together, and
// how much of the time was waiting.
func resizeSentences(b block) []string {
	v, ok := rebalancingOf(b)
	if !ok {
		return nil
	}
	var costs []string
	for _, row := range v.chief() {
		costs = append(costs, v.cost(row))
	}
	return []string{strings.Join(costs, " "), v.total(), v.waits()}
}

// chief are the slowest sort of additions and of removals.
func (v rebalancing) chief() []transitionRow {
	rows := v.transitions()
	var chief []transitionRow
	for _, verb := range []string{"add", "delete"} {
		of := slices.DeleteFunc(slices.Clone(rows), func(r transitionRow) bool { return r.Op != verb })
		if len(of) > 0 {
			chief = append(chief, slices.MaxFunc(of, func(a, b transitionRow) int { return cmp.Compare(a.crossing.Median, b.crossing.Median) }))
		}
	}
	return chief
}

// cost states one transition, e.g. "An inflate from 12 to 13 bits takes 115 us, 30
// times the same add without crossing (3.89 us): 111 us net (95 % interval 107 to
// 118 us)."
func (v rebalancing) cost(r transitionRow) string {
	text := capital(r.what()) + " takes " + duration(r.crossing.Median)
	if r.net.N == 0 {
		return text + "; there is no control beside it."
	}
	control := fmt.Sprintf("the same %s without crossing (%s)", plain(r.Op), duration(r.control.Median))
	net := figure(r.net, " net", v.size(r.net))
	switch {
	case positive(r.net) && r.crossing.Median < 1.05*r.control.Median:
		return fmt.Sprintf("%s, little more than %s: %s.", text, control, net)
	case positive(r.net) && r.control.Median > 0 && r.control.N >= MinRuns:
		return fmt.Sprintf("%s, %s %s: %s.", text, times(r.crossing.Median/r.control.Median), control, net)
	case !r.net.HasInterval():
		return fmt.Sprintf("%s against %s of %s: %s.", text, duration(r.control.Median), "the same "+plain(r.Op)+" without crossing", net)
	case r.net.Hi < 0:
		return fmt.Sprintf("%s, less than %s: %s.", text, control, net)
	}
	return fmt.Sprintf("%s, not distinguishable from %s: %s.", text, control, net)
}

// what names a transition, with the sizes of the largest tnode that it changed.
func (r transitionRow) what() string {
	if n := r.Kinds["suffix"]; n > 0 {
		return fmt.Sprintf("a search of %d children for the suffix length", n)
	}
	before, after := largest(r.Before), largest(r.After)
	if len(r.Kinds) == 1 && before > 0 && after > 0 && before != after {
		return fmt.Sprintf("%s from %d to %d bits", article(kindsText(r.Kinds)), before, after)
	}
	return fmt.Sprintf("the %s that leaves %s (%s)", plain(r.Op), count(r.Size, "route", "routes"), kindsText(r.Kinds))
}

// largest is the most bits of which there is a tnode, 0 where there is none.
func largest(sizes map[int]int64) int {
	most := 0
	for bits := range maps.Keys(sizes) {
		if sizes[bits] > 0 {
			most = max(most, bits)
		}
	}
	return most
}

// article puts the indefinite article before what is one thing.
func article(text string) string {
	switch {
	case text == "" || text[0] >= '0' && text[0] <= '9':
		return text
	case strings.ContainsRune("aeiou", rune(text[0])):
		return "an " + text
	}
	return "a " + text
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// size names the sample where it is too small for an interval.
func (v rebalancing) size(s Summary) string {
	if s.HasInterval() {
		return ""
	}
	return sampleSize(s.N, boots(v.crossing.runs))
}

// total states the sum of all crossings, and the whole phase against the control's.
func (v rebalancing) total() string {
	r, does := v.resize, "change tnodes"
	if r.Events.Changes() == 0 {
		does = "search for a suffix length"
	}
	text := fmt.Sprintf("%d of %s %s", r.Crossed, count(r.Operations, "operation", "operations"), does)
	if r.Crossed == r.Operations {
		text = "All operations " + does
	}
	if v.control == nil {
		return text + "."
	}
	wall := Net(v.crossing.runs, v.control.runs, r.Pattern, WallTime)
	cpu := Net(v.crossing.runs, v.control.runs, r.Pattern, CPUTime)
	if wall.N == 0 {
		return text + "; no run of control has its boot and number."
	}
	if sum := v.sum(); sum.N > 0 {
		text += ", and by the medians above a run's crossings together cost " + v.verdict(sum)
	}
	text = fmt.Sprintf("%s. The whole phase against the control's (%s): %s of wall time", text,
		duration(Of(v.control.runs, r.Pattern, WallTime).Median), v.verdict(wall))
	if tickedCPU(&v.crossing.runs[0]) {
		return text + "."
	}
	return fmt.Sprintf("%s; %s of CPU time.", text, v.verdict(cpu))
}

// sum is what the transitions of a run cost together, run by run net of the
// control; of none where the record leaves transitions out.
func (v rebalancing) sum() Summary {
	var sums byBoot
	for _, p := range pairs(v.crossing.runs, v.control.runs, v.resize.Pattern) {
		a, b := p.loaded.Resize, p.empty.Resize
		if a == nil || b == nil || int64(len(a.Transitions)) != a.TransitionsTotal {
			continue
		}
		sum := 0.0
		for i := range a.Transitions {
			if t := b.transition(a.Transitions[i].key()); t != nil {
				sum += float64(a.Transitions[i].Ops) * float64(a.Transitions[i].P50-t.P50)
			}
		}
		sums.add(p.loaded.Boot, sum)
	}
	return sums.summarize()
}

// verdict states a difference of the whole phase.
func (v rebalancing) verdict(s Summary) string {
	text := figure(s, " net", v.size(s))
	if s.HasInterval() && s.Lo <= 0 && s.Hi >= 0 {
		return "nothing measurable, " + text
	}
	return text
}

// waits states the time blocked, which is in the phase and not in the times of
// single operations.
func (v rebalancing) waits() string {
	var number, blocked byBoot
	for i := range v.crossing.runs {
		if r := v.crossing.runs[i].Resize; r != nil {
			number.add(v.crossing.runs[i].Boot, float64(r.Waits.Count))
			blocked.add(v.crossing.runs[i].Boot, float64(r.Waits.Blocked))
		}
	}
	text := "No operation waited for a grace period or a lock"
	if n := number.summarize(); n.Max > 0 {
		text = fmt.Sprintf("Waits for grace periods and locks are not in the times of single operations: in a run %s of them waited (at most %s)",
			fixed(n.Median, 0), fixed(n.Max, 0))
		if !tickedCPU(&v.crossing.runs[0]) {
			text += ", " + duration(blocked.summarize().Median) + " together"
		}
	}
	freed := v.resize.Events.FreedBytes
	limit := v.crossing.runs[0].Environment.FibSyncMem
	if limit <= 0 || freed == 0 {
		return text + "."
	}
	// The sum is set to 0 when it has made one wait, however far it was above.
	most := min(float64(freed)/float64(limit), float64(v.resize.Events.Inflates+v.resize.Events.Halves))
	return fmt.Sprintf("%s. The %d bytes of replaced tnodes make %s grace periods a run at most, at fib_sync_mem %d.", text, freed, fixed(most, 1), limit)
}
