package trend

import (
	"math"
	"math/rand/v2"
	"testing"

	"fibchurn/results"
)

// nights makes a series around 1 ms: level gives the factor of a night, spread is that
// of the logarithm. Every tenth night or so stands out, as on a machine with other work.
func nights(rng *rand.Rand, n int, spread float64, level func(night int) float64) Series {
	var s Series
	for i := range n {
		x := 1e6 * level(i) * math.Exp(spread*rng.NormFloat64())
		if rng.IntN(10) == 0 {
			x *= 1 + 5*spread*rng.ExpFloat64()
		}
		s.Points = append(s.Points, Point{Summary: results.Summary{N: 1, Median: x}})
	}
	return s
}

func flat(int) float64 { return 1 }

// Of pages on which nothing changed, at most one in twenty shows a change.
func TestFalsePositives(t *testing.T) {
	for _, of := range []struct{ nights, series int }{{8, 1}, {24, 1}, {24, 20}, {90, 2}} {
		const pages = 300
		rng := rand.New(rand.NewPCG(7, uint64(of.nights*1000+of.series)))
		wrong := 0
		for range pages {
			all := make([]Series, of.series)
			for i := range all {
				all[i] = nights(rng, of.nights, 0.03, flat)
			}
			Mark(all)
			for i := range all {
				if len(all[i].Changes) > 0 {
					wrong++
					break
				}
			}
		}
		// Three standard deviations of the count above what Alpha allows.
		if limit := pages*Alpha + 3*math.Sqrt(pages*Alpha*(1-Alpha)); float64(wrong) > limit {
			t.Errorf("%d series of %d nights: %d of %d pages without a change show one, limit %.0f", of.series, of.nights, wrong, pages, limit)
		}
		t.Logf("%d series of %d nights: %d of %d pages", of.series, of.nights, wrong, pages)
	}
}

// Planted changes are found where they are, in one of twenty series.
func TestPlantedChanges(t *testing.T) {
	for name, planted := range map[string]struct {
		at     []int
		ratios []float64
		level  func(int) float64
	}{
		"step":      {[]int{16}, []float64{1.2}, steps(1, 16, 1.2)},
		"step back": {[]int{9}, []float64{0.8}, steps(1, 9, 0.8)},
		"bump":      {[]int{10, 18}, []float64{1.3, 1 / 1.3}, steps(1, 10, 1.3, 18, 1)},
		"stairs":    {[]int{10, 20}, []float64{1.3, 1.3}, steps(1, 10, 1.3, 20, 1.69)},
	} {
		const pages = 30
		rng := rand.New(rand.NewPCG(11, 1))
		found, right := 0, 0
		for range pages {
			all := make([]Series, 20)
			for i := range all {
				level := flat
				if i == 7 {
					level = planted.level
				}
				all[i] = nights(rng, 30, 0.03, level)
			}
			Mark(all)
			if matches(all[7].Changes, planted.at, planted.ratios) {
				found++
			}
			others := 0
			for i := range all {
				if i != 7 {
					others += len(all[i].Changes)
				}
			}
			if others == 0 {
				right++
			}
		}
		t.Logf("%s: found on %d of %d pages, nothing else on %d", name, found, pages, right)
		if found < 24 || right < 24 {
			t.Errorf("%s: found on %d of %d pages, nothing else marked on %d", name, found, pages, right)
		}
	}
}

// steps is a level, and then nights from which on another one holds.
func steps(first float64, then ...float64) func(int) float64 {
	return func(night int) float64 {
		level := first
		for i := 0; i < len(then); i += 2 {
			if float64(night) >= then[i] {
				level = then[i+1]
			}
		}
		return level
	}
}

func matches(changes []Change, at []int, ratios []float64) bool {
	if len(changes) != len(at) {
		return false
	}
	for i, c := range changes {
		if d := c.Index - at[i]; d < -1 || d > 1 || math.Abs(math.Log(c.Ratio()/ratios[i])) > 0.06 {
			return false
		}
	}
	return true
}

// A night or two that stand out are no change of level, nor is a series of one value
// or one that is too short.
func TestNoLevel(t *testing.T) {
	for name, values := range map[string][]float64{
		"outliers":  {5, 5.1, 5, 4.9, 5, 50, 5.2, 5, 5.1, 4.9, 5, 70, 5.2, 5, 4.8, 5.1},
		"one value": {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
		"short":     {1, 1, 1, 9, 9},
		"six":       {1, 1.1, 1.2, 9, 9.1, 9.2},
		"none":      {},
	} {
		s := []Series{{}}
		for _, v := range values {
			s[0].Points = append(s[0].Points, Point{Summary: results.Summary{N: 1, Median: v}})
		}
		Mark(s)
		if len(s[0].Changes) != 0 {
			t.Errorf("%s: %+v", name, s[0].Changes)
		}
	}
	Mark(nil)
}

// The statistic is that of the formula, with ties, and the split the one before the
// first night of the new level.
func TestSplit(t *testing.T) {
	s := bestSplit([]float64{1, 2, 1, 2, 1, 9, 8, 9, 8, 9}, 100)
	if s.at != 105 {
		t.Errorf("split at %d", s.at)
	}
	// Two of the 252 equally likely orders of low and high are as far apart, 0.0079, which
	// is doubled; stretches with both ends in the middle come near.
	if s.p < 0.014 || s.p > 0.06 {
		t.Errorf("p %g", s.p)
	}
	if got := centredRanks([]float64{3, 1, 3, 2}); got[0] != 1 || got[1] != -1.5 || got[2] != 1 || got[3] != -0.5 {
		t.Errorf("ranks %v", got)
	}
	if level := benjaminiHochberg([]float64{0.9, 0.01, 0.02, 0.03}, 0.05); math.Abs(level-0.05*3/4) > 1e-9 {
		t.Errorf("level %g", level)
	}
	if level := benjaminiHochberg([]float64{0.9, 0.8}, 0.05); level >= 0 {
		t.Errorf("level %g", level)
	}
}
