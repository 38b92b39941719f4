package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/ns"
)

// missingKind is a --link-kind that this kernel does not make, or none.
func missingKind(t *testing.T) string {
	t.Helper()
	for _, kind := range ns.Kinds() {
		if ns.TryKind(kind) != nil {
			return kind
		}
	}
	return ""
}

// verdicts are those of the table of lines.
func verdicts(output string) string {
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^ *\d+  (ok|failed|skipped|interrupted) `).FindAllStringSubmatch(output, -1) {
		found = append(found, m[1])
	}
	return strings.Join(found, " ")
}

// Every run goes to the file and to stdout, as an ordinary user too, and the table of
// lines to stderr.
func TestSuiteRecords(t *testing.T) {
	path := writeSuite(t, "# a comment\ndelete-iface --subnets 16 --as empty --runs 2\n\nroutes --count '16' --runs 1 # another\n")
	for dir := filepath.Dir(path); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) { // t.TempDir is for its user alone
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	for _, args := range [][]string{{"suite", "-j", "-o", file, path}, {"-j", "suite", path}} {
		rootless := len(args) == 3
		code, stdout, stderr := execute(t, rootless, args...)
		if code != exitOK || verdicts(stderr) != "ok ok" {
			t.Fatalf("rootless %v: exit %d, %s", rootless, code, stderr)
		}
		commands := ""
		for _, run := range readRuns(t, stdout) {
			commands += run.Command + " "
			if run.Environment.Rootless != rootless || !run.Sample() {
				t.Errorf("rootless %v: %+v", rootless, run)
			}
		}
		if commands != "delete-iface delete-iface routes " {
			t.Errorf("runs of %s", commands)
		}
		if content, err := os.ReadFile(file); err != nil || !rootless && string(content) != stdout {
			t.Errorf("the file differs from stdout: %v", err)
		}
	}
}

// What the kernel cannot do is skipped with its reason, and exit 4 if that is all.
func TestSuiteSkips(t *testing.T) {
	netnstest.Root(t)
	kind := missingKind(t)
	if kind == "" {
		return // TestVMSuites has a kernel without a driver
	}
	const good = "delete-iface --subnets 8 --as empty --runs 1\n"
	bad := "delete-iface --link-kind " + kind + "\n"
	for _, test := range []struct {
		text     string
		code     int
		verdicts string
	}{
		{bad + good, exitOK, "skipped ok"},
		{bad + bad, exitUnsupported, "skipped skipped"},
	} {
		code, stdout, stderr := execute(t, false, "suite", writeSuite(t, test.text))
		reason := "an interface of kind " + kind
		if code != test.code || verdicts(stdout) != test.verdicts || !strings.Contains(stdout, reason) || !strings.Contains(stderr, "my.suite:1: skipped: "+reason) {
			t.Errorf("exit %d, want %d, %s\n%s", code, test.code, stderr, stdout)
		}
	}
}

// A file cannot allow a change of the whole machine; who starts it can.
func TestSuiteHostSysctl(t *testing.T) {
	netnstest.Root(t)
	path := writeSuite(t, "--allow-host-sysctl routes --count 8 --runs 1 --warmup 0 --sync-mem 123Ki\n")
	code, stdout, _ := execute(t, false, "suite", path)
	if code != exitUnsupported || !strings.Contains(stdout, "suite --allow-host-sysctl allows that") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	code, stdout, stderr := execute(t, false, "suite", "-j", "--allow-host-sysctl", path)
	if runs := readRuns(t, stdout); code != exitOK || len(runs) != 1 || runs[0].Environment.FibSyncMem != 123<<10 {
		t.Errorf("exit %d, %d runs, %s", code, len(runs), stderr)
	}
}

// A table that this machine has no memory for is a mistake on a command line, and
// skipped in a suite.
func TestTooLittleMemoryIsSkipped(t *testing.T) {
	var stderr bytes.Buffer
	err := memoryErrorf("--count 5: too many")
	if code := exitCode(err, &stderr); code != exitUsage || !cannotBeDone(err) || cannotBeDone(usageErrorf("x")) {
		t.Errorf("exit %d, %v", code, cannotBeDone(err))
	}
}

// A failure ends the suite, with all lines accounted for, unless it is told to go on.
func TestSuiteFailures(t *testing.T) {
	path := writeSuite(t, strings.Repeat("delete-iface --subnets 8 --as empty --runs 1 --warmup 0\n", 3))
	for flag, want := range map[string]string{"": "failed skipped skipped", "-force": "failed failed failed", "--force": "failed failed failed"} {
		args := append([]string{"suite", "-o", "/dev/full", path}, strings.Fields(flag)...)
		code, stdout, stderr := execute(t, false, args...)
		if code != exitFailed || verdicts(stdout) != want || !strings.Contains(stderr, "my.suite:1: failed: ") || !strings.Contains(stderr, "no space left") {
			t.Errorf("%q: exit %d, %s\n%s", flag, code, stderr, stdout)
		}
		if flag == "" && !strings.Contains(stdout, "lines 2, 3 skipped: not started, because line 1 failed; --force goes on") {
			t.Errorf("no reason: %s", stdout)
		}
	}
}

// A prefix file that goes away after the check: that line fails, and no other.
func TestSuiteGoesOnAfterAFailure(t *testing.T) {
	netnstest.Root(t)
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("192.0.2.0/24\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := writeSuite(t, "routes --count 16 --runs 10\nroutes --prefixes "+list+"\nroutes --count 8 --runs 1\n")
	cmd, stdout := startSuite(t, "--ktap", "--force", path)
	for stdout.Scan() && !strings.HasPrefix(stdout.Text(), "1..") {
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	results := "" // in order
	for stdout.Scan() {
		if m := regexp.MustCompile(`^((?:not )?ok \d+) `).FindStringSubmatch(stdout.Text()); m != nil {
			results += m[1] + ", "
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || results != "ok 1, not ok 2, ok 3, " {
		t.Errorf("exit %d, %s", code, results)
	}
}

// startSuite starts the program, and returns its stdout line by line.
func startSuite(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"suite"}, args...)...)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(pipe)
}

// The first signal ends the suite after the run in flight: no further line is started,
// and all are accounted for.
func TestSuiteInterrupted(t *testing.T) {
	netnstest.Root(t)
	path := writeSuite(t, "routes --count 16 --runs 100k\nroutes --count 16\n")
	cmd, stdout := startSuite(t, "--ktap", path)
	stdout.Scan()
	time.Sleep(500 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for stdout.Scan() {
		if !strings.HasPrefix(stdout.Text(), "#") {
			lines = append(lines, stdout.Text())
		}
	}
	waitAtMost(t, cmd, 5*time.Second)
	want := "1..2\nnot ok 1 routes --count 16 --runs 100k # ERROR interrupted\nok 2 routes --count 16 # SKIP interrupted before it was started"
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || strings.Join(lines, "\n") != want {
		t.Errorf("exit %d\n%s", code, strings.Join(lines, "\n"))
	}
}

// A note that every line would repeat is passed on once.
func TestOnceIsForEveryText(t *testing.T) {
	var b bytes.Buffer
	o := &once{to: &b, before: map[string]bool{}}
	for _, text := range []string{"a\n", "b\n", "a\n"} {
		if n, err := o.Write([]byte(text)); n != 2 || err != nil {
			t.Error(n, err)
		}
	}
	if b.String() != "a\nb\n" {
		t.Errorf("%q", b.String())
	}
}
