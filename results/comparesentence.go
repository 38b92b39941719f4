package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// verdicts returns one sentence for each new side.
func verdicts(c Comparison) []string {
	var texts []string
	for _, s := range c.New {
		var rows []CompareRow
		for _, r := range c.Rows {
			if r.New == s.Name {
				rows = append(rows, r)
			}
		}
		if len(rows) > 0 {
			texts = append(texts, verdict(c, s, rows))
		}
	}
	return texts
}

// verdict says what the rows of one new side show.
func verdict(c Comparison, s Side, rows []CompareRow) string {
	slower, faster := withResult(rows, Slower), withResult(rows, Faster)
	var text string
	switch {
	case len(slower)+len(faster) > 0:
		text = changedText(c, s, rows, slower, faster)
	case !slices.ContainsFunc(rows, func(r CompareRow) bool { return r.Reachable }):
		return tooFewText(c, rows)
	default:
		text = fmt.Sprintf("No change from base (%s) to new (%s) is shown in %s, which is no proof that there is none%s", plain(c.Base.Name), plain(s.Name),
			count(len(rows), "comparison", "comparisons"), unseenText(rows))
	}
	if slices.ContainsFunc(rows, func(r CompareRow) bool { return r.separateBoots }) {
		text += "; this holds for these boots and not yet for what differs between the sides"
	}
	return text + "."
}

func changedText(c Comparison, s Side, rows, slower, faster []CompareRow) string {
	text := fmt.Sprintf("Against base (%s), of %s new (%s) is %s and %s", plain(c.Base.Name),
		count(len(rows), "comparison", "comparisons"), plain(s.Name), resultCount(Slower, slower), resultCount(Faster, faster))
	if c.FailAbove != nil {
		above := 0
		for _, r := range slower {
			if r.AboveLimit {
				above++
			}
		}
		text += fmt.Sprintf(", slower by more than %s in %s", limitText(c), numberOrNone(above))
	}
	if rest := len(rows) - len(slower) - len(faster); rest > 0 {
		text += fmt.Sprintf("; in the other %d nothing is shown, which is no proof that nothing changed", rest)
	}
	return text
}

// resultCount is e.g. "slower in 2 (most: delete-iface addrs, delete, wall time,
// +12.3 %)".
func resultCount(result Result, rows []CompareRow) string {
	text := fmt.Sprintf("%s in %s", result, numberOrNone(len(rows)))
	if len(rows) == 0 {
		return text
	}
	most := slices.MaxFunc(rows, func(a, b CompareRow) int {
		return cmp.Compare(relativeSize(a), relativeSize(b))
	})
	return text + fmt.Sprintf(" (most: %s, %s)", most.Name(), deltaText(most))
}

// relativeSize orders changes; one that is no fraction comes last.
func relativeSize(r CompareRow) float64 {
	if !r.Delta.Relative {
		return 0
	}
	return math.Abs(math.Log1p(r.Delta.Estimate))
}

func numberOrNone(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// Name names the row by workload and cell, phase and metric.
func (r CompareRow) Name() string {
	names := []string{cellKey{r.Command, r.Cell}.String(), plain(r.Phase), metricTitle(r.Metric)}
	return strings.Join(names, ", ")
}

func withResult(rows []CompareRow, result Result) []CompareRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r CompareRow) bool { return r.Result != result })
}

// unseenText says what size of change could have gone unseen.
func unseenText(rows []CompareRow) string {
	lowest, highest, unknown := math.Inf(1), 0.0, 0
	for _, r := range rows {
		if !isFinite(r.Detectable) {
			unknown++
			continue
		}
		lowest, highest = min(lowest, r.Detectable), max(highest, r.Detectable)
	}
	if unknown == len(rows) {
		return ", and what could have gone unseen is not known"
	}
	text := ": a change of less than "
	if low := fixed(100*lowest, 1); low != fixed(100*highest, 1) {
		text += low + " to "
	}
	text += fixed(100*highest, 1) + nbsp + "%"
	if len(rows) > 1 {
		text += ", depending on the row,"
	}
	text += " could have gone unseen"
	if unknown > 0 {
		text += fmt.Sprintf(", and any in %s", count(unknown, "other row", "other rows"))
	}
	return text
}

// tooFewText is of samples whose p-values cannot be small enough.
func tooFewText(c Comparison, rows []CompareRow) string {
	r := rows[0]
	n, m := r.BaseSummary.N, r.NewSummary.N
	return fmt.Sprintf("Nothing can be shown: with %s against %d no change, however large, is significant in %s (the smallest possible p is %.3g, corrected %.3g); "+
		"take %d %ss a side, or compare fewer phases and metrics.",
		count(n, r.Unit, r.Unit+"s"), m, count(len(c.Rows), "comparison", "comparisons"),
		smallestP(n, m), min(1, smallestP(n, m)*float64(len(c.Rows))), r.SamplesToReach, r.Unit)
}

// limitNotes says which rows have too few samples to show the limit's change.
func limitNotes(c Comparison) []string {
	if c.FailAbove == nil {
		return nil
	}
	notes := unreachableNotes(c)
	var short []CompareRow
	for _, r := range c.Rows {
		if r.Result == Unshown && r.SamplesForLimit != 0 && (r.SamplesForLimit < 0 || min(r.BaseSummary.N, r.NewSummary.N) < r.SamplesForLimit) {
			short = append(short, r)
		}
	}
	if short == nil {
		return notes
	}
	slices.SortStableFunc(short, func(a, b CompareRow) int { return cmp.Compare(neededOrder(b), neededOrder(a)) })
	text := fmt.Sprintf("Too few samples to count on finding %s in %d of %s. It takes about:",
		limitText(c), len(short), count(len(c.Rows), "comparison", "comparisons"))
	for i, r := range short[:min(len(short), maxNamed)] {
		text += strings.Repeat(";", min(i, 1)) + " " + neededText(r)
	}
	if more := len(short) - maxNamed; more > 0 {
		text += fmt.Sprintf("; fewer in %d more", more)
	}
	return append(notes, text+".")
}

// unreachableNotes says in how many rows no regression could have been found,
// where there are others.
func unreachableNotes(c Comparison) []string {
	blind := 0
	for i := range c.Rows {
		if !c.Rows[i].canFail() {
			blind++
		}
	}
	if blind == 0 || blind == len(c.Rows) {
		return nil
	}
	return []string{fmt.Sprintf("In %d of %s no slow-down, however large, could have been above %s: too few samples, or figures without a ratio.",
		blind, count(len(c.Rows), "comparison", "comparisons"), limitText(c))}
}

func neededOrder(r CompareRow) int {
	if r.SamplesForLimit < 0 {
		return MaxSamples + 1
	}
	return r.SamplesForLimit
}

func neededText(r CompareRow) string {
	n := count(r.SamplesForLimit, r.Unit, r.Unit+"s")
	if r.SamplesForLimit < 0 {
		n = fmt.Sprintf("more than %d%s%ss", MaxSamples, nbsp, r.Unit)
	}
	return n + " a side in " + r.Name()
}
