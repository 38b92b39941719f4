package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNexthopsUsageErrors(t *testing.T) {
	refused(t, [][2]string{
		{"nexthops --routes 0", "--routes 0: must be at least 1"},
		{"nexthops --routes -5", `"-5" is no count`},
		{"nexthops --routes 1k,2k", "one count is enough"},
		{"nexthops --routes 9G", "is more than 2147483647"},
		{"nexthops --routes 20M", "the layout dense has at most"},
		{"nexthops --paths 0", "--paths 0: must be 1 to 128"},
		{"nexthops --paths 129", "--paths 129: must be 1 to 128"},
		{"nexthops --paths 4,4", "--paths 4: given twice"},
		{"nexthops --paths x", `"x" is no count`},
		{"nexthops --paths=", "--paths: the value is empty"},
		{"nexthops --layout xyz", "--layout xyz: must be one of"},
		{"nexthops --link-kind dumy", "--link-kind dumy"},
		{"nexthops --nonsense", "unknown flag -nonsense"},
		{"nexthops 100k", `unexpected argument "100k"`},
		{"nexthops -6 --routes 10M --layout linear32 --paths 128", "--routes 10000000 with 128 paths: that takes some"},
	})
}

// refused demands exit 2, one line on stderr and no file of each command line.
func refused(t *testing.T, lines [][2]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.jsonl")
	for _, line := range lines {
		args := append(strings.Split(line[0], " "), "-o", file)
		code, stdout, stderr := call(args...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, line[1]) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want one line with %q", line[0], code, stdout, stderr, line[1])
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a command line that was refused left its output file behind")
	}
}

// Rootless or not, the runs are verified samples of all cells.
func TestNexthopsRecords(t *testing.T) {
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "nexthops", "-4", "-6", "--routes", "500", "--paths", "1,3", "--runs", "1", "--warmup", "0", "-j", "-q")
		if code != 0 {
			t.Fatalf("rootless %v: exit %d: %s", rootless, code, stderr)
		}
		cells := map[string]bool{}
		for _, r := range readRuns(t, stdout) {
			if !r.Sample() || len(r.Phases) != 3 {
				t.Errorf("run: %+v", r)
			}
			cells[r.Cell] = true
		}
		if len(cells) != 4 || !cells["1 plain"] || !cells["1 objects"] || !cells["3 multipath"] || !cells["3 objects"] {
			t.Errorf("rootless %v: cells %v", rootless, cells)
		}
	}
}
