package results

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

func comparisonText(t *testing.T, c Comparison, opts TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteComparison(&b, c, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeComparison(t *testing.T, c Comparison) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := EncodeComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A profiledSide draws profiles: of each run as many samples as the weights say, with
// a spread between runs beyond that of the draws.
type profiledSide struct {
	rng     *rand.Rand
	boots   int
	runs    int // a boot
	weights map[string]int64
	name    string
}

func (s profiledSide) make() []Run {
	var all []Run
	for boot := range s.boots {
		c := profiledCase{runs: s.runs, weights: s.weights}
		for _, r := range c.make() {
			r.Boot = fmt.Sprint(s.name, boot)
			r.Time = r.Time.Add(time.Duration(boot) * time.Hour)
			if r.Profile != nil {
				for i := range r.Profile.Phases {
					s.draw(&r.Profile.Phases[i])
				}
			}
			all = append(all, r)
		}
	}
	return all
}

func (s profiledSide) draw(p *PhaseProfile) {
	p.Samples = 0
	for i := range p.Stacks {
		n := float64(p.Stacks[i].Samples)
		n *= 1 + 0.05*s.rng.NormFloat64()
		n += s.rng.NormFloat64() * 0.3 * n / 5
		p.Stacks[i].Samples = max(0, int64(n+0.5))
		p.Samples += p.Stacks[i].Samples
	}
}

// lighter is the weights with less of a function.
func lighter(stack string, samples int64) map[string]int64 {
	w := deleteWeights()
	w[stack] -= samples
	return w
}

func TestCompareProfiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	base := profiledSide{rng, 1, 10, deleteWeights(), "base"}.make()
	new := profiledSide{rng, 1, 10, lighter(stackSuffix, 400), "new"}.make()
	for i := range new {
		new[i].Time = new[i].Time.Add(7 * time.Second)
		p := new[i].Phase("delete") // what the others take stays as it was
		p.System -= 32_700_000
		p.Wall -= 32_700_000
	}
	c, err := Compare([]Group{{"base.jsonl", base}, {"new.jsonl", new}}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var first *CompareRow
	for i := range c.Functions {
		r := &c.Functions[i]
		if r.Phase == "delete" && first == nil {
			first = r
		}
		if r.Function != "update_suffix" && r.Result != Unshown {
			t.Errorf("%s is shown to be %s, %v", r.Function, r.Result, r.Delta)
		}
	}
	if first == nil || first.Function != "update_suffix" || first.Result != Faster || first.Delta.Relative || first.Delta.Estimate > -2500 {
		t.Errorf("the largest change is %+v", first)
	}
	golden(t, filepath.Join("testdata", "compare-profile.txt"), comparisonText(t, c, TextOptions{Width: 132}))
	golden(t, filepath.Join("testdata", "compare-profile-60.txt"), comparisonText(t, c, TextOptions{Width: 60}))
	golden(t, filepath.Join("testdata", "compare-profile.jsonl"), encodeComparison(t, c))
}

// Of sides that do not differ hardly ever is any function shown to have changed, also
// where samples are boots, and with too few samples never.
func TestCompareEqualProfiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 100
	shown := 0
	for i := range tries {
		boots, runs := 1, 8
		if i%2 == 1 {
			boots, runs = 7, 2
		}
		c, err := Compare([]Group{
			{"base", profiledSide{rng, boots, runs, deleteWeights(), "base"}.make()},
			{"new", profiledSide{rng, boots, runs, deleteWeights(), "new"}.make()},
		}, CompareOptions{Phases: []string{"delete"}, Metrics: []string{"wall"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(withResult(c.Functions, Unshown)) < len(c.Functions) {
			shown++
		}
		if want := []string{UnitRun, UnitBoot}[i%2]; c.Functions[0].Unit != want {
			t.Fatalf("a sample is a %s, want a %s", c.Functions[0].Unit, want)
		}
	}
	// 100 tries at 5 % are 5; 13 or more come with a probability of 0.2 %.
	if shown >= 13 {
		t.Errorf("in %d of %d comparisons of equals some function is shown to have changed", shown, tries)
	}
	c, err := Compare([]Group{
		{"base", profiledSide{rng, 1, 3, deleteWeights(), "base"}.make()},
		{"new", profiledSide{rng, 1, 3, lighter(stackSuffix, 600), "new"}.make()},
	}, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Functions {
		if r.Result != Unshown || r.Reachable {
			t.Errorf("3 runs a side show %s %s (reachable %v)", r.Function, r.Result, r.Reachable)
		}
	}
}

// The two ways of one cell against another take the profiles of each.
func TestCompareProfilesByCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	runs := profiledSide{rng, 1, 8, deleteWeights(), "boot"}.make()
	for _, r := range (profiledSide{rng, 1, 8, lighter(stackSuffix, 500), "boot"}).make() {
		r.Cell, r.Time = "other", r.Time.Add(3*time.Second)
		runs = append(runs, r)
	}
	groups, err := GroupBy(runs, "cell")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(groups, CompareOptions{By: "cell"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Functions {
		if r.Phase == "delete" && r.Function == "update_suffix" {
			if r.Cell != "other vs 10000" || r.Result != Faster {
				t.Errorf("%s: %s", r.Cell, r.Result)
			}
			return
		}
	}
	t.Errorf("update_suffix is not compared: %d rows", len(c.Functions))
}
