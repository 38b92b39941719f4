package results

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// covered draws 1000 profiles of some runs of 400 samples each and counts the intervals
// that hold the share.
func covered(runs int, spread, truth float64) int {
	rng := rand.New(rand.NewPCG(uint64(runs), uint64(1000*spread)))
	held := 0
	for range 1000 {
		part, all := make([]float64, runs), make([]float64, runs)
		for i := range part {
			p := min(max(truth*(1+spread*rng.NormFloat64()), 0), 1)
			all[i] = 400
			part[i] = distuv.Binomial{N: 400, P: p, Src: rng}.Rand()
		}
		if s := shareFrom(part, all); s.lo <= truth && truth <= s.hi {
			held++
		}
	}
	return held
}

// Bounds that tables of Clopper and Pearson's intervals have.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct{ k, n, lo, hi float64 }{
		{0, 10, 0, 0.3085}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {50, 1000, 0.0373, 0.0654},
	} {
		if lo, hi := clopperPearson(c.k, c.n); math.Abs(lo-c.lo) > 1e-4 || math.Abs(hi-c.hi) > 1e-4 {
			t.Errorf("%g of %g: %.4f to %.4f, want %.4f to %.4f", c.k, c.n, lo, hi, c.lo, c.hi)
		}
	}
}

// The intervals of shares hold the truth in about 95 of 100 profiles, also where the
// runs differ more than their samples would; where the runs' spread is not looked at
// they would not.
func TestShareIntervalsCover(t *testing.T) {
	for _, c := range []struct {
		runs   int
		spread float64 // relative, of a run's share
		share  float64
		least  int // of 1000
	}{{10, 0, 0.2, 930}, {10, 0.15, 0.2, 920}, {10, 0, 0.01, 930}, {6, 0.15, 0.3, 920}, {3, 0, 0.2, 930}} {
		held := covered(c.runs, c.spread, c.share)
		if held < c.least {
			t.Errorf("%+v: %d of 1000 intervals hold the share", c, held)
		}
	}
	if held := covered(5, 0.15, 0.2); held > 920 {
		t.Errorf("fewer runs than take their spread into account: %d of 1000 hold the share; the warning is not needed", held)
	}
}
