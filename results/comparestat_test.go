package results

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
)

// permutationP tries every way to choose the base from all values: slow and
// obvious.
func permutationP(base, new []float64) float64 {
	all := slices.Concat(base, new)
	distance := func(mask uint) float64 {
		u := 0.0
		for i, v := range all {
			for j, w := range all {
				if mask>>i&1 == 1 && mask>>j&1 == 0 {
					switch {
					case v > w:
						u++
					case v == w:
						u += 0.5
					}
				}
			}
		}
		return math.Abs(u - float64(len(base)*len(new))/2)
	}
	observed := distance(1<<len(base) - 1)
	ways, extreme := 0.0, 0.0
	for mask := range uint(1) << len(all) {
		if bits.OnesCount(mask) != len(base) {
			continue
		}
		ways++
		if distance(mask) >= observed {
			extreme++
		}
	}
	return extreme / ways
}

func TestMannWhitneyAgainstPermutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		base, new := make([]float64, 1+rng.IntN(5)), make([]float64, 1+rng.IntN(6))
		values := 2 + rng.IntN(20) // few: many ties
		for _, side := range [][]float64{base, new} {
			for i := range side {
				side[i] = float64(rng.IntN(values))
			}
		}
		if got, want := mannWhitney(base, new), permutationP(base, new); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v against %v: p %g, want %g", base, new, got, want)
		}
	}
}

// One way of 20 (of 10, of 70) twice. Of {2,2,3} against {0,0} benchmath says 0.
func TestMannWhitneyKnown(t *testing.T) {
	for _, c := range []struct {
		base, new []float64
		want      float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{[]float64{2, 2, 3}, []float64{0, 0}, 0.1},
		{[]float64{5, 5, 5}, []float64{5, 5}, 1},
		{[]float64{1}, []float64{2}, 1},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
	} {
		if got := mannWhitney(c.base, c.new); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v against %v: p %.10f, want %.10f", c.base, c.new, got, c.want)
		}
	}
}

// Large samples with ties take benchmath's approximation, which must agree with
// the exact p-value at the limit.
func TestMannWhitneyAtTheLimitOfTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(0, 2))
	base, new := make([]float64, exactTiesLimit), make([]float64, exactTiesLimit+1)
	for i := range new {
		new[i] = float64(4 + rng.IntN(12))
	}
	for i := range base {
		base[i] = float64(rng.IntN(14))
	}
	exact, approximate := mannWhitney(base, new[:exactTiesLimit]), mannWhitney(base, new)
	if exact <= 0 || exact > 0.05 || math.Abs(math.Log(exact/approximate)) > 0.5 {
		t.Errorf("p %g of %d, %g of one more", exact, exactTiesLimit, approximate)
	}
}

func TestMannWhitneyLeavesSamplesAlone(t *testing.T) {
	base, new := []float64{3, 1, 2}, []float64{6, 5, 4}
	mannWhitney(base, new)
	deltaOf(base, new)
	if !slices.Equal(base, []float64{3, 1, 2}) || !slices.Equal(new, []float64{6, 5, 4}) {
		t.Error(base, new)
	}
}

func TestSmallestP(t *testing.T) {
	for n := 1; n <= 12; n++ {
		base, new := make([]float64, n), make([]float64, n+1)
		for i := range base {
			base[i] = float64(i)
		}
		for i := range new {
			new[i] = float64(100 + i)
		}
		if got, want := smallestP(n, n+1), mannWhitney(base, new); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%d against %d: %g, want %g", n, n+1, got, want)
		}
	}
	for alpha, want := range map[float64]int{1: 1, 0.1: 3, 0.05: 4, 0.01: 5, 0.05 / 20: 6, 0.01 / 20: 8} {
		if got := samplesToReach(alpha); got != want {
			t.Errorf("alpha %g is reached with %d samples a side, want %d", alpha, got, want)
		}
	}
}

func TestKthShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 300 {
		x, y := make([]float64, 1+rng.IntN(7)), make([]float64, 1+rng.IntN(7))
		for _, side := range [][]float64{x, y} {
			for i := range side {
				side[i] = float64(rng.IntN(9)) * 1e6
			}
			slices.Sort(side)
		}
		var all []float64
		for _, a := range x {
			for _, b := range y {
				all = append(all, b-a)
			}
		}
		slices.Sort(all)
		for k, want := range all {
			if got := kthShift(x, y, k+1); got != want {
				t.Fatalf("%v, %v: shift %d is %g, want %g", x, y, k+1, got, want)
			}
		}
	}
}

// criticalRank must be the rank at which the test itself changes its mind.
func TestIntervalAgreesWithTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 500 {
		base, new := make([]float64, 3+rng.IntN(8)), make([]float64, 3+rng.IntN(8))
		for i := range base {
			base[i] = math.Exp(0.1 * rng.NormFloat64())
		}
		for i := range new {
			new[i] = math.Exp(0.1 + 0.1*rng.NormFloat64())
		}
		d := deltaOf(base, new)
		if outside, shown := d.HasInterval() && (d.Lo > 0 || d.Hi < 0), mannWhitney(base, new) <= 1-Confidence; outside != shown {
			t.Fatalf("interval %g to %g, p %g", d.Lo, d.Hi, mannWhitney(base, new))
		}
	}
}

func TestCriticalRankApproximation(t *testing.T) {
	exact := criticalRank(exactLimit, exactLimit, 0.025)
	approximate := criticalRank(exactLimit, exactLimit+1, 0.025)
	if approximate < exact || approximate > exact+exactLimit/2 {
		t.Errorf("%d of %d, %d of one more", exact, exactLimit, approximate)
	}
	// Published tables of U: 10 against 10 are significant at 5 % up to 23.
	if got := criticalRank(10, 10, 0.025); got != 24 {
		t.Errorf("rank %d, want 24", got)
	}
}

func TestDelta(t *testing.T) {
	base := []float64{100, 100, 100, 100}
	for _, c := range []struct {
		name      string
		base, new []float64
		want      Delta
	}{
		{"ratio", base, []float64{110, 120, 110, 110}, Delta{0.10, 0.10, 0.20, true}},
		{"nothing to divide by", []float64{0, 0, 0, 0}, []float64{5, 6, 7, 8}, Delta{6.5, 5, 8, false}},
		{"negative", base, []float64{-1, -1, -1, -1}, Delta{-101, -101, -101, false}},
		{"too few", base[:3], []float64{110, 120, 110}, Delta{0.10, math.Inf(-1), math.Inf(1), true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := deltaOf(c.base, c.new)
			near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12*(1+math.Abs(b)) }
			if !near(got.Estimate, c.want.Estimate) || !near(got.Lo, c.want.Lo) || !near(got.Hi, c.want.Hi) || got.Relative != c.want.Relative {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// By hand: p of 0.01, 0.04, 0.03, 0.005 in four rows are 0.03, 0.06, 0.06, 0.02.
func TestHolm(t *testing.T) {
	rows := make([]CompareRow, 4)
	for i, p := range []float64{0.01, 0.04, 0.03, 0.005} {
		rows[i] = CompareRow{P: p, base: []float64{1, 2, 3, 4, 5, 6}, new: []float64{11, 12, 13, 14, 15, 16}}
	}
	correct(rows, 0.05)
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(rows[i].Corrected-want) > 1e-12 {
			t.Errorf("row %d: %g, want %g", i, rows[i].Corrected, want)
		}
		if shown := rows[i].Result == Slower; shown != (want <= 0.05) {
			t.Errorf("row %d: %s", i, rows[i].Result)
		}
	}
}

func TestReachable(t *testing.T) {
	row := func(n int) CompareRow { return CompareRow{P: 1, base: make([]float64, n), new: make([]float64, n)} }
	for _, c := range []struct {
		sizes []int
		want  []bool
	}{
		{[]int{3}, []bool{false}},
		{[]int{4}, []bool{true}},
		{[]int{4, 4}, []bool{false, false}}, // 2 * 2/70
		{[]int{5, 4}, []bool{true, true}},   // 2 * 2/252, then 2/70
	} {
		rows := make([]CompareRow, len(c.sizes))
		for i, n := range c.sizes {
			rows[i] = row(n)
		}
		correct(rows, 0.05)
		for i := range rows {
			if rows[i].Reachable != c.want[i] {
				t.Errorf("%v: row %d reachable: %v", c.sizes, i, rows[i].Reachable)
			}
		}
	}
}

func TestDirection(t *testing.T) {
	low, high := []float64{1, 2, 3}, []float64{3, 4}
	if direction(low, high) != Slower || direction(high, low) != Faster || direction(low, low) != Unshown {
		t.Error(direction(low, high), direction(high, low), direction(low, low))
	}
}

// A row that its samples cannot decide says so with an infinity or an unknown.
func TestDetectorLimits(t *testing.T) {
	d := newDetector(0.05)
	if got := d.detectable(3, 3, 0.02); !math.IsInf(got, 1) {
		t.Errorf("3 samples find %g", got)
	}
	if got := d.detectable(5, 5, 0); !math.IsNaN(got) {
		t.Errorf("without a spread: %g", got)
	}
	if got := d.detectable(6, 6, 2); !math.IsInf(got, 1) {
		t.Errorf("6 samples that differ by factors find %g", got)
	}
	if got := d.samplesFor(0.001, 1); got != -1 {
		t.Errorf("0.1 %% in a spread of 100 %%: %d samples", got)
	}
	if got := d.samplesFor(0, 0.02); got != -1 {
		t.Errorf("a limit of nothing: %d samples", got)
	}
	if got := d.samplesFor(0.05, math.NaN()); got != 0 {
		t.Errorf("without a spread: %d samples", got)
	}
	for n := 5; n < 80; n += 5 {
		if a, b := d.shift(n, n), d.shift(n+10, n+10); b >= a {
			t.Errorf("%d samples find %g standard deviations, %d find %g", n, a, n+10, b)
		}
	}
}

// Where there are no ties the p-value is benchmath's.
func TestUntiedIsBenchmath(t *testing.T) {
	base, new := []float64{1, 3, 5, 7, 9}, []float64{4, 6, 8, 10, 12, 14}
	want := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(base), &benchmath.DefaultThresholds),
		benchmath.NewSample(slices.Clone(new), &benchmath.DefaultThresholds)).P
	if got := mannWhitney(base, new); got != want {
		t.Errorf("%g, want %g", got, want)
	}
}
