package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Growth says how the time of something grows with the size of a table: as
// size^Exponent. 1 is linear, 2 quadratic.
type Growth struct {
	Exponent float64
	Lo, Hi   float64 // 95 % interval
	Factor   float64 // time of a size of 1, by the fit
	Sizes    int     // different sizes it was fitted to
}

// minSizes is how many different sizes a fit takes: through two every exponent
// goes, whether the cost follows a power of the size or not.
const minSizes = 3

// minRunsOfSize is how many runs a size takes to enter a fit: from one run a size
// nobody can tell the spread of the runs from a cost that is no power of the size.
const minRunsOfSize = 2

// FitGrowth fits a power law to the times of tables of given sizes, both above
// zero, by least squares on their logarithms. The interval is Student's for the
// slope; it takes the runs as independent and the spread of the logarithms as the
// same at every size. It reports whether there are enough sizes.
func FitGrowth(sizes, times []float64) (Growth, bool) {
	distinct := slices.Clone(sizes)
	slices.Sort(distinct)
	g := Growth{Sizes: len(slices.Compact(distinct))}
	if g.Sizes < minSizes {
		return g, false
	}
	x, y := logs(sizes), logs(times)
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	var squares float64
	for i := range x {
		r := y[i] - intercept - slope*x[i]
		squares += r * r
	}
	freedom := float64(len(x) - 2)
	spread := stat.Variance(x, nil) * float64(len(x)-1)
	deviation := math.Sqrt(squares / freedom / spread)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile((1 + Confidence) / 2)
	g.Factor = math.Exp(intercept)
	g.Exponent, g.Lo, g.Hi = slope, slope-t*deviation, slope+t*deviation
	return g, true
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// A PhaseGrowth is how the wall time of a phase goes with the number of subnets or
// routes that it works on.
type PhaseGrowth struct {
	Phase        string
	Sizes, Times []float64 // of each run, in ns
	Fit          Growth
	Fitted       bool // there were enough sizes
}

// growths takes every phase that works on a number of subnets or routes. Cells of
// several writers do not enter, nor those of too few runs.
func growths(b block) []PhaseGrowth {
	var all []PhaseGrowth
	for _, phase := range PhaseNames(b.samples()) {
		g := PhaseGrowth{Phase: phase}
		for _, c := range b.cells {
			if writersOf(&c) != 1 || len(c.runs) < minRunsOfSize {
				continue
			}
			for i := range c.runs {
				if p := c.runs[i].Phase(phase); p != nil && p.Subnets > 0 && p.Wall > 0 {
					g.Sizes, g.Times = append(g.Sizes, float64(p.Subnets)), append(g.Times, float64(p.Wall))
				}
			}
		}
		if len(g.Sizes) > 0 {
			g.Fit, g.Fitted = FitGrowth(g.Sizes, g.Times)
			all = append(all, g)
		}
	}
	return all
}

// growthSentences says of every phase how its time grows with the number of
// subnets or routes it works on.
func growthSentences(b block, of string) []string {
	var parts []string
	sizes := 0
	for _, g := range growths(b) {
		if g.Fitted {
			sizes = g.Fit.Sizes
			parts = append(parts, fmt.Sprintf("%s as n^%.2f (%.2f to %.2f)", g.Phase, g.Fit.Exponent, g.Fit.Lo, g.Fit.Hi))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("With the number n of %s the time grows, fitted to %d sizes, with 95 %% intervals: %s.", of, sizes, strings.Join(parts, ", "))}
}
