package churn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

// resizeSpec is a small cell of resize, changed by f.
func resizeSpec(t testing.TB, f func(*ResizeSpec)) *ResizeSpec {
	t.Helper()
	s := &ResizeSpec{Load: "crossing", Pattern: "oscillate", NodeBits: 7, Cycles: 0, Families: []int{4}, LinkKind: "auto", Seed: 1}
	if f != nil {
		f(s)
	}
	if s.Cycles == 0 {
		s.Cycles = min(3, ResizeCycles(s.Pattern))
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// onLink gives the spec a link kind that works here.
func onLink(t testing.TB, s *ResizeSpec) *ResizeSpec {
	t.Helper()
	s.LinkKind = netnstest.Kind(t)
	return s
}

// Every pattern, as root and not, does in the kernel what the model predicts.
func TestResizeOnKernel(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	for _, pattern := range ResizePatterns() {
		for _, root := range []bool{false, true} {
			for _, cell := range ResizeCells() {
				for _, bits := range []int{3, 7, 10} {
					t.Run(fmt.Sprintf("%s/root=%v/%s/%d", pattern, root, cell, bits), func(t *testing.T) {
						s := onLink(t, resizeSpec(t, func(s *ResizeSpec) { s.Pattern, s.Root, s.Load, s.NodeBits = pattern, root, cell, bits }))
						run, err := (&Runner{}).Run(context.Background(), s, 1)
						if err != nil || !run.Verified {
							t.Fatal(err, run.Checks)
						}
						t.Logf("%+v", run.Checks)
						checkResizeRecord(t, s, run)
					})
				}
			}
		}
	}
}

// checkResizeRecord holds for every run.
func checkResizeRecord(t *testing.T, s *ResizeSpec, run *results.Run) {
	t.Helper()
	r := run.Resize
	if r == nil || r.Looks < 3 || r.Operations != run.Phase(s.Pattern).Ops {
		t.Fatalf("record %+v", r)
	}
	if crosses := r.Crossed > 0; crosses != (s.Load == "crossing") || crosses != (len(r.Crossings) > 0) {
		t.Errorf("%s: %d operations crossed, %d told", s.Load, r.Crossed, len(r.Crossings))
	}
	var ops int64
	for _, b := range r.Curve {
		ops += b.Ops
	}
	if ops != r.Operations {
		t.Errorf("the curve has %d of %d operations", ops, r.Operations)
	}
	var want int64
	for _, tr := range r.Transitions {
		want += tr.Ops
	}
	if s.Load == "crossing" && r.TransitionsTotal == int64(len(r.Transitions)) && want != r.Crossed {
		t.Errorf("transitions have %d operations of %d", want, r.Crossed)
	}
	if got := run.Phase(s.Pattern).Wall; r.Waits.Blocked > got {
		t.Errorf("blocked %d of %d", r.Waits.Blocked, got)
	}
}

// A misled workload changes its spec once the run is planned.
type misled struct {
	*ResizeSpec
	change func(*ResizeSpec)
}

func (m *misled) Plan() (*Plan, error) {
	plan, err := m.ResizeSpec.Plan()
	m.change(m.ResizeSpec)
	return plan, err
}

// A prediction that is not what the kernel does fails the run, which says where.
func TestResizeWrongPrediction(t *testing.T) {
	netnstest.Root(t)
	for name, test := range map[string]struct {
		change func(*ResizeSpec)
		check  string // begin of the name of a check that must not hold
	}{
		"other thresholds":  {func(s *ResizeSpec) { s.Root = true }, "tnodes of 8 bits after the fill"},
		"other transitions": {func(s *ResizeSpec) { s.forecast.transitions[0].After[9]++ }, "crossings that change the predicted tnodes"},
		"more in the table": {func(s *ResizeSpec) {
			b := block{bits: s.NodeBits}
			pattern := &s.forecast.pattern
			pattern.setup = append(pattern.setup[:len(pattern.setup)-1:len(pattern.setup)-1], routeOp{prefix: b.half(0), beside: true})
		}, "crossings that change the predicted tnodes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := onLink(t, resizeSpec(t, nil))
			run, err := (&Runner{}).Run(context.Background(), &misled{s, test.change}, 1)
			if !errors.Is(err, ErrCheck) || run.Verified {
				t.Fatalf("%v, verified %v", err, run.Verified)
			}
			if !slices.ContainsFunc(run.Checks, func(c results.Check) bool { return !c.OK() && strings.HasPrefix(c.Name, test.check) }) {
				t.Errorf("no check is %q: %+v", test.check, run.Checks)
			}
		})
	}
}

// The thresholds of small blocks, reasoned out: of the places of a tnode of b
// bits, all are taken before it is inflated, since the doubled one must be half
// full (of a root, 30 %), and less than a quarter of the doubled one's are when it
// is halved (of a root, 15 %).
func TestResizeThresholds(t *testing.T) {
	percent := func(share, of int) int { return (share*of + 99) / 100 } // at least
	for bits := minNodeBits; bits <= 14; bits++ {
		for _, root := range []bool{false, true} {
			inflate, halve := 50, 25
			if root {
				inflate, halve = 30, 15
			}
			wantUp, wantDown := percent(inflate, 2<<bits), percent(halve, 2<<bits)-1
			up, down, err := block{root: root, bits: bits}.thresholds()
			if err != nil || up != wantUp || down != wantDown {
				t.Errorf("%d bits, root %v: %d and %d, %v; want %d and %d", bits, root, up, down, err, wantUp, wantDown)
			}
		}
	}
}

// What oscillate does, written out for a tnode of 3 bits: 8 routes have inflated it
// to 4 bits, the fall to 3 halves it, the eighth inflates it again.
func TestResizeOscillation(t *testing.T) {
	s := resizeSpec(t, func(s *ResizeSpec) { s.NodeBits, s.Cycles = 3, 2 })
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	want := []results.ResizeTransition{
		{Op: "delete", Size: 3, Kinds: map[string]int64{"halve": 1}, Before: map[int]int64{3: 0, 4: 1}, After: map[int]int64{3: 1, 4: 0}},
		{Op: "add", Size: 8, Kinds: map[string]int64{"inflate": 1}, Before: map[int]int64{3: 1, 4: 0}, After: map[int]int64{3: 0, 4: 1}},
	}
	if d := cmp.Diff(want, s.forecast.transitions); d != "" {
		t.Error(d)
	}
	wantCrossings := []crossing{{4, 0}, {9, 1}, {14, 0}, {19, 1}}
	if d := cmp.Diff(wantCrossings, s.forecast.crossings, cmp.AllowUnexported(crossing{})); d != "" {
		t.Error(d)
	}
	var prefixes []string
	for _, op := range s.forecast.pattern.cycle {
		prefixes = append(prefixes, op.verb()+" "+op.prefix.String())
	}
	if got := strings.Join(prefixes, ", "); got != "delete 10.0.7.0/24, delete 10.0.6.0/24, delete 10.0.5.0/24, delete 10.0.4.0/24, delete 10.0.3.0/24, add 10.0.3.0/24, add 10.0.4.0/24, add 10.0.5.0/24, add 10.0.6.0/24, add 10.0.7.0/24" {
		t.Error(got)
	}
}

// Both cells have the same operations at the same table sizes, in every pattern
// and at every size of tnode.
func TestResizeCellsCorrespond(t *testing.T) {
	t.Parallel()
	for _, pattern := range ResizePatterns() {
		for bits := minNodeBits; bits <= 13; bits++ {
			for _, root := range []bool{false, true} {
				var cells []*resizeForecast
				for _, cell := range ResizeCells() {
					s := resizeSpec(t, func(s *ResizeSpec) { s.Pattern, s.NodeBits, s.Root, s.Load = pattern, bits, root, cell })
					if err := s.Prepare(); err != nil {
						t.Fatalf("%s, %d bits, root %v: %v", pattern, bits, root, err)
					}
					cells = append(cells, s.forecast)
				}
				a, b := cells[0], cells[1]
				if !slices.Equal(a.pattern.cycle, b.pattern.cycle) || !slices.Equal(a.sizes, b.sizes) || a.beside != b.beside {
					t.Errorf("%s, %d bits, root %v: the cells differ", pattern, bits, root)
				}
			}
		}
	}
}

func TestResizeValidate(t *testing.T) {
	for want, change := range map[string]func(*ResizeSpec){
		"--pattern zigzag: must be oscillate, grow": func(s *ResizeSpec) { s.Pattern = "zigzag" },
		"--node-bits 2: must be 3 to 18":            func(s *ResizeSpec) { s.NodeBits = 2 },
		"--node-bits 19: must be 3 to 18":           func(s *ResizeSpec) { s.NodeBits = 19 },
		"--cycles 0: must be at least 1":            func(s *ResizeSpec) { s.Cycles = 0 },
		"once a run":                                func(s *ResizeSpec) { s.Pattern, s.Cycles = "grow", 2 },
		"one run takes at most 8 here":              func(s *ResizeSpec) { s.NodeBits, s.Cycles = 18, 9 },
		"-6: resize is about the trie of IPv4":      func(s *ResizeSpec) { s.Families = []int{4, 6} },
	} {
		s := resizeSpec(t, nil)
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestBinsOf(t *testing.T) {
	for _, test := range []struct {
		lo, hi int64
		want   [][2]int64
	}{
		{5, 5, [][2]int64{{5, 5}}},
		{5, 7, [][2]int64{{5, 5}, {6, 6}, {7, 7}}},
		{0, 20, [][2]int64{{0, 1}, {2, 2}, {3, 4}, {5, 8}, {9, 16}, {17, 20}}},
		{3, 40, [][2]int64{{3, 4}, {5, 8}, {9, 16}, {17, 32}, {33, 40}}},
	} {
		if d := cmp.Diff(test.want, binsOf(test.lo, test.hi)); d != "" {
			t.Errorf("%d to %d: %s", test.lo, test.hi, d)
		}
	}
	bins := binsOf(2048, 4097)
	if len(bins) != curveBins || bins[0][0] != 2048 || bins[curveBins-1][1] != 4097 {
		t.Error(bins)
	}
	for i := 1; i < len(bins); i++ {
		if bins[i][0] != bins[i-1][1]+1 {
			t.Error("a gap or an overlap in", bins)
		}
	}
}
