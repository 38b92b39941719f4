package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// everyRendering renders the runs in every way there is, without colours, by name.
func everyRendering(runs []Run) map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{
		"folded": func(w io.Writer) error { return WriteFolded(w, runs) },
		"svg":    func(w io.Writer) error { return WriteFlameGraph(w, runs) },
		"text with histograms": func(w io.Writer) error {
			return WriteText(w, runs, TextOptions{Width: 60, Histograms: true, ASCII: true})
		},
	}
	for _, f := range Formats() {
		all[f.Name] = func(w io.Writer) error { return f.Write(w, runs, FormatOptions{}) }
	}
	for _, by := range []string{"kernel", "cell", "environment.cpus"} {
		all["comparison by "+by] = func(w io.Writer) error { return writeComparisonBy(w, runs, by) }
	}
	return all
}

// writeComparisonBy writes what a comparison comes to, or why there is none.
func writeComparisonBy(w io.Writer, runs []Run, by string) error {
	groups, err := GroupBy(runs, by)
	if err != nil || len(groups) < 2 {
		return err
	}
	limit := 0.05
	c, err := Compare(groups, CompareOptions{By: by, Force: true, FailAbove: &limit})
	if err != nil {
		_, err := fmt.Fprintln(w, err)
		return err
	}
	if err := WriteComparison(w, c, TextOptions{Width: 80}); err != nil {
		return err
	}
	for _, r := range c.Regressions() {
		if _, err := fmt.Fprintln(w, r.Name()); err != nil {
			return err
		}
	}
	return EncodeComparison(w, c)
}

// noNumber finds what is no number among figures.
var noNumber = regexp.MustCompile(`\bNaN\b|[-+]?\bInf\b`)

// mustRenderHarmlessly demands of every rendering that it comes, is bounded, holds
// nothing that moves a terminal's cursor, and no figure that is no number.
func mustRenderHarmlessly(t *testing.T, runs []Run) {
	t.Helper()
	var lines bytes.Buffer
	if err := writeJSONFormat(&lines, runs, FormatOptions{}); err != nil {
		return // such as a time of the year 10000: nobody could have written it
	}
	named := noNumber.Match(lines.Bytes())
	all := everyRendering(runs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out := &boundedBuffer{left: 1<<20 + 100*lines.Len()}
		if err := all[name](out); errors.Is(err, errUnbounded) {
			t.Errorf("%s: %d bytes of runs became more than %d", name, lines.Len(), out.Len())
		}
		for _, r := range out.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
				at := strings.IndexRune(out.String(), r)
				t.Errorf("%s has the character %U: %q", name, r, out.String()[max(0, at-80):min(out.Len(), at+40)])
				break
			}
		}
		if at := noNumber.FindIndex(out.Bytes()); at != nil && !named {
			t.Errorf("%s: ...%s...", name, out.Bytes()[max(0, at[0]-80):min(out.Len(), at[1]+20)])
		}
	}
}

var errUnbounded = errors.New("far more than was read")

// A boundedBuffer has an end.
type boundedBuffer struct {
	bytes.Buffer
	left int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errUnbounded
	}
	return b.Buffer.Write(p)
}

// hostileCases are runs of every command with all that a record may have.
func hostileCases(t testing.TB) map[string][]Run {
	cases := formatCases(t)
	cases["profile"] = hostileProfile()
	for name, c := range profiledCases() {
		cases["profile "+name] = c.make()
	}
	cases["netns"] = netnsRuns(6, nil)
	cases["nexthops"] = nexthopsRuns(6, nil)
	cases["blocked"] = blockedRuns(func(*Run) {})
	cases["listening"] = churned("routes", 6, listening(true))
	return cases
}

// Whatever figures or texts of a record are changed to whatever else they can be, in
// one run or in all, every rendering stays harmless.
func TestHostileRecords(t *testing.T) {
	for name, runs := range hostileCases(t) {
		t.Run(name, func(t *testing.T) {
			mustRenderHarmlessly(t, runs)
			h := newHostile(t, runs)
			for seed := range uint64(8) {
				h.try(t, seed)
			}
		})
	}
}

// FuzzHostileRecords is the same for other seeds.
func FuzzHostileRecords(f *testing.F) {
	var all []*hostile
	cases := hostileCases(f)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		all = append(all, newHostile(f, cases[name]))
	}
	for i := range all {
		f.Add(uint64(i), uint64(1000))
	}
	f.Fuzz(func(t *testing.T, which, seed uint64) { all[which%uint64(len(all))].try(t, seed) })
}

// A hostile changes the records of a case.
type hostile struct {
	records []any
	paths   [][]any
}

func newHostile(t testing.TB, runs []Run) *hostile {
	h := &hostile{}
	for i := range runs[:min(len(runs), 12)] {
		h.records = append(h.records, generic(t, &runs[i]))
	}
	h.paths = pathsOf(h.records[len(h.records)-1])
	return h
}

// try renders the records with one to three changes.
func (h *hostile) try(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	records := h.records
	var changes []string
	for range 1 + random.IntN(3) {
		path := h.paths[random.IntN(len(h.paths))]
		values := hostileValues(valueAt(h.records[len(h.records)-1], path))
		value, all := values[random.IntN(len(values))], random.IntN(2) == 0
		changes = append(changes, fmt.Sprintf("%v = %.40q (in all: %v)", path, value, all))
		records = changedAt(t, records, path, value, all)
	}
	var text bytes.Buffer
	for _, record := range records {
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	runs, _, err := Read(&text, "hostile")
	if err != nil {
		return // refused
	}
	defer func() {
		if failure := recover(); failure != nil {
			t.Errorf("with %v", changes)
			panic(failure)
		}
	}()
	mustRenderHarmlessly(t, runs)
	if t.Failed() {
		t.Fatalf("with %v", changes)
	}
}

// hostileValues are what may stand in the place of a value.
func hostileValues(v any) []any {
	switch v.(type) {
	case json.Number:
		return []any{json.Number("0"), json.Number("-1"), json.Number("1"), json.Number("9007199254740992"), json.Number("9223372036854775807"),
			json.Number("-9223372036854775808"), json.Number("1.7e308"), json.Number("5e-324")}
	case string:
		return []any{"", "\x1b]0;x\x07\u009b31m\u202e\u2028\r\nok 1 forged\n# <x> ;|,\"'\\%=\x7f\ufffd", strings.Repeat("x", 5000)}
	}
	return nil
}

// generic is the run as JSON has it.
func generic(t testing.TB, run *Run) any {
	t.Helper()
	line, err := encodeLine(run)
	if err != nil {
		t.Fatal(err)
	}
	return decodeGeneric(t, line)
}

func decodeGeneric(t testing.TB, line []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// pathsOf are those of all numbers and strings, by keys and indices. Of a list the
// first and the last will do.
func pathsOf(v any) (paths [][]any) {
	below := func(key any, v any) {
		for _, p := range pathsOf(v) {
			paths = append(paths, append([]any{key}, p...))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "schema" {
				below(key, v[key])
			}
		}
	case []any:
		for i := range v {
			if i == 0 || i == len(v)-1 {
				below(i, v[i])
			}
		}
	case json.Number, string:
		return [][]any{nil}
	}
	return paths
}

func valueAt(v any, path []any) any {
	for _, key := range path {
		switch container := v.(type) {
		case map[string]any:
			v = container[key.(string)]
		case []any:
			if key.(int) >= len(container) {
				return nil
			}
			v = container[key.(int)]
		default:
			return nil
		}
	}
	return v
}

// changedAt are the records with another value at the path, in the last one or in all
// that have one there.
func changedAt(t *testing.T, records []any, path []any, value any, all bool) []any {
	t.Helper()
	changed := slices.Clone(records)
	for i, record := range records {
		if i < len(records)-1 && !all || valueAt(record, path) == nil {
			continue
		}
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		changed[i] = decodeGeneric(t, line)
		switch container := valueAt(changed[i], path[:len(path)-1]).(type) {
		case map[string]any:
			container[path[len(path)-1].(string)] = value
		case []any:
			container[path[len(path)-1].(int)] = value
		}
	}
	return changed
}

// FuzzRender renders whatever a file of runs holds.
func FuzzRender(f *testing.F) {
	for _, runs := range hostileCases(f) {
		var lines bytes.Buffer
		if err := writeJSONFormat(&lines, runs[:min(len(runs), 4)], FormatOptions{}); err != nil {
			f.Fatal(err)
		}
		f.Add(lines.Bytes())
	}
	lookup := churned("lookup", 1, func(r *Run, _ int) {
		r.Latency = []Latency{{Probe: "p", Stretch: "s", Count: MaxFigure, HDR: "x"}}
	})
	var lines bytes.Buffer
	if err := writeJSONFormat(&lines, lookup, FormatOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Add(lines.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		if runs, _, err := read(bytes.NewReader(in), "f", 1<<20); err == nil || len(runs) > 0 {
			mustRenderHarmlessly(t, runs)
		}
	})
}
