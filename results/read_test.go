package results

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	whole := line(t, oneRun())
	bare := strings.TrimSuffix(whole, "\n")
	half := whole[:len(whole)/2]
	for _, c := range []struct {
		name, in string
		runs     int
		torn     []int  // line numbers of the warnings
		err      string // what the error must say, "" none
	}{
		{"nothing", "", 0, nil, ""},
		{"one", whole, 1, nil, ""},
		{"no newline at the end", whole + bare, 2, nil, ""},
		{"blank lines", "\n" + whole + "\r\n \n" + whole, 2, nil, ""},
		{"unknown fields", strings.Replace(whole, `{"schema"`, `{"new":{"a":[1]},"schema"`, 1), 1, nil, ""},
		{"unknown fields of a phase", strings.Replace(whole, `{"name"`, `{"new":1,"name"`, 1), 1, nil, ""},
		{"a byte-order mark", "\ufeff" + whole + "\ufeff" + whole, 2, nil, ""},
		{"a byte-order mark alone", "\ufeff", 0, nil, ""},
		{"UTF-16", "\xff\xfe{\x00\"\x00", 0, nil, "f:1: is no record of a run: the file is in UTF-16, not in UTF-8"},
		{"gzip", "\x1f\x8b\x08\x00", 0, nil, "f:1: is no record of a run: the file is compressed with gzip; decompress it first"},
		{"xz", "\xfd7zXZ\x00\x00", 0, nil, "f:1: is no record of a run: the file is compressed with xz; decompress it first"},
		{"zstd", "\x28\xb5\x2f\xfd\x24", 0, nil, "f:1: is no record of a run: the file is compressed with zstd; decompress it first"},
		{"torn last line", whole + half, 1, []int{2}, ""},
		{"torn in the middle", whole + half + "\n" + whole, 2, []int{2}, ""},
		{"torn after one byte", whole + "{\n" + whole, 2, []int{2}, ""},
		{"torn, then another file", half + whole + whole, 2, []int{1}, ""},
		{"torn before a value, then another file", `{"schema":1,"command":"x","spec":` + whole, 1, []int{1}, ""},
		{"torn twice", half + half + whole, 1, []int{1, 1}, ""},
		{"torn, then another file that is torn", half + half, 0, []int{1, 1}, ""},
		{"no newline, then another file", bare + whole, 2, nil, ""},
		{"malformed", whole + "{\"schema\":1,}\n" + whole, 1, nil, "f:2: is no record of a run"},
		{"text", whole + "hello\n", 1, nil, "f:2: is no record of a run"},
		{"cut text", `"hello`, 0, nil, "f:1: is no record of a run"},
		{"wrong type", `{"schema":1,"command":"x","run":"one"}`, 0, nil, "f:1: is no record of a run: its run is a string"},
		{"not an object", "[1]", 0, nil, "f:1: is no record of a run"},
		{"no schema", `{"command":"x"}`, 0, nil, "f:1: is no record of a run: it has no schema"},
		{"no command", `{"schema":1}`, 0, nil, "f:1: is no record of a run: it names no command"},
		{"nothing but a command", `{"schema":1,"command":"x"}`, 0, nil, "f:1: is no record of a run: it has no time"},
		{"newer schema", whole + `{"schema":2,"command":["changed"]}`, 1, nil, "f:2: schema 2 is newer than this fibchurn reads (1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs, warnings, err := Read(strings.NewReader(c.in), "f")
			if len(runs) != c.runs {
				t.Errorf("%d runs, want %d", len(runs), c.runs)
			}
			var torn []int
			for _, w := range warnings {
				torn = append(torn, w.(*TornLine).Line)
			}
			if d := cmp.Diff(c.torn, torn); d != "" {
				t.Error(d)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// Wherever a line is torn, that run is lost and no other: with the newline that
// Append adds, and without it, as cat leaves it.
func TestReadTornAnywhere(t *testing.T) {
	run := oneRun()
	run.Warnings = []Warning{{"k", "a \"quoted\" \\ text: µs { [ \u2028"}}
	whole := line(t, run)
	for cut := 1; cut < len(whole)-1; cut++ {
		for _, joint := range []string{"\n", ""} {
			runs, warnings, err := Read(strings.NewReader(whole[:cut]+joint+whole), "f")
			if len(runs) != 1 || len(warnings) != 1 || err != nil {
				t.Fatalf("cut to %q and %q: %d runs, %v, %v", whole[:cut], joint, len(runs), warnings, err)
			}
		}
	}
}

func TestReadErrorTypes(t *testing.T) {
	_, _, err := Read(strings.NewReader("\n"+`{"schema":7}`), "f")
	var at *LineError
	var newer *SchemaError
	if !errors.As(err, &at) || at.Line != 2 || !errors.As(err, &newer) || newer.Schema != 7 {
		t.Errorf("got %#v", err)
	}
	_, _, err = Read(iotest.ErrReader(iotest.ErrTimeout), "f")
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestReadLongLine(t *testing.T) {
	whole := line(t, oneRun())
	runs, _, err := read(strings.NewReader(whole+strings.Repeat("x", 1<<20)), "f", 1<<17)
	if len(runs) != 1 || err == nil || err.Error() != "f:2: line is longer than 131072 bytes" {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if runs, _, err := read(strings.NewReader(whole), "f", len(whole)); len(runs) != 1 || err != nil {
		t.Errorf("a line as long as allowed: %d runs, %v", len(runs), err)
	}
}

// Whatever a file holds, what Read returns can be written and read again.
func FuzzRead(f *testing.F) {
	run := oneRun()
	var buf bytes.Buffer
	if err := NewEncoder(&buf).Encode(&run); err != nil {
		f.Fatal(err)
	}
	whole := buf.String()
	for _, seed := range []string{
		whole, whole + whole, whole[:100], whole[:300] + whole, strings.TrimSpace(whole) + whole, "{}", "\n\n", "null", `{"schema":2}`,
		`{"schema":1,"command":"x","spec":{"schema":1},"trie":{"before":{"ipv4":{"tables":[{"tnodes_by_bits":{"1":2}}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		runs, _, err := read(bytes.NewReader(in), "f", 1<<20)
		var at *LineError
		if err != nil && !errors.As(err, &at) {
			t.Fatalf("error without a line: %v", err)
		}
		for i := range runs {
			var first, second bytes.Buffer
			if NewEncoder(&first).Encode(&runs[i]) != nil {
				continue // e.g. a time that is in year 10000 in UTC
			}
			again, warnings, err := Read(bytes.NewReader(first.Bytes()), "again")
			if err != nil || len(warnings) > 0 || len(again) != 1 {
				t.Fatalf("%d runs, %v, %v from %s", len(again), warnings, err, first.Bytes())
			}
			if err := NewEncoder(&second).Encode(&again[0]); err != nil || first.String() != second.String() {
				t.Fatalf("%v\n%s\n%s", err, first.Bytes(), second.Bytes())
			}
		}
		if err := WriteText(&bytes.Buffer{}, runs, TextOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
	})
}
