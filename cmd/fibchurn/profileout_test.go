package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fibchurn/results"
)

func profiledRun() *results.Run {
	return &results.Run{
		Schema: results.Schema, Command: "routes", Cell: "1000", Run: 1, Spec: []byte("{}"), Verified: true,
		Profile: &results.Profile{Event: "cpu-clock", Hz: 997, Scope: "thread", Phases: []results.PhaseProfile{
			{Phase: "delete", Samples: 3, Stacks: []results.Stack{{Frames: "main.main_[u];resize", Samples: 2}, {Frames: "main.main_[u]", Samples: 1}}},
		}},
	}
}

// writeProfileTo writes the profile of the runs as a command would at its end.
func writeProfileTo(t *testing.T, path string, runs ...*results.Run) (stderr string) {
	t.Helper()
	f, err := openProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		f.take(r)
	}
	var b bytes.Buffer
	if err := f.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The end of the name chooses what is written; nothing but the file is left, which
// replaces one that was there.
func TestProfileOut(t *testing.T) {
	dir := t.TempDir()
	bare := profiledRun()
	bare.Profile = nil
	for _, name := range []string{"p.folded", "p.svg", "p.SVG", "p"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if stderr := writeProfileTo(t, path, bare, profiledRun()); stderr != "" {
			t.Errorf("%s: stderr %q", name, stderr)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(strings.ToLower(name), ".svg") {
			if want := "1000;delete;main.main_[u] 1\n1000;delete;main.main_[u];resize 2\n"; string(got) != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			continue
		}
		dec := xml.NewDecoder(bytes.NewReader(got))
		for err == nil {
			_, err = dec.Token()
		}
		if !errors.Is(err, io.EOF) || !bytes.Contains(got, []byte("<svg ")) {
			t.Errorf("%s: %v in %.100q", name, err, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files are left of 4, %v", len(entries), err)
	}
}

// A file that is linked to is replaced, not its link; without a profile nothing is.
func TestProfileOutKeeps(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	failed := profiledRun()
	failed.Verified = false
	if stderr := writeProfileTo(t, link, failed); !strings.Contains(stderr, "no run has a profile") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if got, err := os.ReadFile(file); string(got) != "old" {
		t.Errorf("without a profile: %q, %v", got, err)
	}
	writeProfileTo(t, link, profiledRun())
	if got, err := os.ReadFile(file); !strings.HasPrefix(string(got), "1000;delete;") {
		t.Errorf("behind the link: %q, %v", got, err)
	}
	if target, err := os.Readlink(link); err != nil || target != "file" {
		t.Errorf("the link is to %q, %v", target, err)
	}
}

// A report has the profile of runs that were made before, such as those of a suite.
func TestReportProfileOut(t *testing.T) {
	dir := t.TempDir()
	runs, bare, graph := filepath.Join(dir, "runs.jsonl"), filepath.Join(dir, "bare.jsonl"), filepath.Join(dir, "p.svg")
	plain := profiledRun()
	plain.Profile = nil
	for name, run := range map[string]*results.Run{runs: profiledRun(), bare: plain} {
		f, err := results.Append(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Write(run), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := call("report", bare, "--profile-out", graph); code != exitOK || stdout == "" || !strings.Contains(stderr, "no run has a profile") {
		t.Errorf("without a profile: exit %d, %q, %s", code, stdout, stderr)
	}
	if _, err := os.Stat(graph); err == nil {
		t.Error("a graph of no profile")
	}
	code, stdout, stderr := call("report", "--format", "lkp", runs, "--profile-out", graph)
	if got, err := os.ReadFile(graph); code != exitOK || stdout == "" || stderr != "" || !bytes.Contains(got, []byte("resize: 2 samples")) {
		t.Errorf("exit %d, %q, %s, %v, %.200s", code, stdout, stderr, err, got)
	}
	mustBeRefused(t, "--profile-out: create a file beside /no/such/dir/x", "report", runs, "--profile-out", "/no/such/dir/x")
}

func TestProfileOutRefused(t *testing.T) {
	for args, want := range map[string]string{
		"routes --profile-out x.svg":                       "--profile-out says where to write a profile; give --profile too",
		"--profile-out x.svg routes":                       "--profile-out says where to write a profile; give --profile too",
		"routes --profile-out=":                            "--profile-out: the value is empty",
		"routes --profile-out -":                           "--profile-out -: standard output has the table",
		"suite --profile-out x quick":                      "unknown flag",
		"--profile-out x suite quick":                      "--profile-out: a suite has none; 'fibchurn report --profile-out FILE' makes one of its runs",
		"vm --kernel /dev/null -- routes --profile-out x":  "a guest keeps no files",
		"vm --kernel /dev/null -- --profile-out x routes ": "a guest keeps no files",
	} {
		mustBeRefused(t, want, strings.Split(strings.TrimSpace(args), " ")...)
	}
	for path, want := range map[string]string{"/no/such/dir/x": "no such file or directory", t.TempDir(): "is no regular file", "/dev/null": "is no regular file"} {
		if _, err := openProfile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
