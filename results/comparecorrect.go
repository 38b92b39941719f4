package results

import (
	"cmp"
	"slices"
)

// Correction names the correction for the number of rows.
const Correction = "Holm"

// correct sets the corrected p-values and the results of rows, which are all the
// comparisons that one answer rests on.
//
// The correction is Holm's (S. Holm, A Simple Sequentially Rejective Multiple Test
// Procedure, Scandinavian Journal of Statistics 6 (1979), 65-70): the chance that
// any row of equals is flagged is at most alpha, whatever the dependence between
// rows, and wall and CPU time of one phase depend on each other much.
// Benjamini-Hochberg would bound the share of false alarms among the flagged rows
// instead, where one false alarm is enough to fail a build.
func correct(rows []CompareRow, alpha float64) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].P, rows[b].P) })
	highest := 0.0
	for step, i := range order {
		r := &rows[i]
		highest = max(highest, min(1, r.P*float64(len(rows)-step)))
		r.Corrected = highest
		r.Result = Unshown
		if r.Corrected <= alpha {
			r.Result = direction(r.base, r.new)
		}
	}
	markReachable(rows, alpha)
}

// markReachable says for each row whether the largest change could pass: with
// every row that can have a smaller p-value out of the way.
func markReachable(rows []CompareRow, alpha float64) {
	smallest := make([]float64, len(rows))
	for i, r := range rows {
		smallest[i] = smallestP(len(r.base), len(r.new))
	}
	for i := range rows {
		before := 0
		for _, p := range smallest {
			if p < smallest[i]*(1-1e-9) {
				before++
			}
		}
		rows[i].Reachable = smallest[i]*float64(len(rows)-before) <= alpha*(1+1e-9)
	}
}

// samplesToReach is the smallest number of samples a side whose smallest p-value
// is at most alpha.
func samplesToReach(alpha float64) int {
	n := 1
	for smallestP(n, n) > alpha {
		n++
	}
	return n
}
