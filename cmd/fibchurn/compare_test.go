package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fibchurn/results"
)

// callCompare runs the command compare in this process; a blank ends an argument.
func callCompare(args string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	app := p.app()
	if app.Command("compare") == nil {
		app.Commands = append(app.Commands, p.compare())
	}
	code = exitCode(app.Run(append([]string{"fibchurn"}, strings.Fields(args)...)), &errs)
	return code, out.String(), errs.String()
}

// A kernelFixture makes files of runs of eight boots, one run each.
type kernelFixture struct {
	dir string
	rng *rand.Rand
}

func newKernelFixture(t *testing.T) *kernelFixture {
	return &kernelFixture{t.TempDir(), rand.New(rand.NewPCG(1, 1))}
}

func (f *kernelFixture) runs(label string, factor float64) []results.Run {
	var runs []results.Run
	for boot := range 8 {
		wall := int64(1e7 * factor * math.Exp(0.02*f.rng.NormFloat64()))
		runs = append(runs, results.Run{
			Schema: results.Schema, Time: time.Date(2026, 1, 1, boot, len(label), 0, 0, time.UTC), Command: "delete-iface", Cell: "addrs", Run: 1,
			Boot: fmt.Sprint(label, boot), Spec: []byte(`{"subnets":8192,"seed":1}`), Verified: true,
			Environment: results.Environment{Label: label, Kernel: "6.0.0-" + label, Virtualisation: "kvm", CPUs: 2, Debug: []string{}, LinkKind: "dummy"},
			Phases:      []results.Phase{{Name: "delete", Ops: 1, Wall: wall, System: wall / 2}},
		})
	}
	return runs
}

// write makes a file of runs in the fixture's directory.
func (f *kernelFixture) write(t *testing.T, name string, runs ...results.Run) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	file, err := results.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		if err := file.Write(&runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompareExitCodes(t *testing.T) {
	f := newKernelFixture(t)
	base := f.write(t, "base.jsonl", f.runs("base", 1)...)
	same := f.write(t, "same.jsonl", f.runs("same", 1)...)
	slow := f.write(t, "slow.jsonl", f.runs("slow", 1.2)...)
	fast := f.write(t, "fast.jsonl", f.runs("fast", 0.8)...)
	all := f.write(t, "all.jsonl", append(f.runs("base", 1), f.runs("slow", 1.2)...)...)
	tcg := f.runs("tcg", 1)
	for i := range tcg {
		tcg[i].Environment.Virtualisation = "tcg"
	}
	emulated := f.write(t, "tcg.jsonl", tcg...)
	wider := f.runs("wider", 1)
	for i := range wider {
		wider[i].Spec = []byte(`{"subnets":4096,"ifaces":2,"seed":1}`)
	}
	parameters := f.write(t, "wider.jsonl", wider...)
	// Two cells, of which the second may fail, be missing, or lack a phase.
	pair := func(label string, factor float64, change func(*results.Run) bool) string {
		all := f.runs(label, factor)
		for _, r := range f.runs(label, 1) {
			if r.Cell = "routes"; change == nil || change(&r) {
				all = append(all, r)
			}
		}
		return f.write(t, label+".jsonl", all...)
	}
	one := 0
	two, alike := pair("two", 1, nil), pair("alike", 1, nil)
	failed := pair("failed", 1, func(r *results.Run) bool { r.Verified = false; return true })
	failedOnce := pair("failed-once", 1, func(r *results.Run) bool { one++; r.Verified = one > 1; return true })
	broken := pair("broken", 1, func(r *results.Run) bool { r.Checks = []results.Check{{Name: "links", Want: 1}}; return true })
	watched := pair("watched", 1, func(r *results.Run) bool {
		if one--; one == 3 {
			r.Verified, r.Profile = false, &results.Profile{}
		}
		return true
	})
	lost := pair("lost", 1, func(*results.Run) bool { return false })
	lostAndSlow := pair("lost-and-slow", 1.5, func(*results.Run) bool { return false })
	stopped := pair("stopped", 1, func(r *results.Run) bool { r.Verified, r.Partial = false, true; return true })
	otherPhase := pair("other-phase", 1, func(r *results.Run) bool { r.Phases[0].Name = "remove"; return true })
	allFailed := f.runs("all-failed", 1)
	for i := range allFailed {
		allFailed[i].Verified = false
	}
	nothing := f.write(t, "all-failed.jsonl", allFailed...)
	for name, c := range map[string]struct {
		args   string
		code   int
		stdout string // part of it
		stderr string
	}{
		"a difference is no failure":     {"compare " + base + " " + slow, 0, "slower in 2 (most: delete-iface addrs, delete, wall time, +", ""},
		"a regression":                   {"compare --fail-above 5% " + base + " " + slow, 1, "slower !", "regression: delete-iface addrs, delete, "},
		"flags after the files":          {"compare " + base + " " + slow + " --fail-above=5 --color never", 1, "slower !", "above 5 %, and 1 more"},
		"flags between the files":        {"compare " + base + " --fail-above 5 " + slow, 1, "slower !", "regression"},
		"below the limit":                {"compare --fail-above 50% " + base + " " + slow, 0, "slower by more than 50 % in none", ""},
		"an improvement":                 {"compare --fail-above 0 " + base + " " + fast, 0, "faster in 2", ""},
		"equal":                          {"compare --fail-above 0 " + base + " " + same, 0, "No change", ""},
		"by label":                       {"compare --by label --fail-above 5 " + all, 1, "base: base: 8 runs of 8 boots", "regression"},
		"by kernel in two files":         {"compare --by kernel " + base + " " + slow, 0, "new: 6.0.0-slow", ""},
		"three files":                    {"compare --metric wall " + base + " " + fast + " " + slow, 0, "Against base (base.jsonl), of 1 comparison new (slow.jsonl) is slower in 1", ""},
		"forced":                         {"compare --force " + base + " " + emulated, 0, "warning: forced: not comparable: virtualisation: base has kvm, new has tcg", ""},
		"by the property that differs":   {"compare --by environment.virtualisation " + base + " " + emulated, 0, "base: kvm", ""},
		"colour":                         {"compare --color always " + base + " " + slow, 0, "\x1b[31m", ""},
		"global flags before":            {"-j compare " + base + " " + slow, 0, `{"row":"comparison"`, ""},
		"a file after two dashes":        {"compare -- " + base + " " + slow, 0, "slower", ""},
		"refused":                        {"compare " + base + " " + emulated, 2, "", "virtualisation: base has kvm, new has tcg (delete-iface addrs); --force compares them all the same"},
		"nothing of the phase":           {"compare --phase nonesuch " + base + " " + slow, 2, "", "no such figure in common"},
		"no file":                        {"compare", 2, "", "no file of runs given"},
		"one file":                       {"compare " + base, 2, "", "one file takes --by"},
		"one value":                      {"compare --by label " + base, 2, "", `all runs have "base"`},
		"unknown key":                    {"compare --by environment.colour " + base, 2, "", `no such key "environment.colour"`},
		"no such file":                   {"compare " + base + " /no/such/file", 2, "", "/no/such/file"},
		"a directory":                    {"compare " + base + " " + f.dir, 2, "", f.dir + " is a directory and no file of runs"},
		"unknown metric":                 {"compare --metric walls " + base + " " + slow, 2, "", "--metric walls: must be one of wall,"},
		"unknown flag":                   {"compare --metrics wall " + base, 2, "", "unknown flag -metrics"},
		"unknown flag after the files":   {"compare " + base + " --metrics wall", 2, "", "unknown flag -metrics"},
		"flag without value":             {"compare " + base + " --by", 2, "", "flag needs an argument: -by"},
		"bad value after the files":      {"compare " + base + " --alpha x", 2, "", `invalid value "x" for flag -alpha`},
		"alpha 0":                        {"compare --alpha 0 " + base + " " + slow, 2, "", "--alpha 0: must be above 0 and below 1"},
		"alpha not a number":             {"compare --alpha NaN " + base + " " + slow, 2, "", "--alpha NaN"},
		"negative limit":                 {"compare --fail-above -5% " + base + " " + slow, 2, "", "must be a percentage"},
		"limit that is none":             {"compare --fail-above much " + base + " " + slow, 2, "", "--fail-above much: must be a percentage"},
		"color":                          {"compare --color pink " + base + " " + slow, 2, "", "--color pink"},
		"a limit in another alpha":       {"compare --alpha 0.0001 --fail-above 5% " + base + " " + slow, 1, "Nothing can be shown", "--fail-above: no regression could have been found, however large: 2 comparisons take at least 9 boots a side"},
		"nothing shown, no limit":        {"compare --alpha 0.0001 " + base + " " + slow, 0, "Nothing can be shown", ""},
		"a file against itself":          {"compare " + base + " " + base, 2, "", "not comparable: runs: base has 8, new has the same 8; --force"},
		"against itself, forced":         {"compare --force " + base + " " + base, 0, "warning: forced: not comparable: runs", ""},
		"some runs on both sides":        {"compare " + all + " " + base, 0, "warning: same: 8 of the runs of new are in base too", ""},
		"JSON after the files":           {"compare " + base + " " + slow + " -j --metric cpu --metric wall", 0, `"comparisons":2`, ""},
		"every parameter that is forced": {"compare --force " + base + " " + parameters, 0, "parameter ifaces: base has none, new has 2", ""},
		"a limit, and all is there":      {"compare --fail-above 50 " + two + " " + alike, 0, "No change", ""},
		"a limit and a failed cell": {"compare --fail-above 50 " + two + " " + failed, 1, "8 failed their checks",
			"fibchurn: --fail-above: 8 runs of new (failed.jsonl) failed their checks: delete-iface routes (8); 1 cell of base has nothing to compare with in new (failed.jsonl): delete-iface routes\n"},
		"a limit and one failed run":      {"compare --fail-above 50 " + two + " " + failedOnce, 1, "", "fibchurn: --fail-above: 1 run of new (failed-once.jsonl) failed its checks: delete-iface routes (1)\n"},
		"a limit and broken checks":       {"compare --fail-above 50 " + two + " " + broken, 1, "", "8 runs of new (broken.jsonl) failed their checks"},
		"a limit and a failed profile":    {"compare --fail-above 50 " + two + " " + watched, 1, "", "--fail-above: 1 run of new (watched.jsonl) failed its checks: delete-iface routes (1)\n"},
		"a limit and a cell that is gone": {"compare --fail-above 50 " + two + " " + lost, 1, "only base has delete-iface routes", "--fail-above: 1 cell of base has nothing to compare with in new (lost.jsonl): delete-iface routes\n"},
		"a limit and a stopped cell":      {"compare --fail-above 50 " + two + " " + stopped, 1, "8 interrupted", "--fail-above: 1 cell of base has nothing"},
		"a limit and a phase that is gone": {"compare --fail-above 50 " + two + " " + otherPhase, 1, "one-side",
			"--fail-above: 2 rows of base have nothing to compare with in new (other-phase.jsonl): delete-iface routes, delete, wall time; delete-iface routes, delete, CPU time\n"},
		"a regression and a cell that is gone": {"compare --fail-above 5 " + two + " " + lostAndSlow, 1, "slower !", "above 5 %, and 1 more; besides, 1 cell of base has nothing"},
		"a blind limit and a cell gone":        {"compare --alpha 0.0001 --fail-above 5 " + two + " " + lost, 1, "", "9 boots a side; besides, 1 cell of base has nothing"},
		"a limit of three sides":               {"compare --fail-above 50 " + two + " " + lost + " " + failedOnce, 1, "", "in new (lost.jsonl): delete-iface routes; 1 run of new (failed-once.jsonl) failed"},
		"a limit by label":                     {"compare --by label --fail-above 50 " + two + " " + lost, 1, "", "1 cell of base has nothing to compare with in new (lost): delete-iface routes"},
		"a limit by cell":                      {"compare --by cell --fail-above 50 " + two, 0, "", ""},
		"a limit by cell, failed":              {"compare --by cell --fail-above 50 " + failedOnce, 1, "", "1 run of new (routes) failed its checks"},
		"no limit, and a failed cell":          {"compare " + two + " " + failed, 0, "8 failed their checks", ""},
		"no limit, and a cell that is gone":    {"compare " + two + " " + lost, 0, "only base has delete-iface routes", ""},
		"a cell gone that was not asked for":   {"compare --phase delete --fail-above 50 " + lost + " " + two, 0, "only new has delete-iface routes", ""},
		"a limit, and all failed":              {"compare --fail-above 50 " + two + " " + nothing, 1, "", "--fail-above: not comparable: samples: base has 16 samples, new has 0 samples (0 interrupted, 8 failed their checks)"},
		"no limit, and all failed":             {"compare " + two + " " + nothing, 2, "", "not comparable: samples"},
		"a phase and a metric together":        {"compare --phase delete --metric cpu -j " + base + " " + slow, 0, `"metric":"cpu"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := callCompare(c.args)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
			if !strings.Contains(stdout, c.stdout) || c.code == 2 && stdout != "" {
				t.Errorf("stdout %s, want %q", stdout, c.stdout)
			}
			lines := strings.Count(stderr, "\n")
			if !strings.Contains(stderr, c.stderr) || code == 0 && lines != 0 || code != 0 && lines != 1 {
				t.Errorf("stderr %q, want one line with %q", stderr, c.stderr)
			}
		})
	}
}

func TestCompareNoColor(t *testing.T) {
	f := newKernelFixture(t)
	base, slow := f.write(t, "base.jsonl", f.runs("base", 1)...), f.write(t, "slow.jsonl", f.runs("slow", 1.2)...)
	t.Setenv("NO_COLOR", "1")
	if _, stdout, _ := callCompare("compare " + base + " " + slow); strings.Contains(stdout, "\x1b") {
		t.Error("colour in spite of NO_COLOR")
	}
}

// A torn line is a warning, and what it lost is no error; any other bad line is.
func TestCompareTornLines(t *testing.T) {
	f := newKernelFixture(t)
	base, slow := f.write(t, "base.jsonl", f.runs("base", 1)...), f.write(t, "slow.jsonl", f.runs("slow", 1.2)...)
	for _, c := range []struct {
		tail, flags string
		code        int
		stdout      string
		stderr      string
	}{
		{`{"schema":1,"time":"20`, "", 0, "warning: torn: ", ""},
		{`{"schema":1,"time":"20`, "-j", 0, "", "fibchurn: warning: "},
		{`{"schema":99}`, "", 2, "", "schema 99 is newer"},
		{`hello`, "", 2, "", "slow.jsonl:9: is no record of a run"},
	} {
		text, err := os.ReadFile(slow)
		if err != nil {
			t.Fatal(err)
		}
		torn := filepath.Join(t.TempDir(), "slow.jsonl")
		if err := os.WriteFile(torn, append(text, c.tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := callCompare("compare " + c.flags + " " + base + " " + torn)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d\n%s%s", c.tail, code, stdout, stderr)
		}
	}
}

func TestCompareJSON(t *testing.T) {
	f := newKernelFixture(t)
	base, slow := f.write(t, "base.jsonl", f.runs("base", 1)...), f.write(t, "slow.jsonl", f.runs("slow", 1.2)...)
	_, stdout, _ := callCompare("compare -j " + base + " " + slow)
	for line := range strings.Lines(stdout) {
		var row struct {
			Command, Cell, Phase, Metric, Result string
			Delta                                struct{ Estimate float64 }
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Command != "delete-iface" || row.Result != "slower" || math.Abs(row.Delta.Estimate-0.2) > 0.05 {
			t.Errorf("%+v", row)
		}
	}
}

// Files of one name are told apart by their directories.
func TestCompareFilesOfOneName(t *testing.T) {
	f := newKernelFixture(t)
	if err := os.Mkdir(filepath.Join(f.dir, "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	base, slow := f.write(t, "runs.jsonl", f.runs("base", 1)...), f.write(t, "b/runs.jsonl", f.runs("slow", 1.2)...)
	_, stdout, _ := callCompare("compare " + base + " " + slow)
	if !strings.Contains(stdout, "base: "+base) || !strings.Contains(stdout, "new: "+slow) {
		t.Error(stdout)
	}
}

// What was forced is in the rows of JSON, and in the warnings as the text has them.
func TestCompareForcedJSON(t *testing.T) {
	f := newKernelFixture(t)
	base := f.write(t, "base.jsonl", f.runs("base", 1)...)
	new := f.runs("new", 1)
	for i := range new {
		new[i].Spec, new[i].Environment.CPUs = []byte(`{"subnets":4096,"ifaces":2,"seed":1}`), 4
	}
	other := f.write(t, "new.jsonl", new...)
	code, stdout, stderr := callCompare("compare -j --force " + base + " " + other)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	want := `["parameter subnets: base has 8192, new has 4096","parameter ifaces: base has none, new has 2","CPUs: base has 2, new has 4"]`
	rows := 0
	for line := range strings.Lines(stdout) {
		var row struct{ Forced json.RawMessage }
		if err := json.Unmarshal([]byte(line), &row); err != nil || string(row.Forced) != want {
			t.Errorf("forced %s, want %s, %v", row.Forced, want, err)
		}
		rows++
	}
	if rows == 0 || strings.Count(stderr, "fibchurn: warning: forced: not comparable: ") != 3 {
		t.Errorf("%d rows, stderr %s", rows, stderr)
	}
	if _, stdout, _ := callCompare("compare -j --force " + base + " " + f.write(t, "same.jsonl", f.runs("same", 1)...)); strings.Contains(stdout, "forced") || stdout == "" {
		t.Errorf("nothing was forced: %s", stdout)
	}
}
