package main

import (
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
)

// Bad input of resize gives one line on stderr, exit 2, and no work.
func TestResizeUsage(t *testing.T) {
	for args, want := range map[string]string{
		"resize --pattern zigzag":             "--pattern zigzag: must be oscillate, grow, shrink, split, suffix",
		"resize --pattern=":                   "--pattern: the value is empty",
		"resize --node-bits 2":                "--node-bits 2: must be 3 to 18",
		"resize --node-bits 19":               "--node-bits 19: must be 3 to 18",
		"resize --node-bits -1":               `"-1" is no count`,
		"resize --node-bits twelve":           `"twelve" is no count`,
		"resize --cycles 0":                   "--cycles 0: must be at least 1",
		"resize --cycles x":                   `"x" is no count`,
		"resize --cycles 1M":                  "--cycles 1000000: one run takes at most",
		"resize --pattern grow --cycles 2":    "the pattern grow goes through its sizes once a run",
		"resize --pattern split --cycles 1Gi": "one run takes at most",
		"resize -6":                           "-6: resize is about the trie of IPv4",
		"resize -4 -6":                        "-6: resize is about the trie of IPv4",
		"resize --link-kind dumy":             "--link-kind dumy",
		"resize --runs 0":                     "--runs 0",
		"resize 12":                           `unexpected argument "12"`,
		"resize --bits 12":                    "unknown flag -bits",
		"resize -o /no/such/directory/f":      "--output",
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := call(strings.Split(args, " ")...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: ") || !strings.Contains(stderr, want) {
				t.Errorf("stderr %q, want one line with %q", stderr, want)
			}
		})
	}
}

// Both cells come as records that are samples, with and without root rights, and
// as a table with a conclusion.
func TestResizeRecords(t *testing.T) {
	netnstest.Root(t)
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "resize", "--node-bits", "6", "--cycles", "2", "--runs", "2", "-j", "-q")
		if code != 0 {
			t.Fatalf("rootless %v: exit %d: %s", rootless, code, stderr)
		}
		cells := map[string]int{}
		for _, r := range readRuns(t, stdout) {
			cells[r.Cell]++
			if !r.Sample() || r.Resize == nil || r.Resize.Looks == 0 || r.Phase("oscillate") == nil || len(r.Phases) != 1 {
				t.Errorf("rootless %v: %+v", rootless, r)
			}
		}
		if cells["crossing"] != 2 || cells["control"] != 2 {
			t.Errorf("cells %v", cells)
		}
	}
	code, stdout, stderr := execute(t, false, "resize", "--pattern", "shrink", "--root", "--node-bits", "5", "--runs", "2", "-q")
	for _, want := range []string{"halve", "the root tnode of the block goes from 5 to 6 bits", "takes", "control"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, nothing of %q in\n%s%s", code, want, stdout, stderr)
		}
	}
}
