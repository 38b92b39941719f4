package trend

import (
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
// Of a series, every stretch of nights is set against the nights around it, as circular
// binary segmentation does (A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler,
// Biostatistics 5 (2004), 557-572), such that a level that goes back is seen too. The
// figure of the series is the largest difference of the two means, divided by its
// standard deviation, that leaves minLevel nights everywhere. Its p is the share of
// random orders of the same nights whose figure is as large. That is done with the
// logarithms, which show a clear step of a few nights, and with the ranks, in which a
// night that stands out weighs no more than another; the smaller p counts, doubled.
// Over all series Benjamini and Hochberg's procedure keeps the share of false ones
// among the marked at Alpha at most (JRSS B 57 (1995), 289-300), and with it the chance
// of any mark where nothing changed. What is marked is split at the clearer end of the
// stretch, and both parts are tested again at the level that procedure came to; for the
// other end of the stretch Alpha is enough.
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

// A split of nights into those before index at and those from there on. other is the
// other end of the stretch that it is an end of, the same where there is none.
type split struct {
	at, other int
	p         float64
}

// segment returns the split and those within its parts, in order.
func segment(values []float64, offset int, s split, level float64) []split {
	part := func(values []float64, offset int) []split {
		inner := bestSplit(values, offset)
		near := s.other != s.at && max(inner.at-s.other, s.other-inner.at) <= 1
		if inner.p <= level || near && inner.p <= Alpha {
			return segment(values, offset, inner, level)
		}
		return nil
	}
	found := append(part(values[:s.at-offset], offset), s)
	return append(found, part(values[s.at-offset:], s.at)...)
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
