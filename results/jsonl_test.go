package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendThenRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.jsonl")
	want := threeCells().make()
	appendRuns(t, name, want[:10]...)
	appendRuns(t, name, want[10:]...)
	got := readFile(t, name)
	for i := range want {
		want[i].Warnings = []Warning{}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&^0o644 != 0 {
		t.Error(info.Mode(), err)
	}
}

func TestAppendRefusesDirectory(t *testing.T) {
	if _, err := Append(t.TempDir()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("got %v, want EISDIR", err)
	}
	if _, err := Append(filepath.Join(t.TempDir(), "none", "runs.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want ENOENT", err)
	}
}

// Runs that nobody finds by the file's name are not written without a word.
func TestWriteSaysThatTheNameIsGone(t *testing.T) {
	for what, test := range map[string]struct {
		do   func(name string) error
		want string
	}{
		"removed": {os.Remove, "was removed or replaced"},
		"replaced": {func(name string) error {
			return errors.Join(os.WriteFile(name+".new", nil, 0o644), os.Rename(name+".new", name))
		}, "was removed or replaced"},
		"renamed": {func(name string) error { return os.Rename(name, name+".1") }, "was renamed"},
		"renamed, another": {func(name string) error {
			return errors.Join(os.Rename(name, name+".1"), os.WriteFile(name, nil, 0o644))
		}, "was renamed"},
	} {
		for _, late := range []bool{false, true} { // after the last run
			name := filepath.Join(t.TempDir(), "runs.jsonl")
			f, err := Append(name)
			if err != nil {
				t.Fatal(err)
			}
			run := oneRun()
			if err := f.Write(&run); err != nil {
				t.Fatal(err)
			}
			if err := test.do(name); err != nil {
				t.Fatal(err)
			}
			if !late {
				if err := f.Write(&run); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: Write: %v", what, err)
				}
			}
			if err := f.Close(); late && (err == nil || !strings.Contains(err.Error(), test.want)) || !late && err != nil {
				t.Errorf("%s, late %v: Close: %v", what, late, err)
			}
		}
	}
}

func TestAppendFollowsSymlink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	appendRuns(t, link, oneRun())
	if got := readFile(t, target); len(got) != 1 {
		t.Errorf("%d runs", len(got))
	}
}

func TestAppendWritesNothingBeforeTheFirstRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.jsonl")
	write(t, name, `{"schema":1,"comm`)
	appendRuns(t, name)
	if got := read1(t, name); got != `{"schema":1,"comm` {
		t.Errorf("got %q", got)
	}
}

func TestAppendAfterTornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.jsonl")
	whole := line(t, oneRun())
	write(t, name, whole+whole[:len(whole)/2])
	appendRuns(t, name, oneRun(), oneRun())
	if got, want := read1(t, name), whole+whole[:len(whole)/2]+"\n"+whole+whole; got != want {
		t.Errorf("got %q", got)
	}
	runs, warnings, err := Read(strings.NewReader(read1(t, name)), "f")
	if len(runs) != 3 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if d := cmp.Diff([]error{&TornLine{"f", 2}}, warnings); d != "" {
		t.Error(d)
	}
}

func TestWriteSaysWhyItFailed(t *testing.T) {
	f, err := Append("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run := oneRun()
	if err := f.Write(&run); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("got %v", err)
	}
	if f.torn {
		t.Error("nothing was written, so nothing is torn")
	}
	run.Trie.Before.IPv4 = &TrieStats{Tables: []Trie{{AverageDepth: math.NaN()}}}
	if err := f.Write(&run); err == nil || !strings.Contains(err.Error(), `run 1 of cell "empty"`) {
		t.Errorf("got %v", err)
	}
}

// countingWriter counts the calls of Write.
type countingWriter struct {
	bytes.Buffer
	calls int
}

func (w *countingWriter) Write(p []byte) (int, error) { w.calls++; return w.Buffer.Write(p) }

func TestEncoderWritesOneLineAtOnce(t *testing.T) {
	var w countingWriter
	run := Run{Schema: Schema, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
		Spec: json.RawMessage("{\n  \"a\": \"<1>\"\n}")}
	if err := NewEncoder(&w).Encode(&run); err != nil {
		t.Fatal(err)
	}
	got := w.String()
	if w.calls != 1 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
		t.Errorf("%d calls: %q", w.calls, got)
	}
	for _, want := range []string{`{"schema":1,`, `"phases":[]`, `"warnings":[]`, `"debug":null`, `"spec":{"a":"<1>"}`, `"time":"2026-01-02T02:04:05Z"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if run.Phases != nil || run.Time.UTC().Equal(run.Time) && run.Time.Location() == time.UTC {
		t.Error("the caller's run was changed")
	}
}

func oneRun() Run { return threeCells().make()[0] }

func line(t *testing.T, r Run) string { t.Helper(); return string(encodeAll(t, []Run{r})) }

func appendRuns(t *testing.T, name string, runs ...Run) {
	t.Helper()
	f, err := Append(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		if err := f.Write(&runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read1(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
