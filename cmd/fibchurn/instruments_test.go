package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fibchurn/internal/lctrie"
	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/results"
	"fibchurn/vm/vmtest"
)

// traced returns what was traced of a function in a phase.
func traced(t *testing.T, r *results.Run, phase, function string) results.FunctionTrace {
	t.Helper()
	for _, p := range r.Trace.Phases {
		for _, f := range p.Functions {
			if p.Phase == phase && f.Function == function {
				return f
			}
		}
	}
	t.Fatalf("%s in phase %s is not in %+v", function, phase, r.Trace)
	return results.FunctionTrace{}
}

// plausible demands that all calls were timed, and that the outermost calls of one
// thread take no longer than the phase they are of.
func plausible(t *testing.T, r *results.Run) {
	t.Helper()
	for _, p := range r.Trace.Phases {
		for _, f := range p.Functions {
			wall := r.Phase(p.Phase).Wall
			if f.Missed != 0 || f.Wall > wall || f.Max > f.Wall || (f.Calls == 0) != (f.Wall == 0) || f.Wall < f.Calls {
				t.Errorf("%s %s in %d ns: %+v", r.Cell, p.Phase, wall, f)
			}
		}
	}
}

// onOneCPU is a machine of one CPU. Probes and perf events have the kernel change its own
// code, and a second CPU that QEMU emulates runs into what is half changed now and then
// ("Oops: int3").
func onOneCPU() []string { return []string{"vm", "--accel", "tcg", "--cpus", "1"} }

// The calls of resize are those that the model of the trie makes, and those that the
// command's own kprobe counts; a tnode is made for every inflate and halve of a single
// tnode. Runs that are not traced tell the times.
func TestVMTraceResize(t *testing.T) {
	t.Parallel()
	args := slices.Concat(onOneCPU(), []string{"-j"})
	for _, name := range []string{vmtest.Linux61, vmtest.Linux612} {
		args = append(args, "--kernel", vmtest.Kernel(t, name)+"="+name)
	}
	code, stdout, stderr := execute(t, false, append(args, "--", "resize", "--node-bits", "6", "--cycles", "4", "--runs", "1", "--warmup", "0", "--trace-resize")...)
	if code != exitOK || strings.Count(stderr, "not traced: ") != 2 || !strings.Contains(stderr, "inflate (no symbol: inlined into its callers)") {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	count := 0
	for _, r := range readRuns(t, stdout) {
		if r.Trace == nil {
			if !r.Sample() {
				t.Errorf("%s %s without a trace is no sample", r.Environment.Label, r.Cell)
			}
			continue
		}
		count++
		plausible(t, &r)
		resize, tnodes := traced(t, &r, "oscillate", "resize"), traced(t, &r, "oscillate", "tnode_new")
		events := r.Resize.Events
		t.Logf("%s %s: %+v, %+v", r.Environment.Label, r.Cell, resize, tnodes)
		if r.Sample() || !r.Verified || resize.Calls == 0 || resize.Calls != events.Resizes || resize.Calls != r.Resize.Calls.Counted || tnodes.Calls != events.Inflates+events.Halves {
			t.Errorf("%s %s: resize %+v, tnode_new %+v, model %+v, counted %+v", r.Environment.Label, r.Cell, resize, tnodes, events, r.Resize.Calls)
		}
	}
	if count != 4 {
		t.Errorf("%d traced runs of 2 cells in 2 kernels", count)
	}
}

// Adding and removing routes calls resize as often as the model does, one by one or
// nested in itself; removing calls update_suffix; a flush goes through the tables. The
// profiled run beside has the waits of its phases.
func TestVMTraceRoutes(t *testing.T) {
	t.Parallel()
	const routes = 300
	code, stdout, stderr := execute(t, false, append(onOneCPU(), "-j", "-q", "--kernel", vmtest.Kernel(t, vmtest.Linux612), "--",
		"routes", "--count", "300", "--table", "100", "--runs", "1", "--warmup", "0", "--trace-resize", "--profile")...)
	if code != exitOK {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	set, err := prefixes.Generate(prefixes.Dense, prefixes.IPv4, routes, 1)
	if err != nil {
		t.Fatal(err)
	}
	model := lctrie.New()
	var added, removed int64
	for _, p := range set.All() {
		e, err := model.Insert(p)
		if err != nil {
			t.Fatal(err)
		}
		added += int64(e.Resizes)
	}
	for _, p := range set.All() {
		e, err := model.Delete(p)
		if err != nil {
			t.Fatal(err)
		}
		removed += int64(e.Resizes)
	}
	var withTrace, withWaits int
	for _, r := range readRuns(t, stdout) {
		if r.Blocked != nil {
			withWaits++
			if len(r.Blocked.Phases) != len(r.Phases) {
				t.Errorf("waits of %d phases of %d", len(r.Blocked.Phases), len(r.Phases))
			}
		}
		if r.Trace == nil {
			continue
		}
		withTrace++
		plausible(t, &r)
		for phase, want := range map[string]int64{"add": added, "replace": 0, "delete": removed, "re-add": added} {
			if got := traced(t, &r, phase, "resize"); got.Calls != want {
				t.Errorf("%s: %+v, the model has %d", phase, got, want)
			}
		}
		suffix, flush := traced(t, &r, "delete", "update_suffix"), traced(t, &r, "flush", "fib_table_flush")
		t.Logf("%+v %+v", suffix, flush)
		if suffix.Calls == 0 || suffix.Calls > routes*2 || flush.Calls != 3 || traced(t, &r, "add", "fib_table_flush").Calls != 0 {
			t.Errorf("%+v %+v", suffix, flush)
		}
	}
	if withTrace != 1 || withWaits != 1 {
		t.Errorf("%d runs with a trace, %d with waits", withTrace, withWaits)
	}
}

// Where the kernel has no kprobes, or the user may not use them, one line says so and
// the runs are made.
func TestTraceUnavailable(t *testing.T) {
	netnstest.Root(t)
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe")
	for _, rootless := range []bool{false, true} {
		possible := err == nil && !rootless
		code, stdout, stderr := execute(t, rootless, "routes", "--count", "100", "--runs", "1", "--trace-resize", "-j", "-q")
		runs := readRuns(t, stdout)
		if code != exitOK || len(runs) == 0 {
			t.Fatalf("rootless %v: exit %d, stderr %s", rootless, code, stderr)
		}
		if possible {
			if len(runs) != 2 || stderr != "" {
				t.Errorf("%d runs, stderr %s", len(runs), stderr)
			}
			continue
		}
		warned := slices.ContainsFunc(runs[0].Warnings, func(w results.Warning) bool {
			return w.Kind == "trace" && strings.HasPrefix(w.Text, "nothing was traced: ")
		})
		if len(runs) != 1 || !runs[0].Sample() || !warned || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: --trace-resize: nothing was traced: ") {
			t.Errorf("rootless %v: %d runs, warnings %+v, stderr %q", rootless, len(runs), runs[0].Warnings, stderr)
		}
	}
}
