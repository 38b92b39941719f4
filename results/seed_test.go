package results

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Where the seed decides the work, runs of different seeds are not compared and not
// pooled; where it orders the cells alone they are.
func TestSeedsThatDecideTheWork(t *testing.T) {
	for spec, decides := range map[string]bool{
		`{"layout":"dfz","order":"added","seed":%d}`:                                    true,
		`{"layout":"random","order":"added","seed":%d}`:                                 true,
		`{"layout":"dense","order":"random","seed":%d}`:                                 true,
		`{"layout":"dense","order":"reverse","seed":%d}`:                                false,
		`{"subnets":8,"seed":%d}`:                                                       false,
		`{"layout":"dense","order":"random","under":"none","lookup":{"seed":1%d}}`:      true,
		`{"layout":"dense","order":"random","under":"none","seed":%d,"lookup":{"a":1}}`: false,
		`{"layout":"dense","order":"random","under":"flap","seed":%d,"lookup":{"a":1}}`: true,
	} {
		side := func(boot string, seed int) []Run {
			f := threeCells()
			f.runs, f.cells = 6, []string{cellAddrs}
			f.change = func(r *Run, _ int) {
				r.Command, r.Boot, r.Spec = "lookup", boot, fmt.Appendf(nil, spec, seed)
			}
			return f.make()
		}
		base, new := side("a", 1), side("b", 2)
		_, err := Compare([]Group{{"base", base}, {"new", new}}, CompareOptions{})
		var refused *IncomparableError
		if errors.As(err, &refused) != decides || decides && !refused.Forcible {
			t.Errorf("%s: %v", spec, err)
		}
		if _, err := Compare([]Group{{"base", base}, {"new", new}}, CompareOptions{Force: true}); err != nil {
			t.Errorf("%s, forced: %v", spec, err)
		}
		if n := len(blocks(append(base, new...))); n != map[bool]int{false: 1, true: 2}[decides] {
			t.Errorf("%s: %d blocks", spec, n)
		}
	}
}

// Runs of different kernels and settings are not pooled, and the heading names the
// label. The kernel's own file makes no difference.
func TestMachinesAreNotPooled(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Environment)
		blocks int
	}{
		"label":        {func(e *Environment) { e.Label = "patched" }, 2},
		"command line": {func(e *Environment) { e.CommandLine += " nosmt" }, 2},
		"image":        {func(e *Environment) { e.CommandLine = "BOOT_IMAGE=/b initrd=c " + e.CommandLine }, 1},
		"debug":        {func(e *Environment) { e.Debug = []string{"KASAN"} }, 2},
		"governor":     {func(e *Environment) { e.Governor = "powersave" }, 2},
		"fibchurn":     {func(e *Environment) { e.Fibchurn = "other" }, 2},
	} {
		f := threeCells()
		f.change = func(r *Run, n int) {
			if n%2 == 1 {
				c.change(&r.Environment)
			}
		}
		all := blocks(f.make())
		if len(all) != c.blocks {
			t.Errorf("%s: %d blocks, want %d", name, len(all), c.blocks)
		}
		if name == "label" && !strings.HasPrefix(heading(all[1])[0], "patched: delete-iface on ") {
			t.Errorf("heading %q", heading(all[1])[0])
		}
	}
}
