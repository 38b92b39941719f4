package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

func TestProbe(t *testing.T) {
	threads := threadNamespaces(t)
	found := Probe(t.Context())
	byName := map[string]Capability{}
	for _, c := range found {
		t.Logf("%-18s %-8s %s", c.Name, c.Status, c.Detail)
		if _, twice := byName[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		byName[c.Name] = c
		for field, text := range map[string]string{"Name": c.Name, "Detail": c.Detail, "NeededFor": c.NeededFor, "HowTo": c.HowTo} {
			if text == "" || strings.ContainsAny(text, "\n\t") {
				t.Errorf("%s: %s is not one line: %q", c.Name, field, text)
			}
		}
	}
	if threadNamespaces(t) != threads {
		t.Error("the process is not in the network namespace that it was in")
	}
	// What the other tests of this project need as root must not be missed here.
	if p, err := readPrivileges(); err == nil && judgePrivileges(p, 0, running.text("proc/self/uid_map")).status == OK {
		for _, name := range []string{"root", "network namespaces"} {
			if c := byName[name]; c.Status != OK {
				t.Errorf("as root, %s is %s: %s", name, c.Status, c.Detail)
			}
		}
	} else if c := byName["root"]; c.Status == OK {
		t.Errorf("root is ok for an ordinary user: %s", c.Detail)
	}
}

// What may be refused is found under the name by which it is asked for.
func TestNeededForNamesFlags(t *testing.T) {
	var all strings.Builder
	for _, p := range probes(running, uname()) {
		all.WriteString(p.capability.NeededFor + "\n")
	}
	for _, name := range []string{"--profile", "--trace-resize", "--sync-mem", "--probe bpf", "-6", "fibchurn vm", "fibchurn resize"} {
		if !strings.Contains(all.String(), name) {
			t.Errorf("nothing is needed for %s", name)
		}
	}
	if strings.Contains(all.String(), "nothing") {
		t.Errorf("a capability that nothing needs:\n%s", all.String())
	}
}

// A namespace with its loopback device up has a table, so that it can be seen
// whether the kernel counts.
func TestTriestatOfNewNamespace(t *testing.T) {
	text, err := triestatOfNewNamespace(running)
	if errors.Is(err, unix.EPERM) && unix.Geteuid() != 0 {
		t.Skipf("needs root: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if f := judgeTriestat(text); f.status == Unknown {
		t.Errorf("%s: %q", f.detail, text)
	}
}

// threadNamespaces is the network namespace of the main thread.
func threadNamespaces(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// Doctor may be asked again and again: no thread, child or file descriptor stays.
func TestProbeLeavesNothing(t *testing.T) {
	Probe(t.Context()) // what is cached once is cached now
	descriptors := count(t, "/proc/self/fd")
	for range 5 {
		Probe(t.Context())
	}
	if now := count(t, "/proc/self/fd"); now > descriptors {
		t.Errorf("%d file descriptors before, %d after", descriptors, now)
	}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("wait for children: %v, want none to be there", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(strayNamespaces(t)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("threads in other namespaces: %v", strayNamespaces(t))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// strayNamespaces lists the threads that are not in the main thread's namespace.
func strayNamespaces(t *testing.T) []string {
	t.Helper()
	main := threadNamespaces(t)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var stray []string
	for _, task := range tasks {
		link, err := os.Readlink(filepath.Join("/proc/self/task", task.Name(), "ns/net"))
		if err == nil && link != main { // a thread may just have ended
			stray = append(stray, task.Name())
		}
	}
	return stray
}

func TestProbeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted"))
	for _, c := range Probe(ctx) {
		if c.Status != Unknown || c.Detail != "not tried: interrupted" {
			t.Errorf("%s: %s, %s", c.Name, c.Status, c.Detail)
		}
	}
}

func TestStatusString(t *testing.T) {
	for status, want := range map[Status]string{OK: "ok", Missing: "missing", Unknown: "unknown", Status(9): "unknown"} {
		if got := status.String(); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}

// The main thread must not be the one that changes its namespace, even when it is
// asked to.
func TestOnOwnThread(t *testing.T) {
	for range 200 {
		result := make(chan error)
		go onOwnThread(result, func() error {
			if unix.Gettid() == unix.Getpid() {
				return errors.New("on the main thread")
			}
			return nil
		})
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
}

// Every judgement that this machine may not lead to.
func TestJudgements(t *testing.T) {
	const initial = "         0          0 4294967295"
	none := fixture(t)
	paranoid := fixture(t, files{"proc/sys/kernel/perf_event_paranoid": "2\n", "proc/sys/kernel/unprivileged_bpf_disabled": "2\n",
		"sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})
	kprobes := files{"sys/kernel/x": "", eventSources + "/kprobe/type": "8\n", "proc/self/uid_map": initial}
	locked := files{"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"}
	all := ^privileges(0)
	triestat := func(content string) files { return files{"proc/thread-self/net/fib_triestat": content} }
	wrap := func(err error) error { return fmt.Errorf("tried: %w", err) }

	tests := []struct {
		name   string
		got    finding
		status Status
		part   string // of the detail
	}{
		{"root", judgePrivileges(all, 0, initial), OK, "user ID 0"},
		{"root of a user namespace", judgePrivileges(all, 0, "0 1000 1"), Missing, "user namespace"},
		{"ordinary user", judgePrivileges(0, 1000, initial), Missing, "CAP_NET_ADMIN and CAP_SYS_ADMIN"},
		{"root of a container", judgePrivileges(all&^(1<<unix.CAP_SYS_ADMIN), 0, initial), Missing, "without CAP_SYS_ADMIN"},
		{"root without /proc", judgePrivileges(all, 0, ""), Unknown, "uid_map"},

		{"BPF", judgeBPF(none, nil), OK, ""},
		{"BPF refused", judgeBPF(paranoid, wrap(unix.EPERM)), Missing, "(kernel.unprivileged_bpf_disabled is 2) (kernel lockdown: integrity)"},
		{"no BPF", judgeBPF(none, wrap(unix.ENOSYS)), Missing, "no bpf(2)"},
		{"BPF too old", judgeBPF(none, wrap(ebpf.ErrNotSupported)), Missing, "on request"},
		{"BPF fails otherwise", judgeBPF(none, wrap(unix.ENOMEM)), Unknown, "cannot allocate memory"},

		{"kprobes", judgeKprobes(fixture(t, kprobes), all), OK, "none was set"},
		{"kprobes for the unprivileged", judgeKprobes(fixture(t, kprobes), 0), Missing, "CAP_PERFMON"},
		{"kprobes in a user namespace", judgeKprobes(fixture(t, kprobes, files{"proc/self/uid_map": "0 1000 1"}), all), Missing, "user namespace"},
		{"kprobes without /proc", judgeKprobes(fixture(t, files{"sys/kernel/x": "", eventSources + "/kprobe/type": "8\n"}), all), Unknown, "uid_map"},
		{"kprobes locked down", judgeKprobes(fixture(t, kprobes, locked), all), Missing, "lockdown"},
		{"no kprobes", judgeKprobes(fixture(t, files{eventSources + "/software/type": "1\n", "sys/kernel/x": ""}), all), Missing, "no kprobe events"},
		{"no event sources", judgeKprobes(fixture(t, files{"sys/kernel/x": ""}), all), Missing, "no perf events"},
		{"no /sys", judgeKprobes(none, all), Unknown, "not mounted"},

		{"event", judgeEvent(paranoid, eventTrial{}), OK, "(kernel.perf_event_paranoid is 2)"},
		{"event of user space", judgeEvent(paranoid, eventTrial{kernel: unix.EACCES}), Missing, "only user space"},
		{"event refused", judgeEvent(paranoid, eventTrial{unix.EACCES, unix.EACCES}), Missing, "refused"},
		{"event refused and not there", judgeEvent(none, eventTrial{unix.EACCES, unix.ENOENT}), Missing, "no such counter"},
		{"no events", judgeEvent(none, eventTrial{unix.ENOSYS, unix.ENOSYS}), Missing, "no perf events"},
		{"no counter", judgeEvent(none, eventTrial{unix.ENOENT, unix.ENOENT}), Missing, "no such counter"},
		{"event fails otherwise", judgeEvent(none, eventTrial{unix.EMFILE, unix.EMFILE}), Unknown, "too many open files"},

		{"trie counters", probeTrieCounters(fixture(t, triestat("Basic info: \nMain:\n\tAver depth:     2.42\n\nCounters:\n---------\ngets = 5\n")), "r"), OK, "shows them"},
		{"no trie counters", probeTrieCounters(fixture(t, triestat("Basic info: \nMain:\n\tAver depth:     2.42\n")), "r"), Missing, "shapes only"},
		{"no table, no configuration", probeTrieCounters(fixture(t, triestat("Basic info: \n")), "r"), Unknown, "no table"},
		{"no table, configuration with", probeTrieCounters(fixture(t, triestat("Basic info: \n"), files{"boot/config-r": "CONFIG_IP_FIB_TRIE_STATS=y\n"}), "r"), OK, "configuration"},
		{"no table, configuration without", probeTrieCounters(fixture(t, triestat("Basic info: \n"), files{"boot/config-r": "CONFIG_NET=y\n"}), "r"), Missing, "configuration"},
		{"no triestat", probeTrieCounters(none, "r"), Unknown, "no such file"},

		{"IPv6", judgeIPv6(none, nil), OK, "there"},
		{"IPv6 off by default", judgeIPv6(fixture(t, files{"proc/sys/net/ipv6/conf/default/disable_ipv6": "1\n"}), nil), OK, "off by default"},
		{"no IPv6", judgeIPv6(none, unix.EAFNOSUPPORT), Missing, "no IPv6"},
		{"IPv6 fails otherwise", judgeIPv6(none, unix.EMFILE), Unknown, "too many"},

		{"KVM", judgeKVM(nil), OK, ""},
		{"no KVM", judgeKVM(tryKVM(none)), Missing, "no /dev/kvm"},
		{"KVM not for this user", judgeKVM(wrap(fs.ErrPermission)), Missing, "not for this user"},
		{"KVM without a processor for it", judgeKVM(wrap(unix.ENODEV)), Missing, "no driver"},
		{"KVM in use by another", judgeKVM(wrap(unix.EBUSY)), Unknown, "busy"},
		{"/dev/kvm is another file", judgeKVM(tryKVM(fixture(t, files{"dev/kvm": ""}))), Unknown, "KVM_GET_API_VERSION"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.got.status != test.status || !strings.Contains(test.got.detail, test.part) {
				t.Errorf("got %s, %q; want %s with %q", test.got.status, test.got.detail, test.status, test.part)
			}
		})
	}
}

func TestPVMOnly(t *testing.T) {
	pvm, amd := files{"sys/module/kvm_pvm/refcnt": "0"}, files{"sys/module/kvm_amd/refcnt": "0"}
	for name, test := range map[string]struct {
		root tree
		want bool
	}{"PVM": {fixture(t, pvm), true}, "both": {fixture(t, pvm, amd), false}, "AMD": {fixture(t, amd), false}, "none": {fixture(t), false}} {
		if got := pvmOnly(test.root); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestProbeProgram(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"good":   "echo 'Emulator 7.2'; echo more",
		"broken": "exit 3",
		"silent": "exit 0",
		"slow":   "sleep 60",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("needs /bin/sh to play a program")
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	tests := []struct {
		names  []string
		status Status
		part   string
	}{
		{[]string{"good"}, OK, "Emulator 7.2"},
		{[]string{"absent.uml", "good"}, OK, "good: Emulator 7.2"},
		{[]string{"absent.uml", "absent"}, Missing, "absent.uml or absent is not in PATH"},
		{[]string{"broken"}, Unknown, "exit status 3"},
		{[]string{"silent"}, Unknown, "says no version"},
		{[]string{"slow"}, Unknown, "did not end"},
	}
	for _, test := range tests {
		t.Run(test.names[0], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got := probeProgram(ctx, test.names...)
			if got.status != test.status || !strings.Contains(got.detail, test.part) || strings.Contains(got.detail, "more") {
				t.Errorf("got %s, %q; want %s with %q", got.status, got.detail, test.status, test.part)
			}
		})
	}
}

func TestQEMUFor(t *testing.T) {
	for machine, want := range map[string]string{
		"x86_64": "qemu-system-x86_64", "i686": "qemu-system-i386", "aarch64": "qemu-system-aarch64",
		"armv7l": "qemu-system-arm", "ppc64le": "qemu-system-ppc64", "riscv64": "qemu-system-riscv64",
	} {
		if got := qemuFor(machine).program; got != want {
			t.Errorf("qemuFor(%q) = %q, want %q", machine, got, want)
		}
	}
}
