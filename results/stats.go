package results

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every confidence interval of this package. The
// intervals are made of order statistics, so their actual level is somewhat
// higher (Summary.Confidence).
const Confidence = 0.95

// MinRuns is the size of the smallest sample whose median has a confidence
// interval at that level: all n values lie on one side of the true median with
// probability 2^(1-n), which is 6.25 % for 5 and 3.1 % for 6.
const MinRuns = 6

// A Summary describes a sample without assuming a distribution. Its figures
// are in the unit of the values.
type Summary struct {
	N      int // values
	Median float64
	// Lo and Hi bound the confidence interval of the median; -Inf and +Inf where
	// the sample is too small for one.
	Lo, Hi     float64
	Confidence float64 // actual level of the interval, in [0, 1]
	// MAD is the median absolute deviation from the median, not scaled to a
	// standard deviation, as the kernel's benchmark modules print it.
	MAD      float64
	Min, Max float64
	Warnings []error // reasons to doubt the summary
}

// HasInterval reports whether the sample was large enough for an interval.
func (s Summary) HasInterval() bool {
	return s.N > 0 && !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0)
}

// Summarize summarises values, which it does not change. Of no values every
// figure is NaN.
func Summarize[T ~int64 | ~float64](values []T) Summary {
	if len(values) == 0 {
		nan := math.NaN()
		return Summary{Median: nan, Lo: math.Inf(-1), Hi: math.Inf(1), MAD: nan, Min: nan, Max: nan,
			Warnings: []error{errors.New("an empty sample")}}
	}
	sorted := make([]float64, len(values))
	for i, v := range values {
		sorted[i] = float64(v)
	}
	slices.Sort(sorted)
	b := benchmath.AssumeNothing.Summary(benchmath.NewSample(sorted, &benchmath.DefaultThresholds), Confidence)
	s := Summary{N: len(sorted), Median: b.Center, Lo: b.Lo, Hi: b.Hi, Confidence: b.Confidence,
		MAD: mad(sorted, b.Center), Min: sorted[0], Max: sorted[len(sorted)-1]}
	if !s.HasInterval() {
		// One bound can be finite, which is no interval of this level either.
		s.Lo, s.Hi, s.Confidence = math.Inf(-1), math.Inf(1), 1
		s.Warnings = append(s.Warnings, fmt.Errorf("%d values are too few for a %.0f %% interval, which takes at least %d", s.N, 100*Confidence, MinRuns))
	}
	return s
}

// mad returns the median distance of the values from center.
func mad(values []float64, center float64) float64 {
	d := make([]float64, len(values))
	for i, v := range values {
		d[i] = math.Abs(v - center)
	}
	slices.Sort(d)
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
