package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fibchurn/internal/machine"
	"fibchurn/internal/netnstest"
	"fibchurn/ns"
	"fibchurn/results"
)

// readRuns decodes JSON lines strictly: a field the record does not have is an
// error.
func readRuns(t testing.TB, text string) []results.Run {
	t.Helper()
	var runs []results.Run
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var r results.Run
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		runs = append(runs, r)
	}
	return runs
}

// The three default cells, 2 runs each, as lines and as a file, rootless and not.
func TestRecords(t *testing.T) {
	netnstest.Root(t)
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "delete-iface", "--subnets", "100", "--runs", "2", "-j")
		if code != 0 {
			t.Fatalf("rootless %v: exit %d: %s", rootless, code, stderr)
		}
		runs := readRuns(t, stdout)
		if len(runs) != 6 {
			t.Fatalf("rootless %v: %d runs, want 6", rootless, len(runs))
		}
		cells := map[string]int{}
		for _, r := range runs {
			cells[r.Cell]++
			if r.Schema != results.Schema || r.Command != "delete-iface" || !r.Verified || r.Partial || r.Boot == "" || r.Time.IsZero() {
				t.Errorf("run: %+v", r)
			}
			e := r.Environment
			if want := machine.FibSyncMem(); e.FibSyncMem != want {
				t.Errorf("rootless %v: fib_sync_mem %d, want %d", rootless, e.FibSyncMem, want)
			}
			if e.Rootless != rootless || e.Kernel == "" || e.CPUs < 1 || e.LinkKind == "" || !e.LinkAuto {
				t.Errorf("environment: %+v", e)
			}
			if r.Trie.Before.IPv4 == nil || r.Trie.After.IPv4 == nil {
				t.Errorf("no trie: %+v", r.Trie)
			}
		}
		if cells["addrs"] != 2 || cells["routes"] != 2 || cells["empty"] != 2 {
			t.Errorf("cells: %v", cells)
		}
	}
}

// -o appends, and the table comes all the same.
func TestOutputAppends(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	for range 2 {
		code, stdout, stderr := execute(t, false, "-o", file, "delete-iface", "--as", "empty", "--runs", "3", "-q")
		if code != 0 || stderr != "" || !strings.Contains(stdout, "delete") {
			t.Fatalf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if runs := readRuns(t, string(b)); len(runs) != 6 {
		t.Errorf("%d runs in the file, want 6", len(runs))
	}
}

// What the kernel lacks is exit 4 with what would help, and leaves no file.
func TestMissingKindIsUnsupported(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	for _, kind := range ns.Kinds() {
		if ns.TryKind(kind) == nil {
			continue
		}
		code, stdout, stderr := execute(t, false, "delete-iface", "--link-kind", kind, "-o", file)
		if code != exitUnsupported || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "what would help") {
			t.Errorf("%s: exit %d, stdout %s, stderr %s", kind, code, stdout, stderr)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("an output file was left behind")
		}
	}
}

// The link kind that auto came to is said once, unless it is the first choice.
func TestLinkKindIsSaidOnce(t *testing.T) {
	netnstest.Root(t)
	_, _, stderr := execute(t, false, "delete-iface", "--subnets", "4", "--runs", "2")
	want := 1
	if ns.TryKind(ns.Kinds()[0]) == nil {
		want = 0
	}
	if got := strings.Count(stderr, "using "); got != want {
		t.Errorf("said %d times, want %d: %s", got, want, stderr)
	}
}

// A full disk ends the session with an error: nothing measured is lost silently.
func TestFullDisk(t *testing.T) {
	code, _, stderr := execute(t, false, "delete-iface", "--subnets", "4", "--runs", "2", "-o", "/dev/full", "-q")
	if code != exitFailed || !strings.Contains(stderr, "no space left on device") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestDoctor(t *testing.T) {
	netnstest.Root(t)
	chosen, err := ns.ChooseKind(ns.KindAuto)
	if err != nil {
		t.Fatal(err)
	}
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "doctor")
		if code != 0 || stderr != "" {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		for _, name := range []string{"network namespaces", "user namespaces", "BPF test run", "kprobes", "perf", "trie counters", "KVM", "QEMU", "User-Mode Linux", "link kind dummy"} {
			if !strings.Contains(stdout, name) {
				t.Errorf("nothing about %s:\n%s", name, stdout)
			}
		}
		// What a measurement can do, doctor must not call missing.
		for _, name := range []string{"network namespaces", "link kind " + chosen} {
			line := regexp.MustCompile("(?m)^ok +" + name + " .*").FindString(stdout)
			if line == "" || rootless != strings.Contains(line, "ok (in a user namespace of its own)") {
				t.Errorf("rootless %v: %s: %q\n%s", rootless, name, line, stdout)
			}
		}
		for line := range strings.Lines(stdout) {
			status, _, _ := strings.Cut(line, " ")
			if status != "ok" && !strings.Contains(line, "to get it: ") {
				t.Errorf("not how to get it: %s", line)
			}
		}
	}
}
