package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/results"
)

// Bad input of lookup gives one line on stderr, exit 2, and no work.
func TestLookupUsage(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("20.0.0.0/24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"100k", `unexpected argument "100k"`},
		{"--routes x", `"x" is no count`},
		{"--routes 1k,1000", "given twice"},
		{"--routes 20M", "the layout dense has at most"},
		{"--routes 0 --keys hit", "--keys hit: the table of --routes 0 is empty"},
		{"--routes 0 --under flap", "--under flap: the table is empty"},
		{"--layout flat", "--layout flat: must be one of"},
		{"--layout dense --prefixes " + list, "exclude each other"},
		{"--prefixes /no/such/file", "--prefixes:"},
		{"--prefixes " + list + " --routes 2", "has 1 distinct IPv4 prefixes"},
		{"--rules x", `"x" is no count`},
		{"--rules 40k", "--rules 40000: must be 0 to 32000"},
		{"--rules 1,1", "given twice"},
		{"--table 100", "--table 100: only --direct"},
		{"--table 255 --direct", "--table 255"},
		{"--probe xdp", "--probe xdp: must be netlink, bpf or connect"},
		{"--probe bpf --probe bpf", "given twice"},
		{"--probe bpf --fibmatch", "--fibmatch: is for --probe netlink"},
		{"--probe netlink --direct", "only --probe bpf"},
		{"--probe connect --direction input", "output lookups only"},
		{"--kernel-batch 3", "must be a power of two"},
		{"--kernel-batch 0", "--kernel-batch 0: must be 1 to"},
		{"--direction up", "--direction up: must be output or input"},
		{"--rp-filter 1", "is for --direction input"},
		{"--direction input --rp-filter 3", "for flag -rp-filter: must be 0 to 2"},
		{"--direction input --rp-filter -1", "for flag -rp-filter: must be a number"},
		{"-6 --direction input --rp-filter 1", "and IPv4"},
		{"--iif fc1", "--iif fc1: is for --direction input"},
		{"--direction input --iif eth0", "--iif eth0: must be fc0 or fc1"},
		{"--src x", "--src x: is no IPv4 address"},
		{"--src 2001:db8::1", "--src 2001:db8::1: is no IPv4 address"},
		{"-4 -6 --dst 10.0.0.1", "--dst 10.0.0.1: is not IPv6"},
		{"--dst 127.0.0.1", "must be unicast"},
		{"--dst 10/8", "neither an address nor a prefix"},
		{"--mark -1", "invalid value"},
		{"--mark 4294967296", "for flag -mark: must be 0 to 4294967295"},
		{"--mark 1 --direct", "--mark: only rules look at it"},
		{"--tos 256", "for flag -tos: must be 0 to 255"},
		{"--keys all", "--keys all: must be hit, miss, mixed or boundary"},
		{"--order added", "--order added: must be random, scan or chain"},
		{"--key-count 0", "--key-count 0: must be 1 to"},
		{"--readers 0", "--readers 0: must be 1 to"},
		{"--readers 1,x", `"x" is no count`},
		{"--rate 0", "--rate 0: must be at least 1, or max"},
		{"--rate fast", `"fast" is no count`},
		{"--rate 1G", "--rate 1000000000: must be 1 to"},
		{"--churn-rate 0 --under flap", "--churn-rate 0: must be at least 1, or max"},
		{"--churn-rate 1 --under flap", "need at least 2 a second to fit into --duration 1s"},
		{"--under add-delete --churn-size 0", "--churn-size 0: must be 1 to"},
		{"--under rain", "--under rain: must be none, flap"},
		{"--under resize -6", "--under resize: is about the trie of IPv4"},
		{"--under delete-iface --link-kind tun", "not made by netlink"},
		{"--duration 0", "--duration 0s: must be more than 0"},
		{"--duration 60", "invalid value"},
		{"--vary rules", "--vary rules: must be unmerge or direct"},
		{"--vary direct --vary direct", "given twice"},
		{"--vary unmerge --unmerge", "--vary unmerge: measures with --unmerge and without it"},
		{"--link-kind dumy", "--link-kind dumy"},
		{"--runs 0", "--runs 0"},
		{"--max", "unknown flag -max"},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := call(append([]string{"lookup"}, strings.Split(test.args, " ")...)...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: ") || !strings.Contains(stderr, test.want) {
				t.Errorf("stderr %q, want one line with %q", stderr, test.want)
			}
		})
	}
}

// lookupArgs is a short command.
func lookupArgs(args ...string) []string {
	return append([]string{"lookup", "--routes", "2k", "--key-count", "2k", "--duration", "150ms", "--runs", "1", "--warmup", "0", "-q", "-j"}, args...)
}

// Every churn, in both families, as records that are samples.
func TestLookupRecords(t *testing.T) {
	netnstest.Root(t)
	for _, under := range churn.Unders() {
		families, stretches := []string{"-4", "-6"}, []string{"before", "during", "after"}
		if under == "resize" {
			families = families[:1]
		}
		if under == "none" {
			stretches = []string{"rest"}
		}
		code, stdout, stderr := execute(t, false, lookupArgs(append(families, "--under", under, "--layout", "random", "--keys", "boundary", "--kernel-batch", "1", "--duration", "80ms")...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", under, code, stderr)
		}
		runs := readRuns(t, stdout)
		if len(runs) != len(families) {
			t.Fatalf("%s: %d runs", under, len(runs))
		}
		for _, r := range runs {
			if !r.Sample() || len(r.Depths) != 1 || (r.Churn == nil) != (under == "none") {
				t.Errorf("%s: depths %v, churn %v, checks %v", under, r.Depths, r.Churn, r.Checks)
			}
			for _, l := range r.Latency {
				if l.Count < 1 || l.Reached <= 0 || l.P50 <= 0 || l.HDR == "" || !slices.Contains(stretches, l.Stretch) {
					t.Errorf("%s: %+v", under, l)
				}
			}
			if want := 2 * len(stretches); len(r.Latency) != want && !strings.Contains(fmt.Sprint(r.Warnings), "unmeasured") {
				t.Errorf("%s: %d latencies, want %d, and no warning", under, len(r.Latency), want)
			}
		}
	}
}

// All probes, each way in which they look up.
func TestLookupProbes(t *testing.T) {
	netnstest.Root(t)
	all := "--probe netlink --probe bpf --probe connect "
	for _, args := range []string{
		all, "-6 " + all, all + "--src 198.19.255.1 --dst 20.0.0.0/16 --mark 7 --tos 16 --order chain",
		"--direction input", "--direction input --rp-filter 1", "--direction input --rp-filter 2 --iif fc0 --src 198.19.1.1",
		"-6 --direction input", "--fibmatch --order scan", "--direct --table 1000", "--keys miss", "--routes 0", "--rate 5k",
	} {
		code, stdout, stderr := execute(t, false, lookupArgs(strings.Fields(args)...)...)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
			continue
		}
		if r := readRuns(t, stdout)[0]; !r.Sample() || len(r.Latency) == 0 {
			t.Errorf("%s: %v %v", args, r.Checks, r.Latency)
		}
	}
}

// An ordinary user measures without bpf, says so, and is refused where it was asked
// for by name.
func TestLookupRootless(t *testing.T) {
	netnstest.Root(t)
	code, stdout, stderr := execute(t, true, lookupArgs("--under", "flap", "--rate", "2k")...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := readRuns(t, stdout)[0]
	if len(r.Latency) != 3 || !strings.Contains(fmt.Sprint(r.Warnings), "no lookups by bpf") || r.Latency[0].Rate != 2000 {
		t.Errorf("%+v", r)
	}
	if code, _, stderr := execute(t, true, lookupArgs("--probe", "bpf")...); code != exitUnsupported || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// What was given several of is compared, and the histogram is drawn.
func TestLookupCompares(t *testing.T) {
	netnstest.Root(t)
	args := []string{"lookup", "--routes", "1k", "--duration", "20ms", "--runs", "1", "--warmup", "0", "-q"}
	for _, test := range []struct {
		args string
		want []string
	}{
		{"--rules 0,1,100", []string{"1000 (1 rule) against 1000 (0 rules), a lookup in the median: netlink", "1000 (100 rules) against 1000 (0 rules)"}},
		{"--vary unmerge", []string{"1000 (unmerged) against 1000 (merged)"}},
		{"--vary direct", []string{"1000 (direct) against 1000 (full), a lookup in the median: bpf"}},
		{"--readers 1,2", []string{"1000 (2 readers) against 1000 (1 reader), lookups a second"}},
		{"--histogram --probe netlink", []string{"lookups by netlink, rest, closed loop", "table=254 avgdepth=", "95th="}},
		{"--histogram -6 --probe netlink", []string{"maxdepth=", "(computed)"}},
		{"--table 1000 --direct", []string{"table=1000 avgdepth="}},
	} {
		code, stdout, stderr := execute(t, false, append(slices.Clone(args), strings.Split(test.args, " ")...)...)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", test.args, code, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(strings.ReplaceAll(stdout, "\n  ", " "), want) {
				t.Errorf("%s: no %q in\n%s", test.args, want, stdout)
			}
		}
	}
}

// A route that something else puts into the table makes answers wrong: the command
// fails with the key, the answer and what was expected, and the record says so.
func TestLookupFindsAWrongRoute(t *testing.T) {
	for _, family := range []string{"-4", "-6"} {
		cmd := exec.Command(binary(t), lookupArgs(family, "--key-count", "64k", "--duration", "700ms", "--probe", "netlink")...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		netnstest.Root(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		planted := plant(t, cmd.Process.Pid, family == "-6")
		waitAtMost(t, cmd, 20*time.Second)
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("exit %d: %s", code, &stderr)
		}
		for _, want := range []string{"wrong answer to a lookup of ", "by netlink: blackhole", "expected ", "unicast dev 65536)", "more wrong answers"} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("nothing of %q in %s", want, &stderr)
			}
		}
		key := strings.Fields(strings.SplitAfter(stderr.String(), "a lookup of ")[1])[0]
		if a, err := netip.ParseAddr(key); err != nil || !planted.Contains(a) {
			t.Errorf("the key %s is not in %s", key, planted)
		}
		runs := readRuns(t, stdout.String())
		if len(runs) != 1 || runs[0].Verified || !slices.ContainsFunc(runs[0].Checks, func(c results.Check) bool { return !c.OK() }) {
			t.Errorf("%+v", runs)
		}
	}
}

// plant adds a blackhole inside the layout dense to the namespace that a process has
// made.
func plant(t *testing.T, pid int, ipv6 bool) netip.Prefix {
	t.Helper()
	prefix := netip.MustParsePrefix("20.0.1.0/25")
	if ipv6 {
		prefix = netip.MustParsePrefix("2001:db8:0:1::/65")
	}
	namespace, err := namespaceOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if err := addBlackhole(namespace, prefix); err != nil {
		t.Fatal(err)
	}
	return prefix
}

func addBlackhole(namespace *os.File, prefix netip.Prefix) error {
	c, err := rtnl.Dial(namespace)
	if err != nil {
		return err
	}
	defer c.Close()
	family := uint8(unix.AF_INET)
	if prefix.Addr().Is6() {
		family = unix.AF_INET6
	}
	var b rtnl.Batch
	err = b.Append(unix.RTM_NEWROUTE, netlink.Create|netlink.Excl, &rtnetlink.RouteMessage{
		Family: family, DstLength: uint8(prefix.Bits()), Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_STATIC,
		Type: unix.RTN_BLACKHOLE, Attributes: rtnetlink.RouteAttributes{Dst: prefix.Addr().AsSlice()},
	})
	if err != nil {
		return err
	}
	out, err := c.Send(&b, rtnl.Options{})
	if err == nil {
		err = out.Err()
	}
	return err
}

// namespaceOf waits for a thread of the process to be in a namespace with the run's
// links, and opens it.
func namespaceOf(pid int) (*os.File, error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			devices, err := os.ReadFile(task + "/net/dev")
			if err != nil || !strings.Contains(string(devices), "fc1:") {
				continue
			}
			if f, err := os.Open(task + "/ns/net"); err == nil {
				return f, nil
			}
		}
	}
	return nil, fmt.Errorf("process %d makes no namespace", pid)
}

// The first signal ends the stretch at once, and reports it.
func TestLookupStopsAtTheFirstSignal(t *testing.T) {
	netnstest.Root(t)
	cmd := exec.Command(binary(t), "lookup", "--routes", "1k", "--duration", "1h", "--under", "flap", "--warmup", "0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	waitAtMost(t, cmd, 5*time.Second)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	text := strings.ReplaceAll(stdout.String(), "\n  ", " ")
	if !strings.Contains(text, "was stopped") || !strings.Contains(text, "netlink, before:") {
		t.Errorf("no report: %s", text)
	}
}

func TestASCIIOnly(t *testing.T) {
	for _, test := range []struct {
		environment map[string]string
		want        bool
	}{
		{map[string]string{}, true},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}, false},
		{map[string]string{"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}, true},
	} {
		if got := asciiOnly(func(name string) string { return test.environment[name] }); got != test.want {
			t.Errorf("%v: %v", test.environment, got)
		}
	}
}
