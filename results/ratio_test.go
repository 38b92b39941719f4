package results

import (
	"fmt"
	"math"
	"testing"
)

// Where some runs have nothing to divide by, a ratio is given only with an interval
// that has an end, and is never a number that is none.
func TestRatioToNothing(t *testing.T) {
	const boots, perBoot = 10, 4
	sides := func(nothing int) (base, new []Run) { // in each boot of the first so many
		for i := range boots * perBoot {
			r := Run{Command: "delete-iface", Run: i + 1, Boot: fmt.Sprint(i / perBoot), Verified: true, Phases: []Phase{{Name: deletePhase, Ops: 1, Wall: 100}}}
			new = append(new, r)
			r.Phases = []Phase{{Name: deletePhase, Ops: 1, Wall: int64(20 + i%3)}}
			if i/perBoot < nothing && i%perBoot != 0 {
				r.Phases[0].Wall = 0
			}
			base = append(base, r)
		}
		return base, new
	}
	for _, nothing := range []int{0, 1, 2, 5, 9, 10} {
		base, new := sides(nothing)
		s := ratioWithin(base, new, deletePhase, WallTime)
		if math.IsNaN(s.Median) || math.IsNaN(s.Lo) || math.IsNaN(s.Hi) {
			t.Errorf("%d boots of %d without a base: %+v", nothing, boots, s)
		}
		if want := nothing <= 1; s.HasInterval() != want { // of ten, the second largest is the bound
			t.Errorf("%d boots of %d without a base: interval %g to %g", nothing, boots, s.Lo, s.Hi)
		} else if want && (s.Lo < 100.0/23 || s.Hi > 100.0/19) {
			t.Errorf("%d boots of %d without a base: %+v", nothing, boots, s)
		}
	}
}
