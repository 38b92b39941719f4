package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fibchurn/vm/vmtest"
)

// inAllKernels executes a command in one boot of each kind of kernel, and returns the
// runs of each.
func inAllKernels(t *testing.T, command ...string) map[string][]string {
	t.Helper()
	args := []string{"vm", "--accel", "tcg", "-j", "-q"}
	for _, name := range []string{vmtest.Linux61, vmtest.Linux612, vmtest.UML} {
		args = append(args, "--kernel", vmtest.Kernel(t, name)+"="+name)
	}
	code, stdout, stderr := execute(t, false, append(append(args, "--"), command...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	commands := map[string][]string{}
	for _, run := range readRuns(t, stdout) {
		if !run.Sample() {
			t.Errorf("%s: %s is no sample", run.Environment.Label, run.Command)
		}
		commands[run.Environment.Label] = append(commands[run.Environment.Label], run.Command)
	}
	return commands
}

func TestVMRoutes(t *testing.T) {
	t.Parallel()
	for label, runs := range inAllKernels(t, "routes", "--count", "500", "--runs", "1", "--warmup", "0") {
		if !slices.Equal(runs, []string{"routes"}) {
			t.Errorf("%s: %q", label, runs)
		}
	}
}

// The suite quick, in all kinds of kernels and on this one: every line of it makes all
// its runs, or is skipped with a reason.
func TestVMSuiteQuick(t *testing.T) {
	t.Parallel()
	s, err := loadSuite("quick")
	if err != nil {
		t.Fatal(err)
	}
	const here = ""                      // the label of what no guest ran
	found := map[string]map[string]int{} // runs by kernel and line
	said := map[string]string{}
	var lock sync.Mutex
	t.Run("kernels", func(t *testing.T) { // ends when all have
		for _, label := range []string{vmtest.Linux61, vmtest.Linux612, vmtest.UML, here} {
			t.Run(label, func(t *testing.T) {
				t.Parallel()
				args := []string{"suite", "quick", "-j", "-q"}
				if label != here {
					args = []string{"vm", "--accel", "tcg", "-j", "-q", "--kernel", vmtest.Kernel(t, label) + "=" + label, "--", "suite", "quick"}
				}
				code, stdout, stderr := execute(t, false, args...)
				if code != exitOK {
					t.Fatalf("exit %d, stderr %s", code, stderr)
				}
				counts := map[string]int{}
				for _, run := range readRuns(t, stdout) {
					if !run.Sample() || run.Environment.Label != label {
						t.Errorf("%q: %s is no sample", run.Environment.Label, run.Command)
					}
					counts[run.Command]++
				}
				lock.Lock()
				defer lock.Unlock()
				found[label], said[label] = counts, stderr
			})
		}
	})
	want := map[string]int{}
	for _, l := range s.lines {
		want[l.args[0]]++
	}
	for label, said := range said {
		if len(found[label]) == 0 {
			t.Errorf("no runs of %q", label)
		}
		skipped := 0
		for line := range strings.Lines(said) {
			if label != here && !strings.HasPrefix(line, label+": ") {
				continue
			}
			_, reason, isSkip := strings.Cut(line, ": skipped: ")
			if !isSkip || len(reason) < 10 {
				t.Errorf("%q says %s", label, line)
			}
			skipped++
		}
		for command := range want {
			if found[label][command] == 0 && skipped == 0 {
				t.Errorf("%q has no runs of %s, and does not say why", label, command)
			}
		}
		if len(found[label]) != len(want) && skipped == 0 || !maps.Equal(found[label], found[vmtest.Linux612]) && skipped == 0 {
			t.Errorf("%q has %v, 6.12 has %v", label, found[label], found[vmtest.Linux612])
		}
	}
}

// A suite and the files that its lines name go into the guest, a KTAP stream and skips
// come out.
func TestVMSuiteFile(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "my list")
	if err := os.WriteFile(list, []byte("192.0.2.0/24\n198.51.100.0/24\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	image := vmtest.Kernel(t, vmtest.UML)
	good := fmt.Sprintf("routes --prefixes '%s' --runs 1 --warmup 0\n", list)
	bad := "delete-iface --link-kind veth --runs 1\n"
	for _, test := range []struct {
		name, text string
		code, runs int
		want       string
	}{
		{"one ok", good + bad, exitOK, 1, "ok 1 routes --prefixes " + list + " --runs 1 --warmup 0 # time="},
		{"none ok", bad + bad, exitUnsupported, 0, "ok 2 delete-iface --link-kind veth --runs 1 # SKIP an interface of kind veth: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := execute(t, false, "vm", "-j", "--kernel", image+"=k", "--modules", fewModules(t, "kernel/drivers/net/dummy.ko"),
				"--", "suite", "--ktap", writeSuite(t, test.text))
			runs, stream := "", ""
			for line := range strings.Lines(stdout) {
				if strings.HasPrefix(line, "{") {
					runs += line
				} else {
					stream += line
				}
			}
			if code != test.code || len(readRuns(t, runs)) != test.runs || !strings.HasPrefix(stream, "TAP version 13\n1..2\n") || !strings.Contains(stream, test.want) {
				t.Errorf("exit %d, stderr %s\n%s", code, stderr, stream)
			}
			if !strings.Contains(stderr, "my.suite:2: skipped: an interface of kind veth") {
				t.Errorf("the skip is not said: %s", stderr)
			}
		})
	}
}
