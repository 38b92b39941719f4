package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

// inShell executes a script in which $FIBCHURN is the program, in a mount namespace of
// its own.
func inShell(t *testing.T, rootless bool, dir, script string) (code int, stdout, stderr string) {
	t.Helper()
	args := []string{"bash", "-c", script}
	if !rootless {
		args = append([]string{"unshare", "--mount"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	if rootless {
		asOrdinaryUser(cmd)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FIBCHURN="+binary(t), "TMPDIR="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	mustEndSoon(t)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Where a disk is full no line is torn but the one in flight, which the next session
// closes.
func TestFullFileSystem(t *testing.T) {
	netnstest.Root(t)
	const script = `set -e; mkdir d; mount -t tmpfs -o size=24k tmpfs d
		$FIBCHURN delete-iface --subnets 16 --runs 100k -q -o d/out.jsonl && code=0 || code=$?
		cp d/out.jsonl full.jsonl; mount -o remount,size=1M d
		$FIBCHURN delete-iface --subnets 16 --runs 1 --warmup 0 -q -o d/out.jsonl >/dev/null; cp d/out.jsonl after.jsonl
		dd if=/dev/zero of=d/fill bs=4k 2>/dev/null || true
		$FIBCHURN report --format bench -o d/new after.jsonl || echo report $?
		ls -A d; exit $code`
	dir := t.TempDir()
	code, stdout, stderr := inShell(t, false, dir, script)
	if code != exitFailed || strings.Count(stderr, "\n") != 3 || strings.Count(stderr, "no space left on device") != 2 {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	if !strings.HasSuffix(stdout, "report 1\nfill\nout.jsonl\n") {
		t.Errorf("stdout ends %q", stdout[max(0, len(stdout)-200):])
	}
	full, after := readFile(t, filepath.Join(dir, "full.jsonl")), readFile(t, filepath.Join(dir, "after.jsonl"))
	before, torn, err := results.Read(strings.NewReader(full), "full")
	if err != nil || len(torn) > 1 || len(before) == 0 {
		t.Errorf("%d runs, torn %v, %v", len(before), torn, err)
	}
	runs, torn, err := results.Read(strings.NewReader(after), "after")
	if err != nil || len(torn) > 1 || len(runs) != len(before)+3 || !strings.HasPrefix(after, full) {
		t.Errorf("%d runs, %d before; torn %v, %v", len(runs), len(before), torn, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// What cannot be written to is found before any work starts.
func TestReadOnlyOutput(t *testing.T) {
	netnstest.Root(t)
	for _, args := range []string{
		"delete-iface -o d/out.jsonl", "delete-iface -o d/old", "delete-iface --profile --profile-out d/p.svg", "suite quick -o d/out.jsonl",
		"delete-iface -o d/none/out.jsonl", "delete-iface -o d", "delete-iface --sync-mem 1M --allow-host-sysctl -o d/old",
	} {
		dir := t.TempDir()
		code, stdout, stderr := inShell(t, false, dir, `mkdir d; mount -t tmpfs tmpfs d; touch d/old; mount -o remount,ro d; exec $FIBCHURN `+args)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--output: ") && !strings.Contains(stderr, "--profile-out: ") {
			t.Errorf("%s: exit %d, stdout %.80q, stderr %q", args, code, stdout, stderr)
		}
	}
}

// A standard output that is closed, full or gone ends the program; what went to the
// file is whole.
func TestStdoutGone(t *testing.T) {
	netnstest.Root(t)
	sigpipe := 128 + int(syscall.SIGPIPE)
	for _, test := range []struct {
		script string
		code   int
		runs   int // at least
		stderr string
	}{
		{"$FIBCHURN delete-iface --subnets 16 --runs 100k -q -j -o out.jsonl | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}", sigpipe, 1, ""},
		{"$FIBCHURN suite quick -q -j -o out.jsonl | head -n 2 >/dev/null; exit ${PIPESTATUS[0]}", sigpipe, 2, ""},
		{"$FIBCHURN delete-iface --subnets 16 --runs 2 -q -o out.jsonl | true; exit ${PIPESTATUS[0]}", sigpipe, 6, ""},
		{"$FIBCHURN delete-iface --subnets 16 --runs 2 -q -o out.jsonl >/dev/full", exitFailed, 6, "no space left on device\n"},
		{"$FIBCHURN delete-iface --subnets 16 --runs 100k -q -j -o out.jsonl >/dev/full", exitFailed, 1, "no space left on device\n"},
		{"$FIBCHURN delete-iface --subnets 16 --runs 2 -q -o out.jsonl >&- 2>&-", exitOK, 6, ""},
		{"$FIBCHURN delete-iface --subnets 16 --runs 2 -o out.jsonl <&- >/dev/null 2>/dev/full", exitOK, 6, ""},
	} {
		for _, rootless := range []bool{false, true} {
			if rootless && test.code == exitOK {
				continue
			}
			dir := openDir(t)
			code, _, stderr := inShell(t, rootless, dir, test.script)
			if code != test.code || !strings.HasSuffix(stderr, test.stderr) || strings.Count(stderr, "\n") > 1 {
				t.Errorf("%s (rootless %v): exit %d, stderr %q", test.script, rootless, code, stderr)
			}
			if n := wholeLines(t, filepath.Join(dir, "out.jsonl")); n < test.runs {
				t.Errorf("%s (rootless %v): %d runs", test.script, rootless, n)
			}
			mustHoldOnly(t, dir, "out.jsonl")
		}
	}
}

// A terminal that vanishes interrupts the session, though nothing can be shown then.
func TestTerminalVanishes(t *testing.T) {
	netnstest.Root(t)
	// A process that takes a signal passes it on as not ignored, also where nohup or a
	// background job started the tests.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, unix.SIGHUP)
	defer signal.Stop(hangUps)
	before := readHostState(t)
	for _, rootless := range []bool{false, true} {
		for _, args := range []string{"suite quick", "suite quick --format ktap", "delete-iface --subnets 64 -j"} {
			dir := openDir(t)
			file := filepath.Join(dir, "out.jsonl")
			cmd := exec.Command(binary(t), append(strings.Fields(args), "-o", file)...)
			if !strings.HasPrefix(args, "suite") {
				cmd.Args = append(cmd.Args, "--runs", "100k")
			}
			if rootless {
				asOrdinaryUser(cmd)
			}
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			fd := int(terminal.Fd()) // makes it blocking
			if err := unix.SetNonblock(fd, true); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(10 * time.Second)
			for info, err := os.Stat(file); (err != nil || info.Size() == 0) && time.Now().Before(deadline); info, err = os.Stat(file) {
				_, _ = unix.Read(fd, make([]byte, 1<<16))
				time.Sleep(10 * time.Millisecond)
			}
			terminal.Close()
			waitAtMost(t, cmd, 15*time.Second)
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("%s (rootless %v): exit %d", args, rootless, code)
			}
			mustEndSoon(t)
			if n := wholeLines(t, file); n == 0 {
				t.Errorf("%s (rootless %v): no run", args, rootless)
			}
			t.Logf("%s (rootless %v): %v", args, rootless, cmd.ProcessState)
		}
	}
	mustBeAsBefore(t, before)
}

// Where processes or memory run out, nothing is left all the same.
func TestCrowdedMachine(t *testing.T) {
	netnstest.Root(t)
	before, namespaces := readHostState(t), liveNamespaces(t)
	const user = 54_321 // whose processes nobody else counts
	for _, limit := range []string{"--nproc=1", "--nproc=9", "--as=100000000", "--nofile=8", "--nofile=12", "--fsize=30000"} {
		for _, rootless := range []bool{false, true} {
			dir := openDir(t)
			file := filepath.Join(dir, "out.jsonl")
			cmd := exec.Command("prlimit", limit, binary(t), "delete-iface", "--subnets", "256", "--runs", "4", "-q", "-o", file)
			if rootless {
				cmd.Dir = "/"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
			}
			withTemporary(cmd, dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitAtMost(t, cmd, 30*time.Second)
			mustEndSoon(t)
			lines, content := 0, []byte(nil)
			if content, _ = os.ReadFile(file); len(content) > 0 {
				runs, torn, err := results.Read(bytes.NewReader(content), file)
				if lines = len(runs); err != nil || len(torn) > 1 || len(torn) > 0 && limit[:7] != "--fsize" {
					t.Errorf("%s: torn %v, %v", limit, torn, err)
				}
			}
			if cmd.ProcessState.Success() != (lines == 12) {
				t.Errorf("%s (rootless %v): %v with %d runs", limit, rootless, cmd.ProcessState, lines)
			}
			mustHoldOnly(t, dir, "out.jsonl")
			first, _, _ := strings.Cut(stderr.String(), "\n")
			t.Logf("%s (rootless %v): %v, %d runs: %.150s", limit, rootless, cmd.ProcessState, lines, first)
		}
	}
	mustBeAsBefore(t, before)
	waitForNamespaces(t, namespaces)
}

// Lines of one file, from many sessions at once, are whole.
func TestSessionsShareAFile(t *testing.T) {
	netnstest.Root(t)
	file := filepath.Join(openDir(t), "out.jsonl")
	var errs [4]error
	done := make(chan int)
	for i := range errs {
		go func() {
			_, errs[i] = exec.Command(binary(t), "delete-iface", "--subnets", "16", "--runs", "5", "--seed", strconv.Itoa(i), "-q", "-o", file).Output()
			done <- i
		}()
	}
	for range errs {
		<-done
	}
	if n, err := wholeLines(t, file), errors.Join(errs[:]...); n != 4*15 || err != nil {
		t.Error(fmt.Errorf("%d runs, %w", n, err))
	}
}
