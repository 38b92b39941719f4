package results

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A profiledCase adds to every run of a synthetic command routes a profiled twin.
type profiledCase struct {
	runs    int
	weights map[string]int64 // stack -> samples of a run's phase delete, out of about 1000
	scale   int64            // percent of them; 0: 100
	slower  int64            // per mille of a twin's time
	change  func(*Run)       // of the twins
	all     func(*Run)       // of every run
	opts    TextOptions
}

const (
	stackSuffix = "main.main_[u];syscall.Sendmsg_[u];entry_SYSCALL_64;netlink_sendmsg;inet_rtm_delroute;fib_table_delete;update_suffix"
	stackResize = "main.main_[u];syscall.Sendmsg_[u];entry_SYSCALL_64;netlink_sendmsg;inet_rtm_delroute;fib_table_delete;resize"
	stackAlloc  = "main.main_[u];syscall.Sendmsg_[u];entry_SYSCALL_64;netlink_sendmsg;kmem_cache_alloc"
	stackUser   = "main.main_[u];fibchurn/internal/rtnl.(*Conn).sendInBatchesOfManyRequests_[u]"
)

func deleteWeights() map[string]int64 {
	w := map[string]int64{stackSuffix: 610, stackResize: 200, stackAlloc: 90, stackUser: 50}
	for i := range 14 { // more symbols than a table has
		w[fmt.Sprintf("main.main_[u];entry_SYSCALL_64;small_%02d", i)] = int64(3 + i%3)
	}
	return w
}

func (c profiledCase) make() []Run {
	var runs []Run
	for n := 1; n <= c.runs; n++ {
		bare := threeCells().run(cellRoutes, n, 0)
		bare.Command, bare.Cell = "routes", "10000"
		at := threeCells().offset(n) / 1000 // small and different
		phase := func(name string, ns, blocked int64) Phase {
			ns += at * 1000
			return Phase{Name: name, Ops: 10000, Subnets: 10000, Wall: ns + blocked, User: ns / 20, System: ns - ns/20, Blocked: blocked}
		}
		bare.Phases = []Phase{phase("add", 30_000_000, 0), phase("delete", 82_000_000, 1_000_000), phase("flush", 400_000, 0)}
		twin := bare
		twin.Time = bare.Time.Add(30 * time.Second)
		twin.Phases = slices.Clone(bare.Phases)
		for i := range twin.Phases {
			p := &twin.Phases[i]
			more := p.System * (c.slower + at%7) / 1000
			p.Wall, p.System = p.Wall+more, p.System+more
		}
		twin.Profile = &Profile{Event: "cpu-clock", Hz: 997, Scope: "thread", Phases: []PhaseProfile{
			{Phase: "add", Samples: 30, Stacks: []Stack{{stackAlloc, 25}, {stackUser, 5}}},
			c.phase(n), {Phase: "flush", Samples: 1, Stacks: []Stack{{stackAlloc, 1}}},
		}}
		if c.change != nil {
			c.change(&twin)
		}
		for _, r := range []*Run{&bare, &twin} {
			if c.all != nil {
				c.all(r)
			}
			runs = append(runs, *r)
		}
	}
	return runs
}

// phase is the n-th run's profile of delete.
func (c profiledCase) phase(n int) PhaseProfile {
	p := PhaseProfile{Phase: "delete"}
	for frames, weight := range c.weights {
		scale := c.scale
		if scale == 0 {
			scale = 100
		}
		samples := weight * scale / 100
		if weight > 80 {
			samples += int64((n*5+len(frames))%7) - 3 // run-to-run differences
		}
		if samples > 0 {
			p.Stacks = append(p.Stacks, Stack{frames, samples})
			p.Samples += samples
		}
	}
	slices.SortFunc(p.Stacks, func(a, b Stack) int { return strings.Compare(a.Frames, b.Frames) })
	return p
}

func profiledCases() map[string]profiledCase {
	wide := TextOptions{Width: 132}
	usual := profiledCase{runs: 10, weights: deleteWeights(), slower: 4, opts: wide}
	with := func(set func(*profiledCase)) profiledCase { c := usual; set(&c); return c }
	return map[string]profiledCase{
		"profile":        usual,
		"profile-80":     with(func(c *profiledCase) { c.opts = TextOptions{Width: 80, ASCII: true, Color: true} }),
		"profile-40":     with(func(c *profiledCase) { c.opts = TextOptions{Width: 40, ASCII: true} }),
		"profile-few":    with(func(c *profiledCase) { c.runs, c.scale = 2, 6 }),
		"profile-slow":   with(func(c *profiledCase) { c.slower = 70 }),
		"profile-cpus":   with(func(c *profiledCase) { c.change = func(r *Run) { r.Profile.Scope = "cpus" } }),
		"profile-boots":  with(func(c *profiledCase) { c.all = func(r *Run) { r.Boot = fmt.Sprint("boot-", r.Run%7) }; c.runs = 14 }),
		"profile-doubts": with(func(c *profiledCase) { c.change = profileDoubts }),
		"profile-alone": with(func(c *profiledCase) {
			c.runs, c.all = 6, func(r *Run) { r.Partial = r.Partial || r.Profile == nil }
		}),
	}
}

func profileDoubts(r *Run) {
	r.Profile.Lost = int64(r.Run)
	r.Warnings = []Warning{{"profile", fmt.Sprintf("%d samples had no name", 10*r.Run)}}
	for i, s := range r.Profile.Phases[1].Stacks {
		if s.Frames == stackResize {
			r.Profile.Phases[1].Stacks[i].Frames = "\x1b[31m;evil\n<script>"
		}
	}
	if r.Run == 3 {
		r.Verified = false
	}
}

func TestWriteTextProfile(t *testing.T) {
	for name, c := range profiledCases() {
		t.Run(name, func(t *testing.T) {
			got := render(t, c.make(), c.opts)
			golden(t, filepath.Join("testdata", name+".txt"), got)
			for line := range strings.Lines(string(got)) {
				if c.opts.ASCII && strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
					t.Errorf("a character beyond ASCII in %q", line)
				}
			}
		})
	}
}

// What the cells, the counts and the times of a set of runs say must be the same
// whether runs were watched beside them or not.
func TestWatchedRunsTellNoTimes(t *testing.T) {
	runs := profiledCase{runs: 8, weights: deleteWeights(), slower: 900}.make()
	bare := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Instrumented() })
	before, _, _ := strings.Cut(string(render(t, runs, TextOptions{})), "profile of")
	const beside = ", beside them 8 profiled"
	if strings.Count(before, beside) != 1 {
		t.Errorf("the heading does not count the runs beside them:\n%s", before)
	}
	before = strings.Replace(before, beside, "", 1)
	if got, want := strings.TrimSpace(before), string(render(t, bare, TextOptions{})); !strings.HasPrefix(want, got) {
		t.Errorf("with watched runs the tables begin\n%s\nwithout them\n%s", got, want)
	}
	c, err := Compare([]Group{{"base", runs}, {"new", profiledCase{runs: 7, weights: deleteWeights(), slower: 900}.make()[:14]}}, CompareOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.Base.Samples != 8 || c.New[0].Samples != 7 || c.Base.Watched != 8 {
		t.Errorf("samples %d and %d, watched %d", c.Base.Samples, c.New[0].Samples, c.Base.Watched)
	}
	for _, r := range c.Rows {
		if r.Result != Unshown {
			t.Errorf("%s is shown to be %s", r.Name(), r.Result)
		}
	}
}

// What others derived from a profile of forwarding on one core: of a packet gap of
// 130.86 ns fib_table_lookup, with 20.63 % of the samples, takes 26.99 ns, and five
// functions with 37.18 % take 48.65 ns.
func TestShareOfPacketGap(t *testing.T) {
	samples := map[string]int64{"fib_table_lookup": 20626, "bpf_fib_lookup": 12920, "fib_select_path": 2400, "fib_get_table": 830, "l3mdev_fib_table_rcu": 400}
	rest := int64(100000)
	for _, n := range samples {
		rest -= n
	}
	samples["rest"] = rest
	run := Run{Command: "lookup", Cell: "1000", Run: 1, Boot: "b", Verified: true, Spec: []byte(`{"lookup":{"readers":1}}`),
		Latency: []Latency{{Probe: "bpf", Stretch: "rest", Count: 1e6, Reached: 1e9 / 130.86, HDR: "x"}}}
	twin := run
	p := PhaseProfile{Phase: "rest", Samples: 100000}
	for symbol, n := range samples {
		p.Stacks = append(p.Stacks, Stack{"reader_[u];" + symbol, n})
	}
	twin.Profile = &Profile{Event: "cycles", Hz: 997, Scope: "thread", Phases: []PhaseProfile{p}}
	var runs []Run
	for n := 1; n <= 8; n++ {
		run.Run, twin.Run = n, n
		run.Time, twin.Time = time.Unix(int64(n)*10, 0), time.Unix(int64(n)*10+5, 0)
		runs = append(runs, run, twin)
	}
	cells := watchedCells(blocks(runs)[0], (*Run).profiled)
	whole := cells[0].perOperation("rest")
	if whole.why != "" || whole.unit != "lookup" {
		t.Fatal(whole)
	}
	s := sharesOf(cells[0].watched, "rest")
	for _, want := range []struct {
		symbols []string
		ns      float64
	}{{[]string{"fib_table_lookup"}, 26.99}, {[]string{"fib_table_lookup", "bpf_fib_lookup", "fib_select_path", "fib_get_table", "l3mdev_fib_table_rcu"}, 48.65}} {
		if ns, lo, hi := timesShare(s.shareOf(want.symbols...), whole.ns); math.Abs(ns-want.ns) > 0.005 || !(lo < ns && ns < hi) {
			t.Errorf("%v: %.3f ns (%.3f to %.3f), want %.2f", want.symbols, ns, lo, hi, want.ns)
		}
	}
	text := string(render(t, runs, TextOptions{}))
	i := slices.IndexFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasPrefix(l, "fib_table_lookup") })
	if i < 0 || !strings.Contains(strings.Split(text, "\n")[i], " 20.63 ") || !strings.Contains(strings.Split(text, "\n")[i], " 26.99 ") {
		t.Errorf("the table does not say 26.99 ns:\n%s", text)
	}
}

// profiledLookups are quiet runs of one reader with a probe, and their twins, in which
// the reader had its CPU for a fraction of the time.
func profiledLookups(probe, event string, onCPU float64) []Run {
	var runs []Run
	for n := 1; n <= 8; n++ {
		r := Run{Command: "lookup", Cell: "1000", Run: n, Boot: "b", Verified: true, Spec: []byte(`{"lookup":{"readers":1}}`),
			Time:    time.Unix(int64(n)*10, 0),
			Latency: []Latency{{Probe: probe, Stretch: "rest", Count: 1_000_000, Reached: 5e6 - 1000*float64(n)}}}
		twin := r
		twin.Time = time.Unix(int64(n)*10+5, 0)
		samples := int64(1e6 * 200e-9 * 1999 * onCPU)
		twin.Profile = &Profile{Event: event, Hz: 1999, Scope: "thread", Phases: []PhaseProfile{
			{Phase: "rest", Samples: samples, Stacks: []Stack{{"fib_table_lookup", samples * 3 / 4}, {"reader_[u]", samples - samples*3/4}}}}}
		runs = append(runs, r, twin)
	}
	return runs
}

// The time of a lookup is the gap between lookups where the reader had its CPU, and else
// only what the samples of a timer tell.
func TestTimeOfLookups(t *testing.T) {
	for _, c := range []struct {
		event string
		onCPU float64
		ns    float64 // NaN: not known
		note  string
	}{
		{"cpu-clock", 1, 200, ""}, {"cycles", 0.95, 200, ""}, {"cpu-clock", 0.5, 100, "for 50"}, {"cycles", 0.5, math.NaN(), "for 50"},
	} {
		cells := watchedCells(blocks(profiledLookups("bpf", c.event, c.onCPU))[0], (*Run).profiled)
		got := cells[0].perOperation("rest")
		if math.IsNaN(c.ns) {
			if got.why == "" || !strings.Contains(got.why, c.note) {
				t.Errorf("%+v: %+v", c, got)
			}
			continue
		}
		if got.why != "" || got.unit != "lookup" || math.Abs(got.ns.Median/c.ns-1) > 0.01 || !strings.Contains(got.note, c.note) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	several := profiledLookups("bpf", "cpu-clock", 1)
	for i := range several {
		several[i].Latency = append(several[i].Latency, Latency{Probe: "netlink", Stretch: "rest", Count: 1, Reached: 1})
	}
	rate := profiledLookups("bpf", "cpu-clock", 1)
	for i := range rate {
		rate[i].Latency[0].Rate = 1000
	}
	for want, runs := range map[string][]Run{"several probes": several, "--rate max": rate, "cannot be read": profiledLookups("netlink", "cpu-clock", 1)} {
		cells := watchedCells(blocks(runs)[0], (*Run).profiled)
		if got := cells[0].perOperation("rest"); !strings.Contains(got.why, want) {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}

// Of functions whose time of a lookup is compared, both sides go by the same clock.
func TestCompareProfiledLookups(t *testing.T) {
	rows := func(base, new []Run) []CompareRow {
		t.Helper()
		for i := range new {
			new[i].Boot = "new"
		}
		c, err := Compare([]Group{{"base", base}, {"new", new}}, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Functions
	}
	for _, r := range rows(profiledLookups("bpf", "cpu-clock", 1), profiledLookups("bpf", "cpu-clock", 0.5)) {
		want := map[string]float64{"fib_table_lookup": 75, "reader_[u]": 25}[r.Function]
		if r.Per != "lookup" || math.Abs(r.NewSummary.Median-want) > 1 || math.Abs(r.BaseSummary.Median-2*want) > 2 {
			t.Errorf("%s: %v and %v, want about %v and %v", r.Function, r.BaseSummary, r.NewSummary, 2*want, want)
		}
	}
	if got := rows(profiledLookups("bpf", "cycles", 1), profiledLookups("bpf", "cycles", 0.5)); len(got) > 0 {
		t.Errorf("functions are compared whose times are not known: %d", len(got))
	}
}
