package results

import (
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

// chief are the additions and the removals of most work.
func (v rebalancing) chief() []transitionRow {
	rows := v.transitions()
	var chief []transitionRow
	for _, verb := range []string{"add", "delete"} {
		of := slices.DeleteFunc(slices.Clone(rows), func(r transitionRow) bool { return r.Op != verb })
		chief = append(chief, most(of, 1)...)
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
	case positive(r.net) && r.control.Median > 0:
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
	text := article(kindsText(r.Kinds))
	if n := r.Kinds["suffix"]; n > 0 {
		return fmt.Sprintf("a search of %d children for the suffix length", n)
	}
	before, after := largest(r.Before), largest(r.After)
	switch {
	case len(r.Kinds) == 1 && before > 0 && after > 0 && before != after:
		return fmt.Sprintf("%s from %d to %d bits", text, before, after)
	case before > 0 && after > 0 && before != after:
		return fmt.Sprintf("%s, at %d routes, from %d to %d bits,", article(plain(r.Op)), r.Size, before, after) + " with " + text
	}
	return fmt.Sprintf("%s at %d routes with %s", article(plain(r.Op)), r.Size, text)
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
	r := v.resize
	text := fmt.Sprintf("One operation in %s changes a tnode", plainRatio(r.Operations, r.Crossed))
	if r.Events.Changes() == 0 {
		text = fmt.Sprintf("One operation in %s searches for a suffix length", plainRatio(r.Operations, r.Crossed))
	}
	if rows := v.transitions(); v.control != nil && int64(len(rows)) == r.TransitionsTotal {
		sum := 0.0
		for _, row := range rows {
			sum += row.net.Median * float64(row.Ops)
		}
		text += fmt.Sprintf("; by the medians all of them together cost %s net a run", duration(sum))
	}
	if v.control == nil {
		return text + "."
	}
	wall := Net(v.crossing.runs, v.control.runs, r.Pattern, WallTime)
	cpu := Net(v.crossing.runs, v.control.runs, r.Pattern, CPUTime)
	if wall.N == 0 {
		return text + "; no run of control has its boot and number."
	}
	return fmt.Sprintf("%s. All %s against the control's (%s): %s of wall time, %s of CPU time.", text,
		count(r.Operations, "operation", "operations"), duration(Of(v.control.runs, r.Pattern, WallTime).Median),
		v.verdict(wall), v.verdict(cpu))
}

// verdict states a difference of the whole phase.
func (v rebalancing) verdict(s Summary) string {
	text := figure(s, " net", v.size(s))
	if s.HasInterval() && s.Lo <= 0 && s.Hi >= 0 {
		return "no measurable difference, " + text
	}
	return text
}

// plainRatio is a/b rounded, b is not 0.
func plainRatio(a, b int64) string { return integers((a + b/2) / b)[0] }

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
	text := fmt.Sprintf("Waits for grace periods and locks are not in these times: %s operations a run waited, %s together",
		fixed(number.summarize().Median, 0), duration(blocked.summarize().Median))
	freed := v.resize.Events.FreedBytes
	limit := v.crossing.runs[0].Environment.FibSyncMem
	if limit <= 0 || freed == 0 {
		return text + "."
	}
	return fmt.Sprintf("%s. The replaced tnodes' %d bytes make %s grace periods a run at fib_sync_mem %d.", text, freed, fixed(float64(freed)/float64(limit), 1), limit)
}
