package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

const (
	fullRuns   = "../../results/testdata/full.jsonl"
	brokenRuns = "../../results/testdata/left-out.jsonl"
)

// Every format of a file is what the renderer makes of its runs, and the same through a
// file of its own. A stream of tests of which one failed is a failure.
func TestReport(t *testing.T) {
	for _, name := range []string{fullRuns, brokenRuns} {
		runs, _, err := readRunFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range results.Formats() {
			var want bytes.Buffer
			if err := f.Write(&want, runs, results.FormatOptions{}); err != nil {
				t.Fatal(err)
			}
			wantCode := exitOK
			if f.Tests && name == brokenRuns {
				wantCode = exitFailed
			}
			code, stdout, stderr := call("report", name, "--format", f.Name)
			if code != wantCode || stdout != want.String() {
				t.Errorf("%s of %s: exit %d, %s", f.Name, name, code, stderr)
			}
			file := filepath.Join(t.TempDir(), "out")
			code, stdout, _ = call("report", "--format", f.Name, "-o", file, name)
			got, err := os.ReadFile(file)
			if err != nil || code != wantCode || stdout != "" || string(got) != want.String() {
				t.Errorf("%s of %s to a file: exit %d, %v", f.Name, name, code, err)
			}
		}
	}
	if code, stdout, _ := call("report", "-j", fullRuns); code != 0 || len(readRuns(t, stdout)) != strings.Count(stdout, "\n") {
		t.Errorf("-j: exit %d", code)
	}
}

// --histogram draws what lookup draws with it.
func TestReportHistogram(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	lookup := []string{"lookup", "--routes", "1k", "--duration", "20ms", "--runs", "1", "--warmup", "0", "-q", "--probe", "netlink", "--histogram", "-o", file}
	code, want, stderr := execute(t, false, lookup...)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	_, got, _ := execute(t, false, "report", "--histogram", file)
	if got != want || !strings.Contains(got, "lookups by netlink, rest, closed loop") {
		t.Errorf("report has\n%s\nlookup\n%s", got, want)
	}
}

// Lines that repeat a run do not count twice, and torn ones are told of.
func TestReportWarns(t *testing.T) {
	text, err := os.ReadFile(fullRuns)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.jsonl")
	if err := os.WriteFile(torn, text[:len(text)-100], 0o644); err != nil {
		t.Fatal(err)
	}
	_, once, _ := call("report", fullRuns)
	code, twice, stderr := call("report", fullRuns, torn)
	if code != 0 || once != twice || !strings.Contains(stderr, "torn line") || !strings.Contains(stderr, "29 of the lines repeat a run") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, _, stderr := call("report", "-q", fullRuns, torn); stderr != "" {
		t.Errorf("with -q: %s", stderr)
	}
}

func TestReportUsage(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"report":                                       "no file of runs given",
		"report /no/such/file":                         "no such file",
		"report " + dir:                                "is a directory",
		"report " + empty:                              "there are no runs",
		"report report_test.go":                        "is no record of a run",
		"report --format xml " + fullRuns:              "--format xml: must be one of text, json, bench, ktap, prometheus, lkp, lava",
		"report -j --format bench " + fullRuns:         "--json and --format bench: one or the other",
		"report --format= " + fullRuns:                 "--format: the value is empty",
		"report " + fullRuns + " --format":             "flag needs an argument",
		"report -o - " + fullRuns:                      "--output -",
		"report --color blue " + fullRuns:              "--color blue",
		"delete-iface --format xml":                    "--format xml",
		"delete-iface -j --format ktap":                "--json and --format ktap",
		"--format bench delete-iface -j":               "--json and --format bench",
		"suite smoke --ktap --format bench":            "--ktap and --format bench",
		"vm --kernel x -- delete-iface --format bench": "give it before the --",
		"vm --kernel x --fail-above 5 -j -- doctor":    "--fail-above: takes the comparison",
		"vm --kernel x -- report x":                    "report cannot be executed in a guest",
		"suite --list quick --format":                  "flag needs an argument",
	} {
		code, stdout, stderr := call(strings.Split(args, " ")...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}

// The file is replaced in one step, is for all to read, and nothing else is left: not
// where it could not be written either.
func TestReplaceFile(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	dir := t.TempDir()
	path, link := filepath.Join(dir, "fibchurn.prom"), filepath.Join(dir, "link.prom")
	if err := os.Symlink("fibchurn.prom", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, content string }{{path, "one\n"}, {path, "two\n"}, {link, "three\n"}} {
		before, _ := os.Stat(path)
		if err := replaceFile(test.path, []byte(test.content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		after, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != test.content || after.Mode() != 0o644 {
			t.Errorf("%s: %q, %v, %v %v", test.path, got, after.Mode(), err, statErr)
		}
		if before != nil && os.SameFile(before, after) {
			t.Error("the file was written to in place")
		}
	}
	if to, err := os.Readlink(link); err != nil || to != "fibchurn.prom" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if err := replaceFile(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("written into a directory that is not there")
	}
	if err := replaceFile(dir, nil); err == nil {
		t.Error("a directory was replaced")
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile("/dev/full", []byte("x")); err == nil {
		t.Error("a full disk is no error")
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatal("/dev/full was replaced", err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"fibchurn.prom", "link.prom", "sub"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
}

// Measuring commands print any format, and a stream of tests also where nothing could be
// measured.
func TestMeasureFormats(t *testing.T) {
	netnstest.Root(t)
	for format, want := range map[string]string{
		"bench": "BenchmarkDeleteIface/cell=empty/phase=delete-", "ktap": "ok 1 delete-iface empty # time=",
		"prometheus": `fibchurn_runs{set="`, "lkp": "delete-iface.empty.delete.wall_ns: ", "lava": "TEST_CASE_ID=delete-iface.empty RESULT=pass>",
		"json": `{"schema":`, "text": "cell   phase",
	} {
		file := filepath.Join(t.TempDir(), "runs.jsonl")
		code, stdout, stderr := execute(t, false, "delete-iface", "--subnets", "16", "--as", "empty", "--runs", "2", "--format", format, "-o", file)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d, %s%s", format, code, stdout, stderr)
		}
		runs, err := os.ReadFile(file)
		if err != nil || len(readRuns(t, string(runs))) != 2 {
			t.Errorf("%s: the file has %s, %v", format, runs, err)
		}
		if _, again, _ := execute(t, false, "report", "--format", format, file); again != stdout {
			t.Errorf("%s: report has\n%s\nmeasuring\n%s", format, again, stdout)
		}
	}
	if kind := missingKind(t); kind != "" {
		for format, want := range map[string]string{
			"ktap": "TAP version 13\n1..0 # SKIP ", "lava": "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=all-runs RESULT=skip>\n", "bench": "", "lkp": "",
		} {
			code, stdout, _ := execute(t, false, "delete-iface", "--link-kind", kind, "--subnets", "16", "--format", format)
			if code != exitUnsupported || !strings.HasPrefix(stdout, want) || want == "" && stdout != "" {
				t.Errorf("%s without %s: exit %d, %q", format, kind, code, stdout)
			}
		}
	}
}

// A stream of tests of a measuring that was interrupted says so, and is whole.
func TestInterruptedStream(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	cmd := exec.Command(binary(t), "delete-iface", "--subnets", "16", "--as", "empty", "--runs", "100000", "--format", "ktap", "-o", file)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			break
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			t.Fatal("nothing is measured")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"TAP version 13\n1..2\n", "\nok 1 delete-iface empty # time=", "\nnot ok 2 all runs # ERROR interrupted\n# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:0 error:1\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in\n%s", want, &stdout)
		}
	}
}

// A suite renders the runs of all its lines together; --format ktap is --ktap.
func TestSuiteFormats(t *testing.T) {
	netnstest.Root(t)
	path := writeSuite(t, "delete-iface --subnets 16 --as empty --runs 2\nroutes --count 16 --runs 2\n")
	for format, want := range map[string][]string{
		"bench":      {"BenchmarkDeleteIface/", "BenchmarkRoutes/"},
		"prometheus": {`command="delete-iface"`, `command="routes"`},
		"lkp":        {"\ndelete-iface.empty.runs: 2\n", "\nroutes.16.runs: 2\n"},
		"lava":       {"=delete-iface.empty RESULT=pass>", "=routes.16 RESULT=pass>"},
		"ktap":       {"1..2\n", "\nok 2 routes --count 16 --runs 2 # time="},
	} {
		code, stdout, stderr := execute(t, false, "suite", path, "--format", format)
		if code != 0 {
			t.Errorf("%s: exit %d, %s", format, code, stderr)
		}
		for _, w := range want {
			if !strings.Contains(stdout, w) {
				t.Errorf("%s lacks %q:\n%s", format, w, stdout)
			}
		}
		if n := strings.Count(stdout, "# TYPE fibchurn_runs gauge"); format == "prometheus" && n != 1 {
			t.Errorf("the type is said %d times", n)
		}
	}
}

// The program stays small, and its help quick: no library may take its time before main.
func TestSizeAndStart(t *testing.T) {
	info, err := os.Stat(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 40_000_000 {
		t.Errorf("%d bytes, more than 40 MB", info.Size())
	}
	fastest := time.Hour // of many: a busy machine must not fail this
	for range 20 {
		begun := time.Now()
		if err := exec.Command(binary(t), "--help").Run(); err != nil {
			t.Fatal(err)
		}
		fastest = min(fastest, time.Since(begun))
	}
	if fastest > 50*time.Millisecond {
		t.Errorf("--help takes %v, more than 50 ms", fastest)
	}
}
