package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A flag that would come to nothing is refused.
func TestFlagsWithoutEffect(t *testing.T) {
	suite := filepath.Join(t.TempDir(), "suite")
	writeFile(t, suite, "routes --allow-host-sysctl\n")
	for _, test := range []struct{ args, want string }{
		{"lookup --churn-rate 5", "--churn-rate: has no effect without --under"},
		{"lookup --churn-size 5", "--churn-size: has no effect without --under"},
		{"lookup --under flap --churn-size 5", "--churn-size: has no effect with --under flap"},
		{"forward --churn-rate 5", "--churn-rate: has no effect without --under"},
		{"forward --churn-size 5 --under replace", "--churn-size: has no effect with --under replace"},
		{"lookup --dst 20.0.0.1 --keys miss", "--keys: has no effect with --dst"},
		{"lookup --dst 20.0.0.1 --key-count 5", "--key-count: has no effect with --dst"},
		{"lookup --probe netlink --kernel-batch 8", "--kernel-batch: has no effect without --probe bpf"},
		{"lookup --rate 1k --kernel-batch 8", "--kernel-batch: has no effect with --rate"},
		{"lookup --histogram --format bench", "--histogram: has no effect with --format bench"},
		{"lookup --histogram -j", "--histogram: has no effect with --format json"},
		{"report --histogram --format html " + runsFile, "--histogram: has no effect with --format html"},
		{"report --histogram -o x.html " + runsFile, "--histogram: has no effect with --format html"},
		{"routes --allow-host-sysctl", "--allow-host-sysctl: has no effect without --sync-mem"},
		{"--allow-host-sysctl routes", "--allow-host-sysctl: has no effect without --sync-mem"},
		{"suite " + suite, "--allow-host-sysctl: has no effect without --sync-mem"},
		{"suite --list --ktap", "--ktap: has no effect with --list"},
		{"suite --list -o x", "--output: has no effect with --list"},
		{"routes --parallel-in tables", "--parallel-in: has no effect without --parallel"},
		{"delete-iface --as empty --setup up", "--setup: has no effect on interfaces that carry nothing"},
		{"delete-iface --as empty --prefix-len 28", "--prefix-len: has no effect"},
		{"delete-iface --as routes,empty --setup up", "--setup: has no effect on interfaces without addresses"},
		{"-o x compare a b", "--output: compare has no such flag"},
		{"--runs 5 report " + runsFile, "--runs: report has no such flag"},
		{"--profile doctor", "--profile: doctor has no such flag"},
		{"--sync-mem 1M --allow-host-sysctl vm --kernel /nonexistent -- doctor", "--kernel"},
	} {
		code, stdout, stderr := call(strings.Fields(test.args)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %d, stdout %.80q, stderr %q, want %q", test.args, code, stdout, stderr, test.want)
		}
	}
}

// What reads like a number is one in one way.
func TestWholeNumbers(t *testing.T) {
	for _, test := range []struct {
		text string
		hex  bool
		want uint64
		ok   bool
	}{
		{"0", false, 0, true}, {"10", false, 10, true}, {"010", false, 10, true}, {"255", false, 255, true}, {"256", false, 0, false},
		{"0x10", false, 0, false}, {"0x10", true, 16, true}, {"0XfF", true, 255, true}, {"010", true, 10, true}, {"0x100", true, 0, false},
		{"0o10", true, 0, false}, {"0b1", true, 0, false}, {"1_0", true, 0, false}, {"0x1_0", true, 0, false}, {"0x", true, 0, false},
		{"ff", true, 0, false}, {"+1", false, 0, false}, {"-1", false, 0, false}, {" 1", false, 0, false}, {"1 ", false, 0, false}, {"", false, 0, false}, {"1k", false, 0, false},
	} {
		n := whole{most: 255, hex: test.hex}
		if err := n.Set(test.text); (err == nil) != test.ok || test.ok && n.value != test.want {
			t.Errorf("%q, hexadecimal %v: %d, %v", test.text, test.hex, n.value, err)
		}
	}
	for _, args := range [][]string{{"routes", "--count", " 5"}, {"routes", "--count", "5, 6"}, {"lookup", "--readers", "1 "}, {"delete-iface", "--as", "addrs, routes"}} {
		if code, _, stderr := call(args...); code != exitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s", args, code, stderr)
		}
	}
}

// Without --flows a small table has as many as it has; the record says how many.
func TestFlowsOfSmallTable(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	writeFile(t, list, "20.0.0.0/30\n")
	code, stdout, stderr := execute(t, false, "forward", "--prefixes", list, "--path", "redirect", "--packets", "100", "--runs", "1", "--warmup", "0", "-j", "-q")
	if code != 0 || !strings.Contains(stdout, `"flows":4,`) {
		t.Errorf("exit %d, %s, %.500s", code, stderr, stdout)
	}
}

// A long value is not repeated as a whole, and what is wrong with it still is said.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	for _, args := range [][]string{{"report", "--format", long, runsFile}, {"routes", "--layout", long}, {"routes", "--seed", long}, {long}, {"routes", "-o", long}} {
		code, _, stderr := call(args...)
		if code != exitUsage {
			t.Errorf("exit %d", code)
		}
		mustBeOneLine(t, args[:1], stderr)
	}
	if _, _, stderr := call("report", "--format", long, runsFile); !strings.Contains(stderr, "must be one of text, json") {
		t.Errorf("%q", stderr)
	}
}
