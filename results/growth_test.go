package results

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFitGrowth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, exponent := range []float64{0, 1, 1.5, 2} {
		inside := 0
		const tries = 400
		for range tries {
			var sizes, times []float64
			for _, n := range []float64{1e3, 1e4, 1e5, 1e6} {
				for range 5 {
					sizes = append(sizes, n)
					times = append(times, 250*math.Pow(n, exponent)*math.Exp(0.05*random.NormFloat64()))
				}
			}
			g, ok := FitGrowth(sizes, times)
			if !ok || math.Abs(g.Exponent-exponent) > 0.05 || g.Sizes != 4 {
				t.Fatalf("exponent %v: %+v, %v", exponent, g, ok)
			}
			const middle = 31623 // of the sizes: there the line is surest
			if at := g.Factor * math.Pow(middle, g.Exponent); math.Abs(math.Log(at/(250*math.Pow(middle, exponent)))) > 0.06 {
				t.Fatalf("exponent %v: the line is at %g: %+v", exponent, at, g)
			}
			if g.Lo <= exponent && exponent <= g.Hi {
				inside++
			}
		}
		if share := float64(inside) / tries; share < 0.91 || share > 0.99 {
			t.Errorf("exponent %v: the 95 %% interval holds it in %.1f %% of tries", exponent, 100*share)
		}
	}
	if _, ok := FitGrowth([]float64{1, 1, 2, 2}, []float64{1, 1, 2, 2}); ok {
		t.Error("a power law was fitted to two sizes")
	}
}
