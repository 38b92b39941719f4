package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/vm/vmtest"
)

// forAnybody copies a kernel, and the module dummy beside it, to where any user may read
// and execute it.
func forAnybody(t *testing.T, name string) (image string) {
	t.Helper()
	from, modules := vmtest.Kernel(t, name), "../lib/modules/*"
	if name == vmtest.UML {
		modules = "../lib/uml/modules/*"
	}
	image = filepath.Join(t.TempDir(), name)
	copyFile(t, from, image, 0o755)
	for _, file := range []string{"modules.builtin", "modules.order", "kernel/drivers/net/dummy.ko*"} {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(from), modules, file))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s of %s: %q, %v", file, name, found, err)
		}
		_, below, _ := strings.Cut(found[0], "modules/") // RELEASE/file
		copyFile(t, found[0], filepath.Join(filepath.Dir(image), below), 0o644)
	}
	for _, dir := range []string{filepath.Dir(image), filepath.Dir(filepath.Dir(image))} { // t.TempDir is for its user alone
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// withCommandLine are the processes with a word in their command lines.
func withCommandLine(t *testing.T, word string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, notNumber := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && notNumber == nil && bytes.Contains(text, []byte(word)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childOf is the only child of a process.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err == nil && bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", pid)) {
			if child, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// A program and its keeper that are both killed, neither with a chance to clear up after
// the other, leave nothing, whoever's they are.
func TestVMAndKeeperKilled(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	for _, test := range []struct {
		kernel   string
		rootless bool
	}{{vmtest.UML, false}, {vmtest.UML, true}, {vmtest.Linux612, true}} {
		t.Run(fmt.Sprintf("%s rootless %v", test.kernel, test.rootless), func(t *testing.T) {
			image := forAnybody(t, test.kernel)
			cmd := exec.Command(binary(t), "vm", "-j", "--accel", "tcg", "--kernel", image, "--", "delete-iface", "--subnets", "16", "--as", "empty", "--runs", "100k")
			if test.rootless {
				asOrdinaryUser(cmd)
			}
			var errs bytes.Buffer
			cmd.Stderr = &errs
			runs, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(runs).ReadString('\n'); err != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				t.Fatalf("no run came: %q, %v, stderr %s", line, err, &errs)
			}
			program, keeper := cmd.Process.Pid, childOf(t, cmd.Process.Pid)
			for _, end := range []struct {
				pid    int
				signal syscall.Signal
			}{{program, unix.SIGSTOP}, {keeper, unix.SIGKILL}, {program, unix.SIGKILL}} {
				if err := syscall.Kill(end.pid, end.signal); err != nil {
					t.Error(err)
				}
				time.Sleep(200 * time.Millisecond)
			}
			_ = cmd.Wait()
			mustEnd(t, image)
		})
	}
}

// mustEnd fails if a process of an image is left, and ends it.
func mustEnd(t *testing.T, image string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := withCommandLine(t, image)
		if len(left) == 0 {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		t.Errorf("left: %v", left)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return
	}
}

// Where there can be no PID namespace the machine runs without one, and it is said once
// what that means.
func TestVMWithoutPIDNamespace(t *testing.T) {
	netnstest.Root(t)
	image := forAnybody(t, vmtest.UML)
	cmd := exec.Command("sh", "-c", `echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"`, "sh", binary(t), "vm", "-j", "--kernel", image, "--boots", "2",
		"--", "delete-iface", "--subnets", "16", "--as", "empty", "--runs", "1", "--warmup", "0")
	cmd.SysProcAttr = userNamespace() // the limit is one of a user namespace
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if runs := readRuns(t, out.String()); err != nil || len(runs) != 2 {
		t.Errorf("%v, %d runs of 2", err, len(runs))
	}
	if said := errs.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "no PID namespace for User-Mode Linux (no space left on device)") {
		t.Errorf("stderr %q", said)
	}
	mustEnd(t, image)
}
