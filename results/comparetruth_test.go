package results

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// A truth makes runs whose differences are known. Times are log-normal with a
// factor of the boot and one of the run; some runs are outliers, up to several
// times as long.
type truth struct {
	boots, runs           int // runs a boot
	bootSpread, runSpread float64
	outliers              float64 // share
}

// side returns runs with ten phases each, whose CPU time goes with the wall time.
func (h truth) side(rng *rand.Rand, name string) []Run {
	const phases = 10
	var runs []Run
	for b := range h.boots {
		var boot [phases]float64
		for i := range boot {
			boot[i] = math.Exp(h.bootSpread * rng.NormFloat64())
		}
		for n := range h.runs {
			r := Run{Schema: Schema, Time: time.Unix(int64(b*1000+n), 0), Command: "synthetic", Cell: "c", Run: n + 1,
				Boot: fmt.Sprint(name, b), Verified: true}
			for i := range phases {
				wall := 1e7 * boot[i] * h.factor(rng)
				cpu := wall * 0.6 * math.Exp(h.runSpread/2*rng.NormFloat64())
				r.Phases = append(r.Phases, Phase{Name: fmt.Sprint("phase", i), Ops: 1, Wall: int64(wall), System: int64(cpu)})
			}
			runs = append(runs, r)
		}
	}
	return runs
}

func (h truth) factor(rng *rand.Rand) float64 {
	f := math.Exp(h.runSpread * rng.NormFloat64())
	if rng.Float64() < h.outliers {
		f *= 1 + rng.ExpFloat64()
	}
	return f
}

// rows compares two sides, the corrections included.
func (h truth) rows(t *testing.T, rng *rand.Rand, alpha float64) []CompareRow {
	t.Helper()
	c := Comparison{}
	base, baseRuns, _ := newSide(Group{"base", h.side(rng, "base")})
	new, newRuns, _ := newSide(Group{"new", h.side(rng, "new")})
	c.Base = base
	if err := c.add(new, &pairing{base: baseRuns, new: newRuns}); err != nil {
		t.Fatal(err)
	}
	correct(c.Rows, alpha)
	return c.Rows
}

// The promise: at alpha 0.01, of 1000 tables of 20 comparisons of a kernel with
// itself, at most 1 % flag any row. That is 10 tables; 20 are three standard
// deviations more, which a sound method exceeds once in 1000 choices of a seed.
// The tables must not owe it to samples too small to flag anything.
func TestComparingEqualsFlagsNothing(t *testing.T) {
	const tables, alpha = 1000, 0.01
	for name, h := range map[string]truth{
		"boots": {boots: 8, runs: 3, bootSpread: 0.03, runSpread: 0.02, outliers: 0.05},
		"runs":  {boots: 1, runs: 12, runSpread: 0.03, outliers: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(h.boots)))
			flagged, most := 0, 0
			for range tables {
				rows := h.rows(t, rng, alpha)
				n := len(rows) - len(withResult(rows, Unshown))
				flagged, most = flagged+min(n, 1), max(most, n)
				if len(rows) != 20 || !rows[0].Reachable {
					t.Fatalf("%d rows, reachable: %v", len(rows), rows[0].Reachable)
				}
			}
			t.Logf("%d of %d tables have a flagged row, %d at most", flagged, tables, most)
			if flagged > 20 {
				t.Errorf("%d of %d tables have a flagged row at alpha %g", flagged, tables, alpha)
			}
		})
	}
}

// Without correction the same tables are full of false alarms: the test above has
// something to show.
func TestComparingEqualsWithoutCorrection(t *testing.T) {
	h := truth{boots: 1, runs: 12, runSpread: 0.03, outliers: 0.05}
	rng := rand.New(rand.NewPCG(1, 1))
	flagged := 0
	for range 100 {
		for _, r := range h.rows(t, rng, 0.01) {
			if r.P <= 0.01 {
				flagged++
				break
			}
		}
	}
	if flagged < 5 {
		t.Errorf("%d of 100 tables have a row with p <= 0.01, expected 10 to 20", flagged)
	}
}

// documented is a row of the table of samples in docs/compare.md.
type documented struct {
	spread  float64
	samples map[float64]int // by change
}

// documentedSamples reads "| 2 % | 10 | 6 | 6 |", for changes of 5, 10 and 25 %.
func documentedSamples(t *testing.T) []documented {
	t.Helper()
	text, err := os.ReadFile("../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []documented
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) % \| (\d+) \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(string(text), -1) {
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1])
		}
		rows = append(rows, documented{float64(n[0]) / 100, map[float64]int{0.05: n[1], 0.10: n[2], 0.25: n[3]}})
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows of samples in docs/compare.md, want 4", len(rows))
	}
	return rows
}

const documentedAlpha = DefaultAlpha / 20

func TestDocumentedSamples(t *testing.T) {
	d := newDetector(documentedAlpha)
	for _, row := range documentedSamples(t) {
		for change, n := range row.samples {
			if got := d.samplesFor(change, row.spread); got != n {
				t.Errorf("spread %g, change %g: documented %d samples a side, computed %d", row.spread, change, n, got)
			}
		}
	}
}

// Planted slow-downs are found with the documented number of samples in at least
// 80 % of the tries, in a table of 20 comparisons, with twice the outliers
// that the detector reckons with.
func TestPlantedChangesAreFound(t *testing.T) {
	const tries = 400
	const outliers = 2 * outlierShare
	for _, row := range documentedSamples(t) {
		for change, n := range row.samples {
			t.Run(fmt.Sprintf("spread %g change %g", row.spread, change), func(t *testing.T) {
				t.Parallel()
				h := truth{runSpread: row.spread, outliers: outliers}
				rng := rand.New(rand.NewPCG(uint64(n), uint64(1000*change)))
				found := 0
				for range tries {
					base, new := make([]float64, n), make([]float64, n)
					for i := range base {
						base[i], new[i] = 1e7*h.factor(rng), 1e7*h.factor(rng)*(1+change)
					}
					// Holm's first step: no other row of the table has changed.
					if mannWhitney(base, new) <= documentedAlpha && direction(base, new) == Slower {
						found++
					}
				}
				t.Logf("%d samples a side: found %.0f %%", n, 100*float64(found)/tries)
				if float64(found) < tries*Power {
					t.Errorf("%d samples a side found %d of %d", n, found, tries)
				}
			})
		}
	}
}

// The interval of a delta holds the true one in about 95 % of the tries.
func TestDeltaIntervalCoverage(t *testing.T) {
	const tries, change = 2000, 0.07
	for _, n := range []int{4, 6, 10, 20} {
		rng := rand.New(rand.NewPCG(2, uint64(n)))
		h := truth{runSpread: 0.04, outliers: 0.03}
		covered := 0
		for range tries {
			base, new := make([]float64, n), make([]float64, n+1)
			for i := range base {
				base[i] = 1e6 * h.factor(rng)
			}
			for i := range new {
				new[i] = 1e6 * h.factor(rng) * (1 + change)
			}
			if d := deltaOf(base, new); d.Lo <= change && change <= d.Hi {
				covered++
			}
		}
		if share := float64(covered) / tries; share < 0.94 || share > 0.99 {
			t.Errorf("%d samples: the interval holds the true change in %.1f %%", n, 100*share)
		}
	}
}

// What a row says it can find it finds, and the spread it says so from is right.
func TestDetectableIsFound(t *testing.T) {
	const n, m, tries, spread = 8, 12, 500, 0.03
	d := newDetector(0.05 / 20)
	change := d.detectable(n, m, spread)
	rng := rand.New(rand.NewPCG(3, 3))
	h := truth{runSpread: spread, outliers: outlierShare}
	found, spreads := 0, 0.0
	for range tries {
		base, new := make([]float64, n), make([]float64, m)
		for i := range base {
			base[i] = h.factor(rng)
		}
		for i := range new {
			new[i] = h.factor(rng) * (1 + change)
		}
		spreads += logSpread(base, new)
		if mannWhitney(base, new) <= 0.05/20 {
			found++
		}
	}
	if share := float64(found) / tries; math.Abs(share-aimedPower) > 0.04 {
		t.Errorf("a change of %.3f is found in %.2f of the tries, want %.2f", change, share, aimedPower)
	}
	// The estimate is a standard error above.
	if got := spreads / tries / (1 + 0.9/math.Sqrt(n+m)); math.Abs(got/spread-1) > 0.05 {
		t.Errorf("spread estimated as %.4f, is %.4f", got, spread)
	}
}

// A machine whose clock has two levels, some 40 runs each, shows one pilot the one
// and one the other. The number of samples asked for after it still finds what it
// promises, over all pilots.
func TestSamplesAskedForOnAMachineOfTwoLevels(t *testing.T) {
	const runs, pilot, change, spread, higher, stay = 40_000, 20, 0.10, 0.03, 1.2, 40
	rng := rand.New(rand.NewPCG(4, 4))
	h := truth{runSpread: spread, outliers: outlierShare}
	var sides [2][]float64 // which take turns
	level := 1.0
	for range runs {
		if rng.Float64() < 1.0/stay {
			level = higher + 1 - level
		}
		for i := range sides {
			sides[i] = append(sides[i], level*h.factor(rng))
		}
	}
	d := newDetector(documentedAlpha)
	found, tries := 0, 0
	for at := 0; at+pilot <= runs; {
		base, new := sides[0][at:], sides[1][at:]
		n := d.samplesFor(change, logSpread(base[:pilot], new[:pilot]))
		if n < 1 {
			t.Fatalf("%d samples asked for", n)
		}
		if at += pilot + n; at > runs {
			break
		}
		base, new = base[pilot:pilot+n], slices.Clone(new[pilot:pilot+n])
		for i := range new {
			new[i] *= 1 + change
		}
		tries++
		if mannWhitney(base, new) <= documentedAlpha && direction(base, new) == Slower {
			found++
		}
	}
	t.Logf("found in %d of %d tries", found, tries)
	if tries < 100 || float64(found) < Power*float64(tries) {
		t.Errorf("found in %d of %d tries", found, tries)
	}
}
