package results

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// Power is the share of comparisons, at least, that show a change of the size that
// a row calls detectable.
const Power = 0.8

// aimedPower is the share that the detector reckons with: samples are not of quite
// the shape it takes them for, and the spread is itself an estimate.
const aimedPower = 0.87

// outlierShare is how many samples the detector takes for outliers, longer than
// all others. It matters most for the smallest samples, whose p-values are small
// enough only where no sample at all is out of place.
const outlierShare = 0.01

// farOut is how far, in standard deviations: further than any other sample.
const farOut = 1000

// MaxSamples is the largest number of samples a side that is ever asked for.
const MaxSamples = 1000

// A detector knows how large a change must be, in standard deviations of the
// logarithm, for samples of given sizes to show it with a probability of aimedPower.
//
// Up to exactLimit samples it simulates: the formula of Noether is far off for
// small samples (K. R. Mollan et al., Precise and Accurate Power of the Rank-Sum
// Test for a Continuous Outcome, Journal of Biopharmaceutical Statistics 30
// (2020), 639-648), and there the exact test is cheap. Above, it takes that
// formula (G. E. Noether, Sample Size Determination for Some Common Nonparametric
// Tests, JASA 82 (1987), 645-647). Samples are taken to be log-normal but for
// outlierShare of them.
type detector struct {
	alpha float64 // of one row, after correction
	known map[[2]int]float64
}

func newDetector(alpha float64) *detector { return &detector{alpha, map[[2]int]float64{}} }

// mostDetectable is the largest change that is spoken of, as a fraction: where it
// takes more than 11 times as long to be found, the samples say nothing.
const mostDetectable = 10

// detectable returns the change as a fraction of base; +Inf where there is none up to
// mostDetectable, NaN where the spread (logSpread) is not known.
func (d *detector) detectable(n, m int, spread float64) float64 {
	if !(spread > 0) {
		return math.NaN()
	}
	if change := math.Expm1(d.shift(n, m) * spread); change <= mostDetectable {
		return change
	}
	return math.Inf(1)
}

// samplesFor returns how many samples a side show a change of that fraction: 0
// where the spread is not known, -1 for more than MaxSamples.
func (d *detector) samplesFor(change, spread float64) int {
	switch {
	case !(spread > 0):
		return 0
	case !(change > 0):
		return -1
	}
	n := 1 + sort.Search(MaxSamples, func(i int) bool { return d.detectable(i+1, i+1, spread) <= change })
	if n > MaxSamples {
		return -1
	}
	return n
}

// shift returns the change in standard deviations.
func (d *detector) shift(n, m int) float64 {
	key := [2]int{min(n, m), max(n, m)}
	s, ok := d.known[key]
	if !ok {
		s = d.compute(key[0], key[1])
		d.known[key] = s
	}
	return s
}

func (d *detector) compute(n, m int) float64 {
	if m > exactLimit {
		z := normalQuantile(1-d.alpha/2) + normalQuantile(aimedPower)
		above := z * math.Sqrt(float64(n+m)/(12*float64(n)*float64(m))) // P(new > base) - 1/2
		above = 0.5 + above/math.Pow(1-outlierShare, 2)                 // of those that are no outliers
		if above >= 1 {
			return math.Inf(1)
		}
		return math.Sqrt2 * normalQuantile(above)
	}
	k := criticalRank(n, m, d.alpha/2)
	if k == 0 {
		return math.Inf(1)
	}
	return simulatedShift(n, m, k)
}

// simulatedShift draws pairs of equal samples. New ones that are shifted by d are
// significantly larger once fewer than k pairs have a base value above: where d is
// the k-th largest difference of base and new or more. That being the smallest
// shift that this draw would show, the answer is its quantile over the draws.
func simulatedShift(n, m, k int) float64 {
	const draws = 2000
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m))) // the same answer every time
	base, new := make([]float64, n), make([]float64, m)
	smallest := make([]float64, draws)
	for i := range smallest {
		drawSorted(rng, base)
		drawSorted(rng, new)
		smallest[i] = kthShift(new, base, n*m+1-k)
	}
	slices.Sort(smallest)
	s := smallest[int(math.Ceil(draws*aimedPower))-1]
	if s > farOut/2 {
		return math.Inf(1) // only a change as large as the outliers
	}
	return max(0, s)
}

// drawSorted fills values with a sorted sample of the standard normal distribution
// with outliers.
func drawSorted(rng *rand.Rand, values []float64) {
	for i := range values {
		values[i] = rng.NormFloat64()
		if rng.Float64() < outlierShare {
			values[i] += farOut
		}
	}
	slices.Sort(values)
}

// The spread is read off the distance that this share of values lies within. The
// MAD, the distance of half of them, sees one of two levels only where a machine
// changes between them (a clock's speed, a neighbour on the host), and promised
// four times out of five what was found in two.
const spreadShare = 0.9

// logSpread estimates the standard deviation of the logarithm of a sample's
// values, which for some percent is the relative standard deviation: from the
// distances of both sides, each about its own median, which few outliers do not
// move. It is one standard error above the estimate, so that few samples do not
// promise too much. It is NaN where a value is not above zero, and where one side
// has one value only.
func logSpread(base, new []float64) float64 {
	if !allPositive(base) || !allPositive(new) || min(len(base), len(new)) < 2 {
		return math.NaN()
	}
	var distances []float64
	for _, side := range [][]float64{base, new} {
		l := logarithms(side)
		center := Summarize(l).Median
		for _, v := range l {
			distances = append(distances, math.Abs(v-center))
		}
	}
	slices.Sort(distances)
	n := float64(len(distances))
	// Residuals of small samples are too small; by simulation this factor is within
	// 5 % from 3 values a side on, and the standard error is 0.9 in the root of n.
	unbiased := stat.Quantile(spreadShare, stat.LinInterp, distances, nil) / normalQuantile((1+spreadShare)/2) * n / (n - 1.4)
	return unbiased * (1 + 0.9/math.Sqrt(n))
}
