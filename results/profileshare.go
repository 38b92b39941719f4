package results

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// A portion is how much of a phase's samples something has.
type portion struct {
	samples int64
	of      float64 // fraction
	lo, hi  float64 // 95 % interval
}

// A symbolShare is the share of a function itself, without those it called.
type symbolShare struct {
	symbol string
	portion
}

// A phaseShares is one phase of one cell's profiled runs, taken together.
type phaseShares struct {
	phase    string
	runs     int   // profiled runs that have the phase
	clusters int   // boots where they are of several, else runs
	samples  int64 // that fell into it
	symbols  []symbolShare
	tallies  []tally
}

// A tally counts the samples of one cluster: of a run, or of all runs of a boot.
type tally struct {
	all      int64
	bySymbol map[string]int64
}

// leafOf is the function that a stack ends in.
func leafOf(frames string) string { return frames[strings.LastIndexByte(frames, ';')+1:] }

// profilePhases returns the names of the phases that the runs' profiles have, in the
// order of the records.
func profilePhases(runs []Run) []string {
	var names []string
	for i := range runs {
		for _, p := range runs[i].Profile.Phases {
			if !slices.Contains(names, p.Phase) {
				names = append(names, p.Phase)
			}
		}
	}
	return names
}

// profileOf returns the run's profile of a phase, nil where it has none.
func (r *Run) profileOf(phase string) *PhaseProfile {
	if r.Profile == nil {
		return nil
	}
	for i := range r.Profile.Phases {
		if p := &r.Profile.Phases[i]; p.Phase == phase {
			return p
		}
	}
	return nil
}

// selfSamples counts the samples by the function that they were in. The total is that
// of the stacks.
func (p *PhaseProfile) selfSamples() (bySymbol map[string]int64, total int64) {
	bySymbol = map[string]int64{}
	for _, s := range p.Stacks {
		bySymbol[leafOf(s.Frames)] += s.Samples
		total += s.Samples
	}
	return bySymbol, total
}

// sharesOf takes the profiles of one phase together. Symbols are in the order of
// their samples, most first.
func sharesOf(runs []Run, phase string) phaseShares {
	s := phaseShares{phase: phase}
	byBoot := boots(runs) > 1
	clusters := map[string]int{}
	total := map[string]int64{}
	for i := range runs {
		p := runs[i].profileOf(phase)
		if p == nil {
			continue
		}
		s.runs++
		at, known := clusters[runs[i].Boot]
		if !known || !byBoot {
			at = len(s.tallies)
			clusters[runs[i].Boot] = at
			s.tallies = append(s.tallies, tally{bySymbol: map[string]int64{}})
		}
		symbols, samples := p.selfSamples()
		s.tallies[at].all, s.samples = plus(s.tallies[at].all, samples), plus(s.samples, samples)
		for symbol, n := range symbols {
			s.tallies[at].bySymbol[symbol], total[symbol] = plus(s.tallies[at].bySymbol[symbol], n), plus(total[symbol], n)
		}
	}
	s.clusters = len(s.tallies)
	for symbol := range total {
		s.symbols = append(s.symbols, symbolShare{symbol, s.shareOf(symbol)})
	}
	slices.SortFunc(s.symbols, func(a, b symbolShare) int {
		return cmp.Or(cmp.Compare(b.samples, a.samples), cmp.Compare(a.symbol, b.symbol))
	})
	return s
}

// clusterUnit is what the samples are clustered by.
func (s *phaseShares) clusterUnit() string {
	if s.clusters < s.runs {
		return UnitBoot
	}
	return UnitRun
}

// shareOf is the share of some symbols together.
func (s *phaseShares) shareOf(symbols ...string) portion {
	var part, all []float64
	for _, t := range s.tallies {
		var n int64
		for _, symbol := range symbols {
			n = plus(n, t.bySymbol[symbol])
		}
		part, all = append(part, float64(n)), append(all, float64(t.all))
	}
	return shareFrom(part, all)
}

// shareFrom estimates the share of part in all from their numbers of samples in each
// cluster.
//
// Samples of one run lie closer together than those of different runs do: they share
// its memory layout and what else went on. From MinRuns clusters on, the interval
// therefore is that of Korn and Graubard: the exact one of Clopper and Pearson for as
// many independent samples as would vary as much as the clusters do, but never more
// than there are (E. L. Korn, B. I. Graubard, Confidence Intervals for Proportions
// With Small Expected Number of Positive Counts Estimated From Survey Data, Survey
// Methodology 24 (1998), 193-201; the variance is that of a ratio of totals, W. G.
// Cochran, Sampling Techniques, 3rd edition 1977, section 9A.1). From fewer it is that
// of Clopper and Pearson, which takes all samples for independent.
func shareFrom(part, all []float64) portion {
	var k, n float64
	for i := range all {
		k, n = k+part[i], n+all[i]
	}
	s := portion{samples: int64(k), of: math.NaN(), lo: 0, hi: 1}
	if n == 0 {
		return s
	}
	s.of = k / n
	independent := n
	if m := float64(len(all)); len(all) >= MinRuns && k > 0 && k < n {
		var squares float64
		for i := range all {
			d := part[i] - s.of*all[i]
			squares += d * d
		}
		if variance := m / (m - 1) * squares / (n * n); variance > 0 {
			t := studentQuantile(n-1) / studentQuantile(m-1)
			independent = min(n, s.of*(1-s.of)/variance*t*t)
		}
	}
	s.lo, s.hi = clopperPearson(s.of*independent, independent)
	return s
}

func studentQuantile(freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile((1 + Confidence) / 2)
}

// clopperPearson bounds a share of which k of n independent samples were found (C. J.
// Clopper, E. S. Pearson, Biometrika 26 (1934), 404-413). They need not be whole.
func clopperPearson(k, n float64) (lo, hi float64) {
	const tail = (1 - Confidence) / 2
	lo, hi = 0, 1
	if k > 0 {
		lo = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(tail)
	}
	if k < n {
		hi = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(1 - tail)
	}
	return lo, hi
}
