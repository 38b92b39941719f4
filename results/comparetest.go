package results

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Up to these sizes of both samples p-values are exact, without and with ties;
// above, benchmath takes the normal approximation (MannWhitneyExactLimit and
// MannWhitneyTiesExactLimit of go-moremath).
const (
	exactLimit     = 50
	exactTiesLimit = 25
)

// mannWhitney returns the two-sided p-value of the Mann-Whitney test, 1 where all
// values are equal. Without ties it is benchmath's. With ties and samples of
// different sizes that takes one tail of an asymmetric distribution twice, to the
// point of p = 0 for {2, 2, 3} and {0, 0} where 0.1 is right, so those are counted
// here.
func mannWhitney(base, new []float64) float64 {
	x, y := sortedCopy(base), sortedCopy(new)
	ranks, ties := doubledRanks(x, y)
	if ties && max(len(x), len(y)) <= exactTiesLimit {
		return tiedP(ranks, len(x), len(y))
	}
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(x, &benchmath.DefaultThresholds), benchmath.NewSample(y, &benchmath.DefaultThresholds))
	return min(c.P, 1)
}

// doubledRanks returns twice the rank of each value among all, those of x first;
// equal values share the middle of their ranks.
func doubledRanks(x, y []float64) (ranks []int, ties bool) {
	all := slices.Concat(x, y)
	order := sortedCopy(all)
	for _, v := range all {
		first, _ := slices.BinarySearch(order, v)
		last := first
		for last+1 < len(order) && order[last+1] == v {
			last++
		}
		ties = ties || last > first
		ranks = append(ranks, first+last+2)
	}
	return ranks, ties
}

// tiedP counts the ways to choose the smaller sample from all ranks whose sum is
// at least as far from the expected one as that observed (the shift algorithm of
// B. Streitberg and J. Roehmel, Statistical Software Newsletter 12 (1986), 10-17).
func tiedP(ranks []int, n, m int) float64 {
	sample := ranks[:n]
	if m < n {
		n, sample = m, ranks[n:]
	}
	total, observed := 0, 0
	for _, r := range ranks {
		total += r
	}
	for _, r := range sample {
		observed += r
	}
	expected := n * (len(ranks) + 1)
	ways := subsetSums(ranks, n, total)
	var all, extreme float64
	for sum, w := range ways {
		all += w
		if distance(sum, expected) >= distance(observed, expected) {
			extreme += w
		}
	}
	return extreme / all
}

// subsetSums returns, by sum, how many subsets of n ranks have it.
func subsetSums(ranks []int, n, total int) []float64 {
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k > 0; k-- {
			for sum := total; sum >= r; sum-- {
				ways[k][sum] += ways[k-1][sum-r]
			}
		}
	}
	return ways[n]
}

func distance(a, b int) int { return max(a-b, b-a) }

// smallestP is the smallest two-sided p-value that samples of n and m values can
// have: that of all of one above all of the other, one way in
// binomial(n+m, n), twice.
func smallestP(n, m int) float64 {
	a, _ := math.Lgamma(float64(n + m + 1))
	b, _ := math.Lgamma(float64(n + 1))
	c, _ := math.Lgamma(float64(m + 1))
	return min(1, 2*math.Exp(b+c-a))
}

// direction says on which side the new samples lie by their ranks.
func direction(base, new []float64) Result {
	ranks, _ := doubledRanks(base, new)
	sum := 0
	for _, r := range ranks[:len(base)] {
		sum += r
	}
	switch expected := len(base) * (len(ranks) + 1); {
	case sum < expected:
		return Slower
	case sum > expected:
		return Faster
	}
	return Unshown
}
