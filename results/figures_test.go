package results

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// everySection is runs that have all sections of a record between them.
func everySection(t *testing.T) map[string]*Run {
	t.Helper()
	cases := hostileCases(t)
	cases["forward"] = forwardFixture{rates: published(), runs: 1, names: one, under: "none"}.make()
	cases["flood"] = floods(1, map[int]int64{100: 100_000})
	cases["trace"] = tracedRuns(1, "b", func(int) int64 { return 7 }, nil)
	runs := map[string]*Run{}
	for name, list := range cases {
		last := list[len(list)-1]
		if last.Checks == nil {
			last.Checks = []Check{{Name: "links", Want: 1, Got: 1}}
		}
		runs[name] = &last
	}
	lookup := runs["lookup"]
	lookup.Churn = &Churn{Under: "flap", Flap: Flap{Reached: 10, Operations: 10}}
	return runs
}

// change decodes a run's record with another value at the path, or none where it is nil.
func change(t *testing.T, run *Run, path []any, value any) (Run, error) {
	t.Helper()
	record := generic(t, run)
	container := valueAt(record, path[:len(path)-1])
	switch last := path[len(path)-1]; c := container.(type) {
	case map[string]any:
		if c[last.(string)] == nil {
			t.Fatalf("no %v in the record", path)
		}
		if c[last.(string)] = value; value == nil {
			delete(c, last.(string))
		}
	default:
		t.Fatalf("no %v in the record", path)
	}
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return decodeRun(line)
}

// keysOf splits "phases[0].wall_ns".
func keysOf(path string) (keys []any) {
	for _, m := range regexp.MustCompile(`\[(\d+)\]|[^.\[]+`).FindAllStringSubmatch(path, -1) {
		if m[1] != "" {
			i, _ := strconv.Atoi(m[1])
			keys = append(keys, i)
		} else {
			keys = append(keys, m[0])
		}
	}
	return keys
}

// What a verdict is made from must be there, and may not be null.
func TestMissingFieldsAreRefused(t *testing.T) {
	runs := everySection(t)
	for name, paths := range map[string]string{
		"delete": "time cell run boot spec environment phases verified partial checks[0].want checks[0].got " +
			"phases[1].name phases[1].ops phases[1].wall_ns phases[1].user_ns phases[1].system_ns phases[1].blocked_ns",
		"lookup": "latency[0].probe latency[0].stretch latency[0].rate latency[0].count latency[0].p50_ns latency[0].p99_ns latency[0].net_p50_ns " +
			"churn.reached churn.operations churn.late",
		"flap":    "flap.reached flap.operations flap.late phases[1].each.count phases[1].each.p50_ns phases[1].each.p99_ns",
		"resize":  "resize.pattern resize.transitions[0].op resize.transitions[0].p50_ns",
		"forward": "forward.stretches[0].stretch forward.stretches[0].forwarded forward.stretches[0].wall_ns",
		"flood":   "flood.cookies flood.wall_ns",
		"profile": "profile.phases[0].phase profile.phases[0].samples",
		"trace":   "trace.phases[1].phase trace.phases[1].functions[1].function trace.phases[1].functions[1].calls",
	} {
		for path := range strings.SplitSeq(paths, " ") {
			want := "is no record of a run: it has no " + path
			if _, err := change(t, runs[name], keysOf(path), nil); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			if _, err := change(t, runs[name], keysOf(path), json.RawMessage("null")); err == nil || err.Error() != want {
				t.Errorf("%s, null: %v, want %q", name, err, want)
			}
		}
	}
}

// No figure of any section may be below zero, but for those that can be, nor so large
// that sums of them do not fit.
func TestWrongFiguresAreRefused(t *testing.T) {
	signed := regexp.MustCompile(`^(environment\.fib_sync_mem|latency\[\d+\]\.net_p50_ns|checks\[\d+\]\.(want|got))$`)
	for name, run := range everySection(t) {
		record := generic(t, run)
		for _, keys := range pathsOf(record) {
			path := pathText(keys)
			if _, number := valueAt(record, keys).(json.Number); !number || strings.HasPrefix(path, "spec.") || strings.HasSuffix(path, "].table") {
				continue // no figure, or one that the decoder refuses: a table is of 32 bits
			}
			if _, listed := keys[len(keys)-1].(int); listed {
				continue
			}
			_, err := change(t, run, keys, json.Number("-1"))
			if signed.MatchString(path) != (err == nil) || err != nil && !strings.Contains(err.Error(), "its "+path+" is below zero") {
				t.Errorf("%s: %s of -1: %v", name, path, err)
			}
			if strings.HasSuffix(path, "samples") {
				continue // of another number than their stacks have
			}
			if _, err := change(t, run, keys, json.Number("9007199254740994")); err == nil {
				t.Errorf("%s: %s of 2^53 + 2 is taken", name, path)
			}
			if _, err := change(t, run, keys, json.Number("4611686018427387904")); err == nil || !strings.Contains(err.Error(), "its "+path+" is 4.612e+18, beyond 9007199254740992 (2^53)") {
				t.Errorf("%s: %s of 2^62: %v", name, path, err)
			}
			if _, err := change(t, run, keys, json.Number("9007199254740992")); err != nil {
				t.Errorf("%s: %s of 2^53: %v", name, path, err)
			}
		}
	}
}

func pathText(keys []any) string {
	text := ""
	for _, key := range keys {
		if i, ok := key.(int); ok {
			text += fmt.Sprintf("[%d]", i)
		} else {
			text += "." + key.(string)
		}
	}
	return strings.TrimPrefix(text, ".")
}

// A tnode has no fewer bits than none, and no more than a key.
func TestSizesOfTnodes(t *testing.T) {
	run := everySection(t)["delete"]
	for bits, ok := range map[int]bool{-1: false, 0: true, 64: true, 65: false} {
		run.Trie.Before.IPv4 = &TrieStats{Tables: []Trie{{Name: "main", TnodesByBits: map[int]int64{bits: 1}}}}
		line, err := encodeLine(run)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeRun(line); (err == nil) != ok {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}

func TestPlus(t *testing.T) {
	for _, c := range []struct{ x, y, want int64 }{
		{1, 2, 3}, {math.MaxInt64, 0, math.MaxInt64}, {math.MaxInt64 - 1, 1, math.MaxInt64}, {math.MaxInt64, 1, math.MaxInt64}, {1 << 62, 1 << 62, math.MaxInt64},
	} {
		if got := plus(c.x, c.y); got != c.want {
			t.Errorf("%d + %d = %d", c.x, c.y, got)
		}
	}
	if got := plus(1, 2, 3, math.MaxInt64, 4); got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
}

// Thousands of runs of the longest times make sums that are too large to be told, and
// none that is below zero.
func TestSumsOfTheLargestFigures(t *testing.T) {
	f := threeCells()
	f.runs = 1100
	f.change = func(r *Run, _ int) { r.Phases[len(r.Phases)-1].Wall = MaxFigure }
	var c counts
	for _, r := range f.make() {
		c.add(&r)
	}
	if c.wall != math.MaxInt64 {
		t.Errorf("%d runs took %v", c.runs, c.wall)
	}
}

// A record of the first version has none of the sections and fields that came later.
func TestFirstRecord(t *testing.T) {
	const record = `{"schema":1,"time":"2026-01-01T00:00:00Z","command":"delete-iface","cell":"addrs","run":1,"boot":"","spec":{"subnets":8},` +
		`"environment":{"kernel":"6.0.0","kernel_version":"#1","arch":"x86_64","command_line":"quiet","cpu":"CPU","cpus":2,"virtualisation":"kvm",` +
		`"clock_source":"tsc","governor":"","fib_sync_mem":-1,"debug":null,"rootless":false,"fibchurn":"devel"},` +
		`"phases":[{"name":"delete","ops":1,"wall_ns":3,"user_ns":1,"system_ns":1,"blocked_ns":1,"voluntary_switches":0,"involuntary_switches":0}],` +
		`"trie":{"before":{},"after":{}},"verified":true,"warnings":[],"partial":false}`
	runs, warnings, err := Read(strings.NewReader(record), "f")
	if len(runs) != 1 || len(warnings) > 0 || err != nil || !runs[0].Sample() {
		t.Errorf("%d runs, %v, %v", len(runs), warnings, err)
	}
}
