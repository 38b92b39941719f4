package trend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// bestSplit finds the split of the largest figure; p is 1 where there is none.
func bestSplit(values []float64, offset int) split {
	best := split{offset, offset, 1}
	stretches := stretchesOf(len(values))
	for _, scores := range [][]float64{centredLogs(values), centredRanks(values)} {
		if found, p := testOrder(scores, stretches); p < best.p {
			at, other := found.ends(scores)
			best = split{offset + at, offset + other, p}
		}
	}
	best.p = min(1, 2*best.p)
	return best
}

// testOrder sets the order of the scores, whose sum is zero, against random ones.
func testOrder(scores []float64, stretches []stretch) (found stretch, p float64) {
	sums := make([]float64, len(scores)+1)
	found, own := largest(scores, stretches, sums)
	if own < 1e-9 {
		return found, 1
	}
	shuffled := slices.Clone(scores)
	rng := rand.New(rand.NewPCG(uint64(len(scores)), 1))
	above := 0
	for n := 1; n <= permutations; n++ {
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, x := largest(shuffled, stretches, sums); x >= own*(1-1e-9) {
			if above++; above == enough {
				return found, float64(enough) / float64(n)
			}
		}
	}
	return found, float64(above+1) / float64(permutations+1)
}

// A stretch is the nights from..to, set against all others. Its weight makes its sum
// one of equal spread for all stretches.
type stretch struct {
	from, to int
	weight   float64
}

// stretchesOf are those of n nights, none where they are too few. Lengths above
// exactLengths grow by a tenth but for stretches that reach an end, so that a year of
// nights takes no longer than it must.
func stretchesOf(n int) []stretch {
	const exactLengths = 24
	var all []stretch
	add := func(from, to int) {
		length := float64(to - from)
		all = append(all, stretch{from, to, math.Sqrt(float64(n) / (length * (float64(n) - length)))})
	}
	for to := minLevel; to <= n-minLevel; to++ {
		add(0, to) // the rest is the stretch that reaches the other end
	}
	for length := minLevel; length <= n-2*minLevel; length += max(1, (length-exactLengths)/10) {
		for from := minLevel; from+length <= n-minLevel; from++ {
			add(from, from+length)
		}
	}
	return all
}

// ends returns the clearer end of the stretch and the other one.
func (s stretch) ends(scores []float64) (at, other int) {
	if s.from == 0 {
		return s.to, s.to
	}
	before, within, after := scores[:s.from], scores[s.from:s.to], scores[s.to:]
	if difference(before, within) >= difference(within, after) {
		return s.from, s.to
	}
	return s.to, s.from
}

// difference is that of the means, in its standard deviations but for a factor.
func difference(a, b []float64) float64 {
	mean := func(x []float64) float64 {
		var sum float64
		for _, v := range x {
			sum += v
		}
		return sum / float64(len(x))
	}
	return math.Abs(mean(a)-mean(b)) / math.Sqrt(1/float64(len(a))+1/float64(len(b)))
}

// largest is the stretch with the largest figure. sums is room for the scores' running
// sums.
func largest(scores []float64, stretches []stretch, sums []float64) (found stretch, figure float64) {
	for i, x := range scores {
		sums[i+1] = sums[i] + x
	}
	at := -1
	for i := range stretches {
		s := &stretches[i]
		if x := math.Abs(sums[s.to]-sums[s.from]) * s.weight; x > figure {
			at, figure = i, x
		}
	}
	if at < 0 {
		return stretch{}, 0
	}
	return stretches[at], figure
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
