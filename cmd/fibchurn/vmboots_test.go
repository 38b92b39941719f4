package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
	"fibchurn/vm"
	"fibchurn/vm/vmtest"
)

// Of boots by a word each: a kernel's label, in capitals where it failed, with a "!" where
// it did not come up. Two runs come of every boot that came up.
func TestBootTally(t *testing.T) {
	for _, test := range []struct {
		boots    string
		planned  int
		goesOn   bool
		err      string
		sides    string // LABEL:RUNS
		why      string
		warnings string // a part
	}{
		{"a b b a", 4, true, "", "a:4 b:4", "", ""},
		{"a B b a", 4, true, "1 of 4 boots failed (b 1 of 2)", "a:4 b:2", "", "1 of 2 boots of b failed: 2 runs that came of them are in the tables above and not in this comparison."},
		{"A b b a", 4, true, "1 of 4 boots failed (a 1 of 2)", "a:2 b:4", "", "1 of 2 boots of a failed"},
		{"a B B", 8, false, "2 of 3 boots failed (b 2 of 2); 5 more not made, for b failed twice running", "", "no boot of b ended well", ""},
		{"a B b A A!", 8, false, "3 of 5 boots failed (a 2 of 3, b 1 of 2); 3 more not made, for a failed twice running", "a:2 b:2", "", "2 of 3 boots of a failed"},
		{"a b b A a B! b a a B", 10, true, "3 of 10 boots failed (a 1 of 5, b 2 of 5)", "a:8 b:6", "", "2 of 5 boots of b failed: 2 runs"},
		{"a B!", 8, false, "1 of 2 boots failed (b 1 of 1); 6 more not made, for b did not come up", "", "no boot of b ended well", ""},
		{"a b b A!", 4, true, "1 of 4 boots failed (a 1 of 2)", "a:2 b:4", "", "1 of 2 boots of a failed, without a run."},
		{"a B c", 3, true, "1 of 3 boots failed (b 1 of 1)", "a:2 c:2", "", "1 of 1 boots of b failed: it is not compared."},
		{"a B C", 3, true, "2 of 3 boots failed (b 1 of 1, c 1 of 1)", "", "no boot ended well but of a", ""},
		{"A b c", 3, true, "1 of 3 boots failed (a 1 of 1)", "", "no boot of a ended well", ""},
	} {
		kernels := []vm.Kernel{{Label: "a"}, {Label: "b"}}
		if strings.ContainsAny(test.boots, "cC") {
			kernels = append(kernels, vm.Kernel{Label: "c"})
		}
		tally, next := newBootTally(kernels, test.planned), true
		for _, word := range strings.Fields(test.boots) {
			if !next {
				t.Errorf("%s: ended before %s", test.boots, word)
			}
			label := strings.ToLower(word[:1])
			runs, outcome := make([]results.Run, 2), vm.Outcome{Release: "6.1", Runs: 2}
			var failed *failedBoot
			if word[:1] != label {
				if strings.HasSuffix(word, "!") {
					runs, outcome = nil, vm.Outcome{}
				}
				failed = &failedBoot{&vm.GuestError{Label: label, Fault: vm.Panic}, outcome}
			}
			next = tally.take(label, runs, failed)
		}
		text := ""
		if err := tally.err(); err != nil {
			text = err.Error()
		}
		groups, warnings, why := tally.sides()
		var sides, said []string
		for _, g := range groups {
			sides = append(sides, fmt.Sprintf("%s:%d", g.Name, len(g.Runs)))
		}
		for _, w := range warnings {
			said = append(said, w.Text)
		}
		if next != test.goesOn || text != test.err || strings.Join(sides, " ") != test.sides || why != test.why {
			t.Errorf("%s: goes on %v, %q, sides %q, why %q", test.boots, next, text, sides, why)
		}
		if all := strings.Join(said, " "); !strings.Contains(all, test.warnings) || (test.warnings == "") != (all == "") {
			t.Errorf("%s: warnings %q", test.boots, all)
		}
	}
}

// killOnce kills a machine with a word in its command line once a run with that label has
// come into a file.
func killOnce(t *testing.T, word, label, file string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if content, _ := os.ReadFile(file); bytes.Contains(content, []byte(`"label":"`+label+`"`)) {
			for _, pid := range withCommandLine(t, word) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
	t.Errorf("no run of %s came", label)
}

// A boot that fails is said at once, and the others are made and compared without it.
func TestVMFailedBoot(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	image, file := forAnybody(t, vmtest.UML), filepath.Join(t.TempDir(), "out.jsonl")
	const runs = 20
	victim := fmt.Sprintf("fibchurn.victim=%d.", os.Getpid())
	cmd := exec.Command(binary(t), "vm", "-o", file, "--kernel", image+"=base", "--kernel", image+"=new", "--boots", "2", "--append", "new:"+victim,
		"--fail-above", "1000%", "--", "delete-iface", "--subnets", "512", "--as", "addrs", "--runs", fmt.Sprint(runs), "--warmup", "0")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killOnce(t, "\x00"+victim, "new", file) // as a word of its own it is the machine's
	_ = cmd.Wait()
	said := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || said[len(said)-1] != "fibchurn: 1 of 4 boots failed (new 1 of 2)" {
		t.Errorf("exit %d, stderr %s", code, &errs)
	}
	for _, want := range []string{"the last lines of the console of new:", "\nfibchurn: boot 2 of 4: kernel new was killed: "} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, &errs)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	of := map[string]int{}
	for _, run := range readRuns(t, string(content)) {
		if of[run.Boot]++; of[run.Boot] == 1 {
			order = append(order, run.Environment.Label)
		}
	}
	lost := len(readRuns(t, string(content))) - 3*runs
	if strings.Join(order, " ") != "base new new base" || lost < 1 || lost >= runs {
		t.Errorf("boots of %q, %d runs of the one that failed", order, lost)
	}
	if _, comparison, _ := strings.Cut(out.String(), "1 of 2 boots of new failed: "); !strings.Contains(comparison, "not in this comparison") {
		t.Errorf("no comparison that says so:\n%s", &out)
	}
	mustEnd(t, image)
}

// A kernel that does not come up ends the session: the others would wait for nothing.
func TestVMNeverUp(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	image := vmtest.Kernel(t, vmtest.UML)
	code, stdout, stderr := execute(t, false, "vm", "--kernel", image+"=base", "--kernel", image+"=new", "--boots", "3",
		"--append", "new:rdinit=/none", "--append", markOf(t),
		"--", "delete-iface", "--subnets", "16", "--as", "empty", "--runs", "1", "--warmup", "0")
	if code != exitFailed || strings.Count(stdout, "create") == 0 {
		t.Errorf("exit %d, stdout %s", code, stdout)
	}
	for _, want := range []string{
		"fibchurn: boot 2 of 6: kernel new panicked at boot: Kernel panic",
		"fibchurn: not compared: no boot of new ended well\nfibchurn: 1 of 2 boots failed (new 1 of 1); 4 more not made, for new did not come up\n",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	mustEnd(t, markOf(t))
}
