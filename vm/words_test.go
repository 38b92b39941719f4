package vm

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestAlternate(t *testing.T) {
	a, b, c := Kernel{Label: "a"}, Kernel{Label: "b"}, Kernel{Label: "c"}
	for _, test := range []struct {
		kernels []Kernel
		boots   int
		want    string
	}{
		{[]Kernel{a}, 3, "a a a"},
		{[]Kernel{a, b}, 1, "a b"},
		{[]Kernel{a, b}, 4, "a b b a a b b a"},
		{[]Kernel{a, b, c}, 2, "a b c c b a"},
		{nil, 2, ""},
	} {
		var got []string
		for _, k := range Alternate(test.kernels, test.boots) {
			got = append(got, k.Label)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("got %v, want %s", got, test.want)
		}
	}
}

func TestComplaintOf(t *testing.T) {
	for _, line := range []string{
		"WARNING: CPU: 0 PID: 1 at net/ipv4/fib_trie.c:1 resize+0x1/0x2",
		"WARNING: possible circular locking dependency detected",
		"WARNING: suspicious RCU usage",
		"BUG: kernel NULL pointer dereference, address: 0000000000000008",
		"BUG: KASAN: use-after-free in fib_table_insert+0x1/0x2",
		"BUG: sleeping function called from invalid context at mm/slab.h:1",
		"watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [fibchurn:1]",
		"rcu: INFO: rcu_preempt self-detected stall on CPU",
		"INFO: rcu_sched detected stalls on CPUs/tasks: { 1}",
		"INFO: task init:1 blocked for more than 120 seconds.",
		"unregister_netdevice: waiting for fc0 to become free. Usage count = 2",
		"Oops: 0000 [#1] PREEMPT SMP NOPTI", "kernel BUG at net/core/dev.c:1!", "refcount_t: underflow; use-after-free.",
		"UBSAN: array-index-out-of-bounds in net/ipv4/fib_trie.c:1:2",
	} {
		if !complaintOf(line) {
			t.Errorf("%q is a complaint", line)
		}
	}
	for _, line := range []string{
		"Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible via Spectre v2 BHB attacks!",
		"rcu: Preemptible hierarchical RCU implementation.", "rcu: \tRCU debug extended QS entry/exit.",
		"debug: ignoring loglevel setting.", "Unknown kernel command line parameters \"mem=1024M\", will be passed to user space.",
		"bridge: filtering via arp/ip/ip6tables is no longer available by default.",
		"dummy: module verification failed: signature and/or required key missing - tainting kernel", "",
	} {
		if complaintOf(line) {
			t.Errorf("%q is none", line)
		}
	}
}

func TestLogText(t *testing.T) {
	for record, want := range map[string]string{
		"6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n": "NET: Registered",
		"4,340,5140901,-,caller=T1;WARNING: a; b\n":         "WARNING: a; b",
		"12,1,0,-;":      "",
		"no record":      "-",
		"x,1,0,-;text\n": "-",
	} {
		got, ok := logText([]byte(record))
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", record, got, want)
		}
	}
}

func TestConsole(t *testing.T) {
	var text strings.Builder
	text.WriteString("\x1bc\x1b[?7l\x1b[2JSeaBIOS (version 1.16)\r\n\r\n[    0.000000] Linux version 6.1.0 (x) #1\r\n")
	for i := range 50 {
		fmt.Fprintf(&text, "[    1.%06d] line %d\n", i, i)
	}
	text.WriteString("[    2.000000][    T1] BUG: kernel NULL pointer dereference, address: 0\r\n")
	text.WriteString("remove_umid_dir - remove_files_and_dir failed with err = -20\n")
	text.WriteString("<0>Kernel panic - not syncing: Fatal exception\nlast, without an end")
	c := watchConsole(strings.NewReader(text.String()), io.Discard, func() { t.Error("killed") })
	<-c.done
	words := c.last()
	if len(words.tail) != tailLines || words.end() != "last, without an end" || words.tail[0] != "[    1.000033] line 33" {
		t.Errorf("%d lines, from %q to %q", len(words.tail), words.tail[0], words.end())
	}
	if !words.kernel || words.panic != "Kernel panic - not syncing: Fatal exception" || !strings.HasSuffix(words.oops, "address: 0") {
		t.Errorf("got %+v", words)
	}
	for _, line := range words.tail {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' }) {
			t.Errorf("%q is not printable", line)
		}
	}
}

func TestConsoleKVMError(t *testing.T) {
	killed := false
	c := watchConsole(strings.NewReader("KVM internal error. Suberror: 1\n"), io.Discard, func() { killed = true })
	<-c.done
	if !killed || c.last().qemu == "" {
		t.Errorf("killed: %v, words: %+v", killed, c.last())
	}
}

func TestParseSysctl(t *testing.T) {
	for text, want := range map[string]Sysctl{
		"net.ipv4.fib_sync_mem=65536":       {"net.ipv4.fib_sync_mem", "65536"},
		"net/ipv4/conf/a.b/forwarding = 1 ": {"net/ipv4/conf/a.b/forwarding", "1"},
		"kernel.printk=4 4 1 7":             {"kernel.printk", "4 4 1 7"},
	} {
		if got, err := ParseSysctl(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "=", "a", "a=", "=1", "../x=1", "patchd:net.x=1", "a b=1"} {
		if got, err := ParseSysctl(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestMachineFilled(t *testing.T) {
	uml, qemu := Kernel{Kind: UML, Label: "u"}, Kernel{Kind: BzImage, Label: "q"}
	for _, c := range []struct {
		name string
		k    Kernel
		m    Machine
		want string // in the error
	}{
		{"zero", qemu, Machine{}, ""},
		{"zero, User-Mode Linux", uml, Machine{}, ""},
		{"two CPUs, User-Mode Linux", uml, Machine{CPUs: 2}, "has one"},
		{"too many CPUs", qemu, Machine{CPUs: 256}, "256 CPUs"},
		{"negative CPUs", qemu, Machine{CPUs: -1}, "-1 CPUs"},
		{"too little memory", qemu, Machine{MemoryMiB: 1}, "1 MiB"},
		{"no accelerator", qemu, Machine{Accel: "xen"}, "xen"},
		{"negative timeout", qemu, Machine{Timeout: -1}, "timeout"},
		{"two lines", qemu, Machine{Append: []string{"a\nb"}}, "one line"},
		{"no program", qemu, Machine{Program: "/nonexistent"}, "no such file"},
	} {
		m, err := c.m.filled(c.k)
		if c.want == "" {
			if err != nil || m.CPUs < 1 || m.MemoryMiB != 1024 || m.Timeout != defaultTimeout || m.Console == nil {
				t.Errorf("%s: got %+v, %v", c.name, m, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestLineWriter(t *testing.T) {
	var got []string
	w := newLineWriter(func(line []byte) error {
		got = append(got, string(line))
		return nil
	})
	for _, part := range []string{"a", "b\nc\n\nd", "e", "\nf"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ab", "c", "", "de", "f"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
