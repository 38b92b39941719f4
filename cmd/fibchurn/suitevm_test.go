package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	for label, runs := range inAllKernels(t, "routes", "--count", "500", "--runs", "1", "--warmup", "0") {
		if !slices.Equal(runs, []string{"routes"}) {
			t.Errorf("%s: %q", label, runs)
		}
	}
}

// The suite quick, in all kinds of kernels: every line of it makes its runs.
func TestVMSuiteQuick(t *testing.T) {
	s, err := loadSuite("quick")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, l := range s.lines {
		want = append(want, l.args[0])
	}
	slices.Sort(want)
	want = slices.Compact(want)
	found := inAllKernels(t, "suite", "quick")
	if len(found) != 3 {
		t.Errorf("runs of %q", slices.Collect(maps.Keys(found)))
	}
	for label, commands := range found {
		slices.Sort(commands)
		if got := slices.Compact(commands); !slices.Equal(got, want) {
			t.Errorf("%s: runs of %q, want %q", label, got, want)
		}
	}
}

// A suite and the files that its lines name go into the guest, a KTAP stream and skips
// come out.
func TestVMSuiteFile(t *testing.T) {
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
