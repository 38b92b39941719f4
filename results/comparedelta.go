package results

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// A Delta is how much larger the new figures are than the base's.
//
// It is the Hodges-Lehmann estimate: the median over all pairs of a new and a
// base sample, of their ratio less 1 (costs change by factors), or of their
// difference in ns where a figure is not above zero. Its interval inverts the
// Mann-Whitney test (Moses): it holds what that test would not reject, so that a
// table cannot contradict its own p-values, it is exact for small samples, where
// a bootstrap of the ratio of medians has but a few values to draw from, and it
// needs no seed. See M. Hollander and D. A. Wolfe, Nonparametric Statistical
// Methods, 2nd edition 1999, sections 4.2 and 4.3; D. F. Bauer, Constructing
// Confidence Sets Using Rank Statistics, JASA 67 (1972), 687-690.
type Delta struct {
	Estimate float64
	// Lo and Hi bound the 95 % confidence interval of this delta alone; -Inf and
	// +Inf where the samples are too few for one.
	Lo, Hi   float64
	Relative bool // fractions of base; else ns
}

// HasInterval reports whether the samples were enough for an interval.
func (d Delta) HasInterval() bool { return !math.IsInf(d.Lo, 0) && !math.IsInf(d.Hi, 0) }

// deltaOf takes samples of at least one value each.
func deltaOf(base, new []float64) Delta {
	return shift(base, new, allPositive(base) && allPositive(new))
}

// differenceOf is the delta as a difference, also where there is a ratio.
func differenceOf(base, new []float64) Delta { return shift(base, new, false) }

func shift(base, new []float64, relative bool) Delta {
	d := Delta{Lo: math.Inf(-1), Hi: math.Inf(1), Relative: relative}
	x, y := sortedCopy(base), sortedCopy(new)
	of := func(shift float64) float64 { return shift }
	if d.Relative {
		x, y, of = logarithms(x), logarithms(y), math.Expm1
	}
	pairs := len(x) * len(y)
	d.Estimate = of((kthShift(x, y, (pairs+1)/2) + kthShift(x, y, pairs/2+1)) / 2)
	if k := criticalRank(len(x), len(y), (1-Confidence)/2); k > 0 {
		d.Lo, d.Hi = of(kthShift(x, y, k)), of(kthShift(x, y, pairs+1-k))
	}
	return d
}

func allPositive(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) })
}

func sortedCopy(values []float64) []float64 {
	s := slices.Clone(values)
	slices.Sort(s)
	return s
}

func logarithms(values []float64) []float64 {
	l := make([]float64, len(values))
	for i, v := range values {
		l[i] = math.Log(v)
	}
	return l
}

// kthShift returns the k-th smallest (from 1) of the differences y[j] - x[i],
// both sorted, without making the list of all: it bisects for a bound below
// which k-1 or fewer lie, close enough that the next difference is the one.
func kthShift(x, y []float64, k int) float64 {
	lo, hi := y[0]-x[len(x)-1], y[len(y)-1]-x[0]
	if shiftsUpTo(x, y, lo) >= k {
		return lo
	}
	for tiny := (hi - lo) * 1e-13; hi-lo > tiny; {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if shiftsUpTo(x, y, mid) >= k {
			hi = mid
		} else {
			lo = mid
		}
	}
	return nextShift(x, y, lo)
}

// shiftsUpTo counts the differences y[j] - x[i] of at most t.
func shiftsUpTo(x, y []float64, t float64) int {
	n, j := 0, 0
	for i := range x {
		for j < len(y) && y[j]-x[i] <= t {
			j++
		}
		n += j
	}
	return n
}

// nextShift returns the smallest difference above t.
func nextShift(x, y []float64, t float64) float64 {
	next, j := math.Inf(1), 0
	for i := range x {
		for j < len(y) && y[j]-x[i] <= t {
			j++
		}
		if j < len(y) {
			next = min(next, y[j]-x[i])
		}
	}
	return next
}

// criticalRank returns the largest k such that the Mann-Whitney statistic of
// samples of n and m values without ties is below k with a probability of at most
// tail; 0 where there is none. Above the limit to which benchmath computes it
// exactly it is the normal approximation with its correction for continuity.
func criticalRank(n, m int, tail float64) int {
	mu := float64(n) * float64(m) / 2
	sigma := math.Sqrt(float64(n) * float64(m) * float64(n+m+1) / 12)
	k := max(0, int(math.Floor(mu+normalQuantile(tail)*sigma+0.5)))
	if n > exactLimit || m > exactLimit {
		return k
	}
	u := stats.UDist{N1: n, N2: m}
	for k > 0 && u.CDF(float64(k-1)) > tail {
		k--
	}
	for u.CDF(float64(k)) <= tail {
		k++
	}
	return k
}

// normalQuantile is the inverse of the standard normal distribution function.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
