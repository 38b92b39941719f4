package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/vm/vmtest"
)

// nightly executes the script of make nightly with results in dir.
func nightly(t *testing.T, dir string, environment ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("../../.ci/nightly")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "RESULTS=" + dir}, environment...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// resultFiles are the names in dir by their extension.
func resultFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Ext(e.Name())] = content
	}
	return found
}

// Both kernels are booted and compared, and the day's files grow.
func TestNightly(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	image, dir := vmtest.Kernel(t, vmtest.UML), filepath.Join(t.TempDir(), "results")
	suite := writeSuite(t, "delete-iface --subnets 16 --as empty --runs 1 --warmup 0\n")
	for i := 1; i <= 2; i++ {
		code, stdout, stderr := nightly(t, dir, "FIBCHURN="+binary(t), "KERNEL="+image, "BASE="+image, "BOOTS=4", "FAIL_ABOVE=1000%", "SUITE="+suite,
			"VMFLAGS=--memory 256 --metric wall --phase delete") // as few as can show anything
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "nightly: no regression above 1000% was shown; runs in ") || !strings.Contains(stdout, "base") {
			t.Fatalf("exit %d, %s\n%s", code, stderr, stdout)
		}
		files := resultFiles(t, dir)
		if runs := readRuns(t, string(files[".jsonl"])); len(runs) != 8*i || runs[0].Environment.Label != "base" || runs[1].Environment.Label != "new" {
			t.Errorf("%d runs", len(runs))
		}
		if n := bytes.Count(files[".txt"], []byte("nightly: no regression")); n != i || len(files) != 3 {
			t.Errorf("%d reports, files %d", n, len(files))
		}
	}
}

// standIn is a program that says a line, or more, and ends with a code.
func standIn(t *testing.T, code, line string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fibchurn")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nprintf '%s\\n' '"+line+"' >&2\nexit "+code+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNightlyVerdicts(t *testing.T) {
	for _, test := range []struct {
		code, line string
		exit       int
		want       string
	}{
		{"0", "", exitOK, "nightly: no regression above 7%"},
		{"1", "fibchurn: regression: addrs delete wall: +11.3 %, above 7 %", exitFailed, "nightly: regression, addrs delete wall: +11.3 %, above 7 %; runs in"},
		{"1", "fibchurn: --fail-above: 1 cell of base has nothing to compare with in new (new): addrs", exitFailed, "nightly: failed, 1 cell of base has nothing to compare with in new (new): addrs; runs in"},
		{"1", "fibchurn: kernel new panicked", exitFailed, "nightly: failed, exit 1; runs in"},
		{"1", "fibchurn: 1 of 16 boots failed (new 1 of 8)", exitFailed, "nightly: failed, exit 1; 1 of 16 boots failed (new 1 of 8); runs in"},
		{"1", "fibchurn: regression: addrs delete wall: +11.3 %, above 7 %\nfibchurn: 1 of 16 boots failed (new 1 of 8)", exitFailed,
			"nightly: regression, addrs delete wall: +11.3 %, above 7 %; 1 of 16 boots failed (new 1 of 8); runs in"},
		{"2", "fibchurn: --kernel", exitUsage, "nightly: failed, exit 2"},
		{"4", "fibchurn: no QEMU", exitUnsupported, "nightly: skipped"},
		{"130", "fibchurn: interrupted", exitInterrupted, "nightly: interrupted; the runs made are kept"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".report.left"), nil, 0o644); err != nil { // of one that was killed
			t.Fatal(err)
		}
		code, stdout, stderr := nightly(t, dir, "FIBCHURN="+standIn(t, test.code, test.line), "KERNEL=k", "BASE=b", "FAIL_ABOVE=7%")
		files := resultFiles(t, dir)
		if code != test.exit || stderr != "" || !strings.Contains(stdout, test.want) || !strings.Contains(stdout, test.line) || !bytes.Contains(files[".txt"], []byte(test.want)) {
			t.Errorf("exit %d, want %d and %q; %s\n%s", code, test.exit, test.want, stderr, stdout)
		}
		if len(files) != 2 { // the report and the lock
			t.Errorf("%d files", len(files))
		}
	}
}

func TestNightlyRefuses(t *testing.T) {
	program := standIn(t, "0", "")
	refused := func(name string, want int, part, dir string, environment ...string) {
		t.Helper()
		code, stdout, stderr := nightly(t, dir, environment...)
		if code != want || stdout != "" || !strings.HasPrefix(stderr, "nightly: ") || !strings.Contains(stderr, part) {
			t.Errorf("%s: exit %d, stdout %s, stderr %s", name, code, stdout, stderr)
		}
	}
	refused("no kernels", exitUsage, "KERNEL and BASE are needed", t.TempDir(), "FIBCHURN="+program)
	refused("no program", exitUsage, "no such program", t.TempDir(), "FIBCHURN=/no/such", "KERNEL=k", "BASE=b")

	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, ".lock"))
	if err == nil {
		defer lock.Close()
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("another at work", exitUnsupported, "another comparison is writing", dir, "FIBCHURN="+program, "KERNEL=k", "BASE=b")
}
