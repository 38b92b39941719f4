package main

import (
	"slices"
	"strings"
	"testing"

	"fibchurn/results"
	"fibchurn/vm/vmtest"
)

// leaves sums up the samples of a phase by the function they found, most first.
func leaves(ph *results.PhaseProfile) (functions []string, samples map[string]int64) {
	samples = map[string]int64{}
	for _, s := range ph.Stacks {
		leaf := s.Frames[strings.LastIndex(s.Frames, ";")+1:]
		if samples[leaf] == 0 {
			functions = append(functions, leaf)
		}
		samples[leaf] += s.Samples
	}
	slices.SortStableFunc(functions, func(a, b string) int { return int(samples[b] - samples[a]) })
	return functions, samples
}

// phaseProfile is that of a phase, all runs together.
func phaseProfile(runs []results.Run, phase string) *results.PhaseProfile {
	sum := &results.PhaseProfile{Phase: phase}
	for i := range runs {
		if runs[i].Profile == nil {
			continue
		}
		for _, ph := range runs[i].Profile.Phases {
			if ph.Phase == phase {
				sum.Samples += ph.Samples
				sum.Stacks = append(sum.Stacks, ph.Stacks...)
			}
		}
	}
	return sum
}

// Every run has a second beside it that is profiled, and is no sample. Removing the
// routes of a dense table one by one in the order they came takes long, for
// update_suffix walks the children of each removed leaf's parent: the profile says so.
func TestProfileRoutes(t *testing.T) {
	code, stdout, stderr := execute(t, false, "routes", "--count", "32Ki", "--runs", "3", "--warmup", "1", "--profile", "-j", "-q")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	runs := readRuns(t, stdout)
	if len(runs) != 6 {
		t.Fatalf("%d runs, want 3 and 3 that are profiled", len(runs))
	}
	for round := range 3 {
		pair := runs[2*round : 2*round+2]
		if pair[0].Run != round+1 || pair[1].Run != round+1 || pair[0].Instrumented() == pair[1].Instrumented() {
			t.Errorf("round %d: runs %d, %d; profiled %v, %v", round+1, pair[0].Run, pair[1].Run, pair[0].Instrumented(), pair[1].Instrumented())
		}
	}
	for i := range runs {
		p := runs[i].Profile
		if !runs[i].Verified || p != nil && (p.Lost > 0 || p.Scope != "thread" || len(p.Phases) != len(runs[i].Phases)) {
			t.Errorf("run %d: verified %v, profile %+v", i, runs[i].Verified, p)
		}
	}
	removals := phaseProfile(runs, "delete")
	functions, samples := leaves(removals)
	if len(functions) < 3 || !slices.Contains(functions[:3], "update_suffix") {
		t.Errorf("of %d samples: %v", removals.Samples, functions[:min(len(functions), 10)])
	}
	t.Logf("delete: %d samples, update_suffix %d", removals.Samples, samples["update_suffix"])
}

// The readers' lookups are profiled by stretch, and the churn beside them by phase.
func TestProfileLookup(t *testing.T) {
	code, stdout, stderr := execute(t, false, "lookup", "--routes", "10k", "--under", "flap", "--rate", "max", "--probe", "netlink",
		"--duration", "400ms", "--runs", "1", "--warmup", "0", "--profile", "-j", "-q")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	runs := readRuns(t, stdout)
	for phase, function := range map[string]string{
		"before": "netlink_sendmsg", "during": "netlink_sendmsg", "after": "netlink_sendmsg",
		"withdraw": "inet_rtm_delroute", "announce": "inet_rtm_newroute",
	} {
		ph := phaseProfile(runs, phase)
		var with int64
		for _, s := range ph.Stacks {
			if strings.Contains(";"+s.Frames+";", ";"+function+";") {
				with += s.Samples
			}
		}
		if ph.Samples == 0 || 3*with < ph.Samples {
			t.Errorf("%s: %d samples, %d of them in %s", phase, ph.Samples, with, function)
		}
	}
}

// Every workload has what its clocks hold in its profile, whichever threads they are.
func TestProfileWorkloads(t *testing.T) {
	for _, test := range []struct{ args, phase, function string }{
		{"delete-iface --subnets 4Ki --as addrs", "delete", "rtnl_dellink"},
		{"addrs --count 1Ki", "delete", "inet_rtm_deladdr"},
		{"flap --count 1k --duration 300ms --rate max", "announce", "inet_rtm_newroute"},
		{"flap --count 1k --duration 300ms --rate max", "withdraw", "inet_rtm_delroute"},
		{"routes --count 8Ki --parallel 2", "add", "inet_rtm_newroute"},
		{"netns --namespaces 32 --as bare", "create", "copy_net_ns"},
		{"netns --namespaces 16 --loops 2", "loops", "copy_net_ns"},
		{"netns --namespaces 4 --as routes", "fill", "inet_rtm_newroute"},
		{"netns --namespaces 32 --as routes --profile-scope cpus", "dismantle", "cleanup_net"},
		{"nexthops --count 1k", "add", "inet_rtm_newroute"},
	} {
		t.Run(test.args+" "+test.phase, func(t *testing.T) {
			args := append(strings.Fields(test.args), "--runs", "2", "--warmup", "0", "--profile", "--profile-hz", "5k", "-j", "-q")
			code, stdout, stderr := execute(t, false, args...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit %d, stderr %s", code, stderr)
			}
			ph := phaseProfile(readRuns(t, stdout), test.phase)
			for _, s := range ph.Stacks {
				if strings.Contains(";"+s.Frames+";", ";"+test.function+";") {
					return
				}
			}
			t.Errorf("%d samples, none of them in %s", ph.Samples, test.function)
		})
	}
}

// Who may not sample the kernel gets the figures, and is told once why there is no
// profile.
func TestProfileRefused(t *testing.T) {
	code, stdout, stderr := execute(t, true, "routes", "--count", "100", "--runs", "2", "--warmup", "0", "--profile", "-j", "-q")
	if code != exitOK || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "no profile: this user may not sample the kernel") {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	runs := readRuns(t, stdout)
	if len(runs) != 2 {
		t.Errorf("%d runs", len(runs))
	}
	for i := range runs {
		warned := slices.ContainsFunc(runs[i].Warnings, func(w results.Warning) bool { return w.Kind == "profile" })
		if !runs[i].Sample() || !warned {
			t.Errorf("run %d: a sample %v, warnings %v", i, runs[i].Sample(), runs[i].Warnings)
		}
	}
}

func TestProfileUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"routes --profile --profile-hz 9":           "--profile-hz 9: must be 10 to 20000",
		"routes --profile --profile-hz 20001":       "--profile-hz 20001: must be 10 to 20000",
		"routes --profile --profile-scope all":      "--profile-scope all: must be thread or cpus",
		"routes --profile-hz 100":                   "give --profile too",
		"routes --profile-scope cpus":               "give --profile too",
		"--profile suite quick":                     "--profile is for the lines of a suite",
		"--profile vm --kernel x -- routes":         "--profile is for the command in the guest",
		"--profile-hz 99 vm --kernel x -- routes":   "--profile-hz is for the command in the guest",
		"--profile-scope cpus suite quick --quiet":  "--profile-scope is for the lines of a suite",
		"lookup --profile --profile-hz x --runs 10": `"x" is no count`,
	} {
		code, stdout, stderr := call(strings.Fields(args)...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", args, code, stdout, stderr, want)
		}
	}
}

// In a guest there is nothing but the kernel and this program.
func TestVMProfile(t *testing.T) {
	t.Parallel()
	args := []string{"vm", "--accel", "tcg", "-j", "-q"}
	for _, name := range []string{vmtest.Linux61, vmtest.Linux612} {
		args = append(args, "--kernel", vmtest.Kernel(t, name)+"="+name)
	}
	code, stdout, stderr := execute(t, false, append(args, "--", "routes", "--count", "8Ki", "--runs", "1", "--warmup", "0", "--profile")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	runs := readRuns(t, stdout)
	if len(runs) != 4 {
		t.Fatalf("%d runs, want 2 in 2 kernels", len(runs))
	}
	for i := range runs {
		if runs[i].Profile == nil {
			continue
		}
		functions, samples := leaves(phaseProfile(runs[i:i+1], "delete"))
		if samples["update_suffix"] == 0 || samples["[unknown]"] > 0 {
			t.Errorf("%s: %v", runs[i].Environment.Label, functions)
		}
	}
}

func TestVMProfileUML(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := execute(t, false, "vm", "-j", "-q", "--kernel", vmtest.Kernel(t, vmtest.UML)+"=uml",
		"--", "routes", "--count", "100", "--runs", "1", "--warmup", "0", "--profile")
	if code != exitOK || !strings.Contains(stderr, "no profile: this kernel has no perf events") {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	if runs := readRuns(t, stdout); len(runs) != 1 || !runs[0].Sample() {
		t.Errorf("%d runs", len(runs))
	}
}
