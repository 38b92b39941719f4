package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fibchurn/results"
	"fibchurn/vm/vmtest"
)

// Bad input of forward and flood gives one line on stderr, exit 2, and no work.
func TestPacketsUsage(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("20.0.0.0/30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"forward 100k", `unexpected argument "100k"`},
		{"forward --routes 0", "--routes 0: must be at least 1"},
		{"forward --routes 1k,1000", "given twice"},
		{"forward --routes 20M", "the layout dense has at most"},
		{"forward --layout flat", "--layout flat: must be one of"},
		{"forward --layout dense --prefixes " + list, "exclude each other"},
		{"forward --prefixes " + list + " --flows 5", "--flows 5: only 4 different addresses were found in the table's 1 route; --flows 4 would do"},
		{"forward --path air", "--path air: must be full-stack, xdp-lookup, xdp-direct, redirect"},
		{"forward --path redirect --path redirect", "--path redirect: given twice"},
		{"forward --routes 1k --flows 0", "--flows 0: must be 1 to"},
		{"forward --routes 1k --flows 2M", "--flows 2000000: must be 1 to"},
		{"forward --routes 1k --burst 0", "--burst 0: must be 1 to 256"},
		{"forward --routes 1k --burst 257", "--burst 257: must be 1 to 256"},
		{"forward --routes 1k --duration 0s", "--duration 0s: must be more than 0"},
		{"forward --routes 1k --packets 0", "--packets 0: must be at least 1"},
		{"forward --routes 1k --packets 5 --duration 1s", "--duration and --packets exclude each other"},
		{"forward --routes 1k --packets 5 --under flap", "--packets: is for --under none"},
		{"forward --routes 1k --under rain", "--under rain: must be none, flap"},
		{"forward --routes 1k --under flap --churn-rate 0", "--churn-rate 0: must be at least 1, or max"},
		{"forward --routes 1k --under add-delete --churn-size 0", "--churn-size 0: must be 1 to"},
		{"forward -6 --routes 1k --under resize", "--under resize: is about the trie of IPv4"},
		{"forward --routes 1k --rules 40k", "--rules 40000: must be 0 to 32000"},
		{"forward --link-kind veth", "unknown flag -link-kind"},
		{"flood stray", `unexpected argument "stray"`},
		{"flood --rules 1,1", "given twice"},
		{"flood --rules 40k", "--rules 40000: must be 0 to 32000"},
		{"flood --flows 0", "--flows 0: must be 1 to"},
		{"flood --burst 1k", "--burst 1000: must be 1 to 256"},
		{"flood --duration -1s", "--duration -1s: must be more than 0"},
		{"flood --packets 5 --duration 1s", "--duration and --packets exclude each other"},
		{"flood --link-kind tun", "--link-kind tun: must be dummy, ifb, veth"},
		{"flood --link-kind moon", "--link-kind moon: must be auto, dummy"},
		{"flood --runs 0", "--runs 0: must be 1 to"},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := call(strings.Fields(test.args)...)
			if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 2 and one line with %q", code, stdout, stderr, test.want)
			}
		})
	}
}

func forwardArgs(more ...string) []string {
	return append([]string{"forward", "--routes", "200", "--flows", "300", "--packets", "3k", "--runs", "1", "--warmup", "0", "-q"}, more...)
}

func floodArgs(more ...string) []string {
	return append([]string{"flood", "--flows", "300", "--packets", "3k", "--runs", "1", "--warmup", "0", "-q"}, more...)
}

// Every path in both families over several tables has a cell, in which all packets
// are forwarded; only those that were asked for.
func TestForwardCells(t *testing.T) {
	code, stdout, stderr := execute(t, false, "forward", "--routes", "100,200", "--flows", "300", "--packets", "3k", "--runs", "1", "--warmup", "0", "-q", "-4", "-6", "-j")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	var cells []string
	for _, run := range readRuns(t, stdout) {
		cells = append(cells, run.Cell)
		if f := run.Forward; !run.Sample() || f == nil || !strings.HasPrefix(run.Cell, f.Path) || f.Flows != 300 || f.Stretches[0].Forwarded != 3000 {
			t.Errorf("%s: %+v", run.Cell, f)
		}
	}
	slices.Sort(cells)
	if len(slices.Compact(cells)) != 16 || !slices.Contains(cells, "xdp-direct (IPv6, 200 routes)") {
		t.Errorf("%d cells: %q", len(cells), cells)
	}
	code, stdout, stderr = execute(t, false, forwardArgs("--path", "redirect", "--path", "xdp-lookup")...)
	if code != exitOK || !strings.Contains(stdout, "A lookup costs a packet") || strings.Contains(stdout, "full-stack") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

func TestFloodCells(t *testing.T) {
	code, stdout, stderr := execute(t, false, floodArgs("-4", "-6", "--rules", "0,3", "-j")...)
	runs := readRuns(t, stdout)
	if code != exitOK || stderr != "" || len(runs) != 4 {
		t.Fatalf("exit %d, %d runs, %s", code, len(runs), stderr)
	}
	for _, run := range runs {
		if f := run.Flood; !run.Sample() || f == nil || f.Cookies != 3000 || !strings.HasPrefix(run.Cell, "cookies (IPv") {
			t.Errorf("%s: %+v", run.Cell, f)
		}
	}
	code, stdout, stderr = execute(t, false, floodArgs()...)
	if code != exitOK || !strings.Contains(stdout, "SYN cookies a second on one CPU") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

// Two files of one kernel are compared by the time of a packet.
func TestComparePacketFiles(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{forwardArgs("--path", "redirect"), floodArgs()} {
		a, b := filepath.Join(dir, args[0]+"-a"), filepath.Join(dir, args[0]+"-b")
		for _, file := range []string{a, b} {
			if code, _, stderr := execute(t, false, append(args, "--runs", "2", "-o", file)...); code != exitOK {
				t.Fatalf("exit %d, %s", code, stderr)
			}
		}
		code, stdout, stderr := call("compare", a, b)
		if code != exitOK || !strings.Contains(stdout, "time from one packet to the next") || strings.Contains(stdout, "wall time") {
			t.Errorf("exit %d, %s%s", code, stdout, stderr)
		}
	}
}

// Without root there is no BPF: exit 4, and one line that says why.
func TestPacketsRootless(t *testing.T) {
	for _, args := range [][]string{forwardArgs(), floodArgs()} {
		code, stdout, stderr := execute(t, true, args...)
		if code != exitUnsupported || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "run as root") {
			t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and what would help", code, stdout, stderr, exitUnsupported)
		}
	}
}

// On a kernel without veths nothing can be forwarded: exit 4.
func TestVMPacketsUnsupported(t *testing.T) {
	t.Parallel()
	image := vmtest.Kernel(t, vmtest.UML)
	code, _, stderr := execute(t, false, append([]string{"vm", "-q", "-j", "--kernel", image + "=k", "--modules", fewModules(t), "--"}, forwardArgs()[:len(forwardArgs())-1]...)...)
	if code != exitUnsupported || !strings.Contains(stderr, "an interface of kind veth") {
		t.Errorf("exit %d, want %d and what is missing: %s", code, exitUnsupported, stderr)
	}
}

// Other kernels, emulated and in user mode, forward and answer too.
func TestVMPackets(t *testing.T) {
	args := []string{"vm", "--accel", "tcg", "-j", "-q"}
	kernels := []string{vmtest.Linux612, vmtest.UML}
	for _, name := range kernels {
		args = append(args, "--kernel", vmtest.Kernel(t, name)+"="+name)
	}
	lines := ""
	for _, line := range [][]string{forwardArgs("-4", "-6"), floodArgs("-4", "-6", "--rules", "1")} {
		lines += strings.Join(slices.DeleteFunc(line, func(a string) bool { return a == "-q" }), " ") + "\n"
	}
	code, stdout, stderr := execute(t, false, append(args, "--", "suite", writeSuite(t, lines))...)
	if code != exitOK {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	cells := map[string]int{}
	for _, run := range readRuns(t, stdout) {
		if !run.Sample() || run.Command == "forward" && run.Forward.Stretches[0].Forwarded != 3000 || run.Command == "flood" && run.Flood.Cookies != 3000 {
			t.Errorf("%s, %s: %+v %+v", run.Environment.Label, run.Cell, run.Forward, run.Flood)
		}
		cells[run.Environment.Label+" "+run.Command]++
	}
	for _, name := range kernels {
		if forward, flood := cells[name+" forward"], cells[name+" flood"]; forward != 8 || flood != 2 || len(cells) != 2*len(kernels) {
			t.Errorf("%s: %d cells of forward, want 8, %d of flood, want 2; stderr %s", name, forward, flood, stderr)
		}
	}
}

// The paths of the command line are those of the record.
func TestForwardPathsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/forward.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range results.Paths() {
		if !strings.Contains(string(text), "`"+path+"`") {
			t.Errorf("docs/forward.md says nothing of %s", path)
		}
	}
}
