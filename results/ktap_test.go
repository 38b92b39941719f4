package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// suiteOutcomes has every verdict, and names and reasons that must not break a stream.
func suiteOutcomes() []Outcome {
	return []Outcome{
		{Name: "delete-iface --subnets 256", Line: 3, Verdict: Passed, Took: 1234567 * time.Microsecond},
		{Name: "routes --link-kind dummy", Line: 4, Verdict: Skipped, Took: time.Millisecond,
			Reason: "an interface of kind dummy: not supported; what would help: load the module dummy"},
		{Name: "routes --prefixes my #1 list", Line: 5, Verdict: Failed, Took: 20 * time.Millisecond, Reason: "one line\nnot ok 9 and another"},
		{Name: "routes --count 1M", Line: 7, Verdict: Interrupted, Reason: "interrupted", Took: 3 * time.Second},
		{Name: "routes --count 2M", Line: 8, Verdict: Skipped, Reason: "interrupted before it was started"},
		{Name: "routes --count 3M", Line: 9, Verdict: Skipped, Reason: "interrupted before it was started"},
	}
}

func writeKTAP(t *testing.T, outcomes []Outcome, comments func(i int, w io.Writer)) string {
	t.Helper()
	var b strings.Builder
	k, err := NewKTAP(&b, len(outcomes))
	for i, o := range outcomes {
		if err == nil {
			comments(i, k.Comments())
			err = k.Result(o)
		}
	}
	if err == nil {
		err = k.End()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestKTAP(t *testing.T) {
	stream := writeKTAP(t, suiteOutcomes(), func(i int, w io.Writer) {
		fmt.Fprintf(w, "a table\n\nok %d of a ", i)
		fmt.Fprint(w, "row without an end")
	})
	mustBeGolden(t, "ktap.txt", stream)
	got, err := parseKTAP(stream)
	if err != nil {
		t.Fatal(err)
	}
	want := []ktapResult{
		{true, "delete-iface --subnets 256", "", "", 1234},
		{true, "routes --link-kind dummy", "SKIP", "an interface of kind dummy: not supported; what would help: load the module dummy", -1},
		{false, "routes --prefixes my _1 list", "", "", 20},
		{false, "routes --count 1M", "ERROR", "interrupted", -1},
		{true, "routes --count 2M", "SKIP", "interrupted before it was started", -1},
		{true, "routes --count 3M", "SKIP", "interrupted before it was started", -1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ktapResult{})); diff != "" {
		t.Error(diff)
	}
}

// What cannot be written is an error and not silence.
func TestKTAPWriteErrors(t *testing.T) {
	for room := range 5 {
		w := &failing{room: room}
		k, err := NewKTAP(w, 1)
		if err == nil {
			fmt.Fprintln(k.Comments(), "a comment")
			err = k.Result(suiteOutcomes()[2])
		}
		if err == nil {
			err = k.End()
		}
		if !errors.Is(err, errFull) {
			t.Errorf("after %d writes: %v", room, err)
		}
	}
}

var errFull = errors.New("full")

type failing struct{ room int }

func (f *failing) Write(p []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteOutcomes(t *testing.T) {
	for name, opts := range map[string]TextOptions{"suite.txt": {}, "suite-narrow-colour.txt": {Width: 60, Color: true}} {
		var b strings.Builder
		if err := WriteOutcomes(&b, "suite my.suite", suiteOutcomes(), opts); err != nil {
			t.Fatal(err)
		}
		mustBeGolden(t, name, b.String())
	}
}

func mustBeGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}

type ktapResult struct {
	ok                bool
	name              string
	directive, reason string
	ms                int // -1: none
}

// parseKTAP is a strict reading of Documentation/dev-tools/ktap.rst, without nesting:
// nothing but a version line, a plan, comments and as many result lines as planned,
// numbered from 1, then kselftest's totals, which must be right.
func parseKTAP(stream string) ([]ktapResult, error) {
	lines := strings.Split(strings.TrimSuffix(stream, "\n"), "\n")
	if len(lines) < 3 || lines[0] != "TAP version 13" {
		return nil, fmt.Errorf("no version line")
	}
	plan := regexp.MustCompile(`^1\.\.(\d+)$`).FindStringSubmatch(lines[1])
	if plan == nil {
		return nil, fmt.Errorf("no plan in %q", lines[1])
	}
	result := regexp.MustCompile(`^(ok|not ok) (\d+) ([^#]*[^# ]) # (?:time=(\d+)ms|(SKIP|ERROR|XFAIL|TIMEOUT) (.*[^ ]))$`)
	var results []ktapResult
	tally := map[string]int{}
	for _, line := range lines[2 : len(lines)-1] {
		if line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		m := result.FindStringSubmatch(line)
		if m == nil || m[2] != strconv.Itoa(len(results)+1) {
			return nil, fmt.Errorf("result %d is %q", len(results)+1, line)
		}
		r := ktapResult{ok: m[1] == "ok", name: m[3], directive: m[5], reason: m[6], ms: -1}
		if m[4] != "" {
			r.ms, _ = strconv.Atoi(m[4])
		}
		tally[m[1]+m[5]]++
		results = append(results, r)
	}
	if plan[1] != strconv.Itoa(len(results)) {
		return nil, fmt.Errorf("%d results, planned are %s", len(results), plan[1])
	}
	totals := fmt.Sprintf("# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:%d", tally["ok"], tally["not ok"], tally["okSKIP"], tally["not okERROR"])
	if last := lines[len(lines)-1]; last != totals {
		return nil, fmt.Errorf("totals are %q, want %q", last, totals)
	}
	return results, nil
}
