package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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
	"fibchurn/vm/vmtest"
)

func TestVMUsageErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	image := write("bzImage", vmtest.BzImage("6.1.0-x (me) #1", 64))
	cut := write("cut", vmtest.BzImage("6.1.0-x (me) #1", 64)[:1500])
	text := write("text", []byte("no kernel at all"))
	for _, test := range []struct {
		args string // split at spaces
		want string
	}{
		{"vm", "no command to execute in the guest"},
		{"vm -- delete-iface", "no kernel"},
		{"vm --kernel " + image, "no command to execute"},
		{"vm --kernel " + image + " -- --runs 3", "is no command to execute"},
		{"vm --kernel " + image + " -- nonsense", `unknown command "nonsense"`},
		{"vm --kernel " + image + " -- vm --kernel x", "vm cannot be executed in a guest"},
		{"vm --kernel " + image + " -- delete-iface --subnets x", `"x" is no count`},
		{"vm --kernel " + image + " -- delete-iface --subnets 0", "must be at least 1"},
		{"vm --kernel " + image + " -- delete-iface stray", `unexpected argument "stray"`},
		{"vm --kernel " + image + " -- delete-iface -o x", "a guest keeps no files"},
		{"vm --kernel " + image + " -- -o x delete-iface", "a guest keeps no files"},
		{"--runs 3 vm --kernel " + image + " -- delete-iface", "--runs is for the command in the guest"},
		{"vm --runs 3", "unknown flag -runs"},
		{"vm --kernel " + dir + "/none -- doctor", "no such file"},
		{"vm --kernel " + dir + " -- doctor", "not a regular file"},
		{"vm --kernel " + text + "=x -- doctor", "no kernel: neither a bzImage nor"},
		{"vm --kernel " + cut + "=x -- doctor", "a bzImage cut short: it has 1500 bytes of 2048"},
		{"vm --kernel " + image + " --kernel " + image + " -- doctor", "give each a label of its own"},
		{"vm --kernel " + image + "=a:b -- doctor", "without a colon"},
		{"vm --kernel " + image + " --fail-above 5% -- doctor", "--fail-above: is of the comparison, which takes two kernels or more"},
		{"vm --kernel " + image + "=a --kernel " + image + "=b --format json --metric cpu -- doctor", "--metric: is of the comparison"},
		{"--sync-mem 1M --allow-host-sysctl vm --kernel " + image + " -- doctor", "--sync-mem is for the command in the guest"},
		{"vm --kernel " + image + " --console " + text + " -- doctor", "is not empty, and not of consoles"},
		{"vm --kernel " + image + " --console " + dir + " -- doctor", "is a directory"},
		{"vm --kernel " + image + " --boots 0 -- doctor", "--boots 0: must be 1 to"},
		{"vm --kernel " + image + " --cpus x -- doctor", "--cpus x: must be a number above 0"},
		{"vm --kernel " + image + "=a --cpus b:2 -- doctor", "--cpus b:2: must be a number above 0"},
		{"vm --kernel " + image + " --memory 1 -- doctor", "1 MiB of memory"},
		{"vm --kernel " + image + " --sysctl a -- doctor", "is no sysctl"},
		{"vm --kernel " + image + "=a --sysctl b:net.x=1 -- doctor", "is no sysctl"},
		{"vm --kernel " + image + " --timeout 1ms -- doctor", "must be 1s at least"},
		{"vm --kernel " + image + " --accel xen -- doctor", "must be auto, kvm or tcg"},
		{"vm --kernel " + image + " --modules " + dir + "/none -- doctor", "no such file"},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := call(strings.Fields(test.args)...)
			if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 2 and one line with %q", code, stdout, stderr, test.want)
			}
		})
	}
}

// The main job, in all kinds of kernels: the runs come with the kernel's label and
// with what it ran on.
func TestVMDeleteIface(t *testing.T) {
	t.Parallel()
	kernels := []string{vmtest.Linux61, vmtest.Linux612, vmtest.UML}
	args := []string{"vm", "--accel", "tcg", "-j"}
	for _, name := range kernels {
		args = append(args, "--kernel", vmtest.Kernel(t, name)+"="+name)
	}
	code, stdout, stderr := execute(t, false, append(args, "--", "delete-iface", "--subnets", "256", "--runs", "1")...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	runs := readRuns(t, stdout)
	if len(runs) != 9 {
		t.Fatalf("%d runs, want 3 cells in 3 kernels", len(runs))
	}
	for i, run := range runs {
		name := kernels[i/3]
		env := run.Environment
		virtualisation, warning := "tcg", "emulation"
		if name == vmtest.UML {
			virtualisation, warning = "uml", "uml"
		}
		warned := slices.ContainsFunc(run.Warnings, func(w results.Warning) bool { return w.Kind == warning })
		if !run.Sample() || env.Label != name || env.Virtualisation != virtualisation || !warned || env.LinkKind != "dummy" || env.Debug == nil {
			t.Errorf("run %d: label %q, virtualisation %q, link kind %q, debug %v, warnings %v, verified %v",
				i, env.Label, env.Virtualisation, env.LinkKind, env.Debug, run.Warnings, run.Verified)
		}
		t.Logf("%s %s: delete %.3f ms", name, run.Cell, float64(run.Phase("delete").Wall)/1e6)
	}
}

// One image under two labels with two settings, booted in turn.
func TestVMAlternates(t *testing.T) {
	t.Parallel()
	image := vmtest.Kernel(t, vmtest.UML)
	code, stdout, stderr := execute(t, false, "vm", "-j", "-q", "--kernel", image+"=small", "--kernel", image+"=large", "--boots", "2",
		"--sysctl", "small:net.ipv4.fib_sync_mem=65536", "--sysctl", "large:net.ipv4.fib_sync_mem=67108864",
		"--append", "large:fibchurn.note=a,b", "--", "delete-iface", "--subnets", "16", "--as", "addrs", "--runs", "1", "--warmup", "0")
	if code != exitOK {
		t.Fatalf("exit %d, stderr %s", code, stderr)
	}
	var order []string
	boots := map[string]bool{}
	for _, run := range readRuns(t, stdout) {
		env := run.Environment
		order = append(order, fmt.Sprintf("%s %d %v", env.Label, env.FibSyncMem, strings.Contains(env.CommandLine, "fibchurn.note=a,b")))
		boots[run.Boot] = true
	}
	small, large := "small 65536 false", "large 67108864 true"
	if !slices.Equal(order, []string{small, large, large, small}) || len(boots) != 4 {
		t.Errorf("got %q in %d boots", order, len(boots))
	}
}

// fewModules makes a directory of modules for the User-Mode Linux kernel, with those
// named.
func fewModules(t *testing.T, names ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(vmtest.Kernel(t, vmtest.UML)), "../lib/uml/modules/*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	dir := filepath.Join(t.TempDir(), filepath.Base(found[0]))
	copyFile(t, filepath.Join(found[0], "modules.builtin"), filepath.Join(dir, "modules.builtin"), 0o644)
	copyFile(t, filepath.Join(found[0], "modules.order"), filepath.Join(dir, "modules.order"), 0o644)
	for _, name := range names {
		copyFile(t, filepath.Join(found[0], name), filepath.Join(dir, name), 0o644)
	}
	return dir
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestVMFailures(t *testing.T) {
	t.Parallel()
	image := vmtest.Kernel(t, vmtest.UML)
	for _, test := range []struct {
		name string
		args []string
		code int
		want []string // parts of stderr
	}{
		{"panics at boot", []string{"--append", "rdinit=/none", "--", "delete-iface"}, exitFailed,
			[]string{"the last lines of the console of k:\n", "kernel k panicked at boot: Kernel panic - not syncing"}},
		{"no driver", []string{"--modules", fewModules(t), "--", "delete-iface", "--link-kind", "dummy"}, exitUnsupported,
			[]string{"k: fibchurn: an interface of kind dummy", "load the module dummy", "kernel k command failed: exit code 4"}},
		{"hangs", []string{"--timeout", "3s", "--", "delete-iface", "--runs", "1M"}, exitFailed, []string{"kernel k hangs: ", "within 3s"}},
		{"modules of no such kernel", []string{"--modules", t.TempDir(), "--", "delete-iface"}, exitUsage, []string{"has none for kernel 6."}},
		{"more CPUs than there can be", []string{"--cpus", "2", "--", "delete-iface"}, exitUnsupported, []string{"User-Mode Linux has one"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			program, mark := ownProgram(t), markOf(t)
			code, _, stderr := executeProgram(t, program, false, append([]string{"vm", "-q", "-j", "--append", mark, "--kernel", image + "=k"}, test.args...)...)
			if code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
			noMachineLeft(t, program, mark)
		})
	}
}

// markOf is a parameter of the kernels of a test, by which its machines are told from
// those of tests beside it.
func markOf(t *testing.T) string { return fmt.Sprintf("fibchurn.test=%d.%s.", os.Getpid(), t.Name()) }

// noMachineLeft fails if a process of the program or of a machine with the mark is left.
func noMachineLeft(t *testing.T, program, mark string) {
	t.Helper()
	left := func() []string {
		found := processes(t, program)
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(mark)) {
				found = append(found, file)
			}
		}
		return found
	}
	for deadline := time.Now().Add(5 * time.Second); len(left()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left: %q", left())
		}
	}
}

// An ordinary user can do it too.
func TestVMRootless(t *testing.T) {
	t.Parallel()
	image := forAnybody(t, vmtest.UML)
	code, stdout, stderr := execute(t, true, "vm", "-j", "--kernel", image, "--", "delete-iface", "--subnets", "16", "--runs", "1")
	if runs := readRuns(t, stdout); code != exitOK || len(runs) != 3 || runs[0].Environment.LinkKind != "dummy" || runs[0].Environment.Rootless {
		t.Errorf("exit %d, %d runs, stderr %s", code, len(runs), stderr)
	}
}

// One signal ends a boot that no run has come of at once, and one that is frozen after
// some patience: nobody waits for its time limit.
func TestVMStopsSoon(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	image := vmtest.Kernel(t, vmtest.UML)
	for _, frozen := range []bool{false, true} {
		t.Run(fmt.Sprintf("frozen %v", frozen), func(t *testing.T) {
			t.Parallel()
			program, mark, file := ownProgram(t), markOf(t), filepath.Join(t.TempDir(), "out.jsonl")
			cmd := exec.Command(program, "vm", "-q", "-o", file, "--append", mark, "--kernel", image, "--", "delete-iface", "--subnets", "16", "--runs", "100k")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if frozen {
				awaitRun(t, file)
				for _, pid := range withCommandLine(t, "initrd=") { // the machine's processes, and their keeper
					text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if err == nil && bytes.HasPrefix(text, []byte(image)) && bytes.Contains(text, []byte(mark)) {
						_ = syscall.Kill(pid, syscall.SIGSTOP)
					}
				}
			} else {
				time.Sleep(300 * time.Millisecond)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			signalled := time.Now()
			_ = cmd.Wait()
			if took := time.Since(signalled); took > time.Minute || cmd.ProcessState.ExitCode() != exitInterrupted {
				t.Errorf("ended %v after the signal, exit %d", took, cmd.ProcessState.ExitCode())
			}
			noMachineLeft(t, program, mark)
		})
	}
}

// awaitRun waits until a file has a run.
func awaitRun(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if content, _ := os.ReadFile(file); bytes.Contains(content, []byte("\n")) {
			return
		}
	}
	t.Error("no run came")
}

func TestRunsPace(t *testing.T) {
	var p runsPace
	at := time.Now()
	if got := p.patience(at); got != 0 {
		t.Errorf("%v before the first run", got)
	}
	for _, after := range []time.Duration{0, time.Second, 4 * time.Second} { // 3 s at most
		p.came(at.Add(after))
	}
	for after, want := range map[time.Duration]time.Duration{4: 14, 6: 12, 30: 0} {
		if got := p.patience(at.Add(after * time.Second)); got != want*time.Second {
			t.Errorf("%v s after the start: %v, want %v s", after, got, want)
		}
	}
}

// However the program is ended, at any moment, whole lines are left in the file and
// no process.
func TestVMKilled(t *testing.T) {
	t.Parallel()
	netnstest.Root(t)
	image := vmtest.Kernel(t, vmtest.UML)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 8 {
		moment := time.Duration(100+random.IntN(3000)) * time.Millisecond
		signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[i%2]
		t.Run("", func(t *testing.T) {
			t.Parallel()
			program, mark, file := ownProgram(t), markOf(t), filepath.Join(t.TempDir(), "out.jsonl")
			cmd := exec.Command(program, "vm", "-o", file, "--append", mark, "--kernel", image, "--", "delete-iface", "--subnets", "16", "--runs", "100k")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(moment)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); signal == syscall.SIGTERM && code != exitInterrupted {
				t.Errorf("%v: exit %d", signal, code)
			}
			noMachineLeft(t, program, mark)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v: %d runs", signal, len(readRuns(t, string(content))))
		})
	}
}
