package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/progtest"
	"fibchurn/results"
	"fibchurn/vm/vmtest"
)

// The program that is put to the proof, and this one as a guest's PID 1.
var (
	fibchurn = progtest.New("../../cmd/fibchurn")
	truth    = progtest.New(".")
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == spinArgument {
		spin()
	}
	code := fibchurn.Run(m)
	truth.Remove()
	os.Exit(code)
}

// newProof is one with a directory of the test's own.
func newProof(t *testing.T) *proof {
	t.Helper()
	netnstest.Root(t)
	script, err := filepath.Abs("../../.ci/nightly")
	if err != nil {
		t.Fatal(err)
	}
	return &proof{dir: t.TempDir(), settings: settings{ctx: t.Context(), binary: fibchurn.Path(t), script: script, out: io.Discard, metric: "cpu"}}
}

// The tests below compare at a level of 1 in 10000: so often they fail by chance.
const (
	rareAlpha = "0.0001"
	rarePairs = 12
)

// silent fails where rows could not have shown anything, or showed a change.
func silent(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		if !r.Reachable || r.Result != string(results.Unshown) {
			t.Errorf("%s (could show a change: %v)", r, r.Reachable)
		}
	}
}

func TestEqualsShowNothing(t *testing.T) {
	p := newProof(t)
	rows, err := p.equalPair("equal", "routes --count 1k", rarePairs, rareAlpha)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 10 {
		t.Errorf("%d rows, want wall and CPU time of 5 phases", len(rows))
	}
	silent(t, rows)
}

// One kernel under two labels. Two boots of each cannot show anything: it is the way of
// the runs that is tested, and that the comparison knows what it cannot.
func TestGuestsAreCompared(t *testing.T) {
	t.Parallel()
	p := newProof(t)
	p.kernel = vmtest.Kernel(t, vmtest.UML)
	suite := p.file("suite")
	if err := os.WriteFile(suite, []byte("routes --count 500 --runs 1 --warmup 0\naddrs --count 32 --runs 1 --warmup 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := p.guestRuns("set", suite, 2)
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files of 2 workloads, %v", len(files), err)
	}
	for _, file := range files {
		rows, err := p.compare("--by", "label", "--metric", "wall", file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Reachable || r.Result != string(results.Unshown) {
				t.Errorf("%s, shown by two boots", r)
			}
		}
	}
}

// A slow-down to four times is found, however busy the machine: samples would have to
// differ by more than a factor of 4 nearly always.
func TestPlantedSlowDownIsFound(t *testing.T) {
	const change, samples = 3, 40
	p := newProof(t)
	p.tries = 1
	off, err := newBrake(1)
	if err != nil {
		t.Fatal(err)
	}
	defer off.close()
	if err := measureBraked(p.ctx, p.sides("pilot"), 10, off, off); err != nil {
		t.Fatal(err)
	}
	route, err := routeTime(p.sides("pilot"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.plant(off, change, pilot{route: route, samples: samples})
	if err != nil {
		t.Fatal(err)
	}
	if got.found != 1 || got.wrong != 0 || got.measured < change/3. || got.measured > change*3 {
		t.Errorf("%+v: want it found, with a delta of %d, give or take a factor of 3", got, change)
	}
	t.Logf("delta %.2f", got.measured)
}

// The counted delay is the one that was asked for.
func TestBrakeTakesItsTime(t *testing.T) {
	netnstest.Root(t)
	const want = 20 * time.Microsecond
	loops, err := loopsFor(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBrake(loops)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if got, err := b.took(); err != nil || got < want*2/3 || got > want*3/2 {
		t.Errorf("a brake of %v takes %v, %v", want, got, err)
	}
}

// A busy machine is told of in every run, short as they are, and shows no change.
func TestLoadIsSaidAndShowsNothing(t *testing.T) {
	p := newProof(t)
	release, err := busy()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	rows, err := p.equalPair("load", "addrs --count 64", rarePairs, rareAlpha)
	if err != nil {
		t.Fatal(err)
	}
	silent(t, rows)
	warned, runs, err := p.warnedOfLoad()
	if err != nil || runs != 2*rarePairs || warned != runs {
		t.Errorf("%d of %d runs carry the warning, want all of %d; %v", warned, runs, 2*rarePairs, err)
	}
}

func TestNightsAppend(t *testing.T) {
	t.Parallel()
	p := newProof(t)
	p.kernel = vmtest.Kernel(t, vmtest.UML)
	if _, err := p.appendNights(2); err != nil {
		t.Error(err)
	}
}

func TestAppendingAtOnce(t *testing.T) {
	t.Parallel()
	if _, err := newProof(t).appendAtOnce(); err != nil {
		t.Error(err)
	}
}

func TestSoak(t *testing.T) {
	p := newProof(t)
	s, err := p.soakFor(6*time.Second, p.file("soak.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if growth := s.Resident[1] - s.Resident[0]; growth > 8*mostGrowth || s.Changes < 1000 || s.Lookups < 1000 {
		t.Errorf("%+v: grew by %d KiB", *s, growth)
	}
}

func TestSoakInGuest(t *testing.T) {
	p := newProof(t)
	p.kernel, p.program = vmtest.Kernel(t, vmtest.UML), truth.Path(t)
	s, err := p.soakInGuest(3 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if s.slabChange() > mostSlab || s.Changes < 50 {
		t.Errorf("%+v: the slab changed by %.2f %%", *s, 100*s.slabChange())
	}
}

func TestTally(t *testing.T) {
	of := func(p float64, result results.Result, reachable bool) row {
		return row{P: p, Alpha: 0.01, Result: string(result), Reachable: reachable}
	}
	equal, alone := of(0.5, results.Unshown, true), of(0.008, results.Unshown, true)
	flagged, blind := of(0.0001, results.Slower, true), of(0.3, results.Unshown, false)
	for _, test := range []struct {
		name    string
		flagged int // of 100 tables
		with    []row
		says    string
		wrong   string
	}{
		{"nothing", 0, nil, "0 of 100 comparisons flagged at alpha 0.01; of their 200 rows 100 (50.0 %) have p <= 0.01", ""},
		{"two", 2, nil, "2 of 100 comparisons", ""},
		{"three", 3, nil, "3 of 100 comparisons", "3 comparisons of equals flagged, at most 2"},
		{"a blind row", 0, []row{blind}, "0 of 101 comparisons", "1 of 201 rows could not have shown anything"},
	} {
		var out strings.Builder
		p, tally := &proof{settings: settings{out: &out}}, tally{}
		for i := range 100 {
			rows := []row{equal, alone}
			if i < test.flagged {
				rows[0] = flagged
			}
			tally.add(rows)
		}
		if test.with != nil {
			tally.add(test.with)
		}
		err := tally.verdict(p, "equals")
		if !strings.Contains(out.String(), test.says) && test.flagged == 0 {
			t.Errorf("%s: says %s", test.name, &out)
		}
		if (err != nil) != (test.wrong != "") || err != nil && (!errors.Is(err, errFalse) || !strings.Contains(err.Error(), test.wrong)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.wrong)
		}
	}
}

func TestUnknownPart(t *testing.T) {
	err := settings{ctx: t.Context(), out: io.Discard}.prove([]string{"equal", "unequal"})
	if err == nil || !strings.Contains(err.Error(), `"unequal"`) {
		t.Error(err)
	}
}
