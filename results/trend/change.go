package trend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"fibchurn/results"
)

// A Change is where a series goes from one level to another.
type Change struct {
	Index         int     // first point of the new level
	Before, After float64 // medians of the levels on both sides, as far as the next changes
	P             float64 // of the test that found it, not corrected
}

// Ratio is how many times the level before that after is.
func (c Change) Ratio() float64 { return c.After / c.Before }

const (
	// Alpha bounds the share of the marked series that did not change (Mark).
	Alpha = 0.05
	// minLevel is how many nights a level takes: one or two that stand out are told by
	// their points.
	minLevel = 3
	// permutations bound the least p, 1 / (permutations + 1).
	permutations = 9999
	// enough is how many permutations above the series' own figure end the search: it
	// is no change then. J. Besag, P. Clifford, Sequential Monte Carlo p-values,
	// Biometrika 78 (1991), 301-304.
	enough = 20
)

// Mark finds the changes of every series.
//
// The nights before and after every night are compared, in the whole series and in
// shorter stretches of it, such that a level that goes back is seen too (the seeded
// intervals of S. Kovacs, P. Buehlmann, H. Li, A. Munk, Seeded binary segmentation,
// Biometrika 110 (2023), 249-256). The figure of a series is the largest difference of
// two means, each divided by its standard deviation, that leaves minLevel nights on
// both sides. Its p is the share of random orders of the same nights whose figure is as
// large. That is done with the logarithms, which show a clear step of a few nights, and
// with the ranks, in which a night that stands out weighs no more than another; the
// smaller p counts, doubled. Over all series Benjamini and Hochberg's procedure keeps
// the share of false ones among the marked at Alpha at most (JRSS B 57 (1995),
// 289-300), and with it the chance of any mark where nothing changed. What is marked is
// split there, and both sides are tested again at the level that procedure came to.
//
// It takes the nights of a level as exchangeable: a slow drift is found as steps. The
// random orders are the same in every call.
func Mark(all []Series) {
	first := make([]split, len(all))
	var p []float64
	for i := range all {
		first[i] = bestSplit(all[i].Medians(), 0)
		p = append(p, first[i].p)
	}
	level := benjaminiHochberg(p, Alpha)
	for i := range all {
		if first[i].p > level {
			continue
		}
		all[i].Changes = levels(all[i].Medians(), segment(all[i].Medians(), 0, first[i], level))
	}
}

// A split of nights into those before index at and those from there on.
type split struct {
	at int
	p  float64
}

// segment returns the split and those within its parts, in order.
func segment(values []float64, offset int, s split, level float64) []split {
	if s.p > level {
		return nil
	}
	left, right := values[:s.at-offset], values[s.at-offset:]
	found := segment(left, offset, bestSplit(left, offset), level)
	found = append(found, s)
	return append(found, segment(right, s.at, bestSplit(right, s.at), level)...)
}

// levels describes what lies between the splits.
func levels(values []float64, splits []split) []Change {
	bounds := []int{0}
	for _, s := range splits {
		bounds = append(bounds, s.at)
	}
	bounds = append(bounds, len(values))
	median := func(i int) float64 { return results.Summarize(values[bounds[i]:bounds[i+1]]).Median }
	var changes []Change
	for i, s := range splits {
		changes = append(changes, Change{Index: s.at, Before: median(i), After: median(i + 1), P: s.p})
	}
	return changes
}

// bestSplit finds the split of the largest figure; p is 1 where there is none.
func bestSplit(values []float64, offset int) split {
	candidates := candidatesOf(len(values))
	best := split{offset, 1}
	if candidates == nil {
		return best
	}
	for _, scores := range [][]float64{centredLogs(values), centredRanks(values)} {
		if s := testOrder(scores, candidates); s.p < best.p {
			best = split{offset + s.at, s.p}
		}
	}
	best.p = min(1, 2*best.p)
	return best
}

// testOrder sets the order of the scores against random ones.
func testOrder(scores []float64, candidates []candidate) split {
	sums := make([]float64, len(scores)+1)
	at, own := largest(scores, candidates, sums)
	if own == 0 {
		return split{0, 1}
	}
	shuffled := slices.Clone(scores)
	rng := rand.New(rand.NewPCG(uint64(len(scores)), 1))
	above := 0
	for n := 1; n <= permutations; n++ {
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, x := largest(shuffled, candidates, sums); x >= own*(1-1e-9) {
			if above++; above == enough {
				return split{at, float64(enough) / float64(n)}
			}
		}
	}
	return split{at, float64(above+1) / float64(permutations+1)}
}

// centredLogs are the logarithms of the values less their mean.
func centredLogs(values []float64) []float64 {
	logs := make([]float64, len(values))
	var sum float64
	for i, v := range values {
		logs[i] = math.Log(v)
		sum += logs[i]
	}
	for i := range logs {
		logs[i] -= sum / float64(len(logs))
	}
	return logs
}

// A candidate compares the nights from..at with those of at..to. Weights make the
// difference of their means one of equal spread for all candidates.
type candidate struct {
	from, at, to  int
	before, after float64
}

// candidatesOf are the splits of all intervals, none where there are too few nights.
func candidatesOf(n int) []candidate {
	var all []candidate
	const decay = math.Sqrt2 // lengths of the layers; the authors' choice
	for layer := 0; ; layer++ {
		shrunk := math.Pow(decay, float64(layer))
		length := int(math.Ceil(float64(n) / shrunk))
		if length < 2*minLevel {
			return all
		}
		intervals := 2*int(math.Ceil(shrunk-1e-9)) - 1
		for i := range intervals {
			from := 0
			if intervals > 1 {
				from = int(float64(n-length) * float64(i) / float64(intervals-1))
			}
			for at := from + minLevel; at <= from+length-minLevel; at++ {
				before, after := float64(at-from), float64(from+length-at)
				scale := math.Sqrt(before * after / (before + after))
				all = append(all, candidate{from, at, from + length, scale / before, scale / after})
			}
		}
	}
}

// largest is the candidate with the largest difference. sums is room for the ranks'
// running sums.
func largest(ranks []float64, candidates []candidate, sums []float64) (at int, figure float64) {
	for i, r := range ranks {
		sums[i+1] = sums[i] + r
	}
	for i := range candidates {
		c := &candidates[i]
		x := math.Abs((sums[c.at]-sums[c.from])*c.before - (sums[c.to]-sums[c.at])*c.after)
		if x > figure {
			at, figure = c.at, x
		}
	}
	return at, figure
}

// centredRanks are the values' ranks, ties at their mean, less the mean of all.
func centredRanks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1)/2 - float64(len(values)+1)/2
		}
		from = to
	}
	return ranks
}

// benjaminiHochberg returns the level up to which all are rejected, negative where
// none is.
func benjaminiHochberg(p []float64, alpha float64) float64 {
	sorted := slices.Clone(p)
	slices.Sort(sorted)
	for i := len(sorted) - 1; i >= 0; i-- {
		if level := alpha * float64(i+1) / float64(len(sorted)); sorted[i] <= level {
			return level
		}
	}
	return -1
}
