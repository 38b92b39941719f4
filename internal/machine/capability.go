package machine

import (
	"context"
)

// A Status is what a probe found out.
type Status int

const (
	Unknown Status = iota // could not be found out; Detail says why
	OK                    // was tried, or is there, and works for this user
	Missing               // is not there, or not for this user
)

func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Missing:
		return "missing"
	}
	return "unknown"
}

// A Capability is one thing that fibchurn can make use of.
type Capability struct {
	Name      string
	Status    Status
	Detail    string // what was found, or the reason; one line
	NeededFor string // what of fibchurn needs it; one line
	HowTo     string // how to get it; one line
}

// NetworkNamespaces is the name of the capability that every measurement needs.
const NetworkNamespaces = "network namespaces"

// A finding is the part of a capability that a probe finds out.
type finding struct {
	status Status
	detail string
}

// Probe finds out what this kernel and user can do. It tries things rather than
// looking for signs of them, changes nothing and leaves nothing behind: what it
// makes (a namespace, a program, an event, a virtual machine without a CPU) is
// gone when it returns, or soon after.
//
// Link kinds are not among the capabilities: to try one takes a namespace. Once
// ctx is done, what is left is Unknown. It takes some 100 ms, most of it for the
// version of QEMU.
func Probe(ctx context.Context) []Capability {
	var found []Capability
	for _, p := range probes(running, uname()) {
		c := p.capability
		f := finding{Unknown, "not tried: " + contextReason(ctx)}
		if ctx.Err() == nil {
			f = p.find(ctx)
		}
		c.Status, c.Detail = f.status, f.detail
		found = append(found, c)
	}
	return found
}

// ProbeNetworkNamespaces is the part of Probe that a process with the rights it
// lacks, in a user namespace of its own, finds out otherwise.
func ProbeNetworkNamespaces(ctx context.Context) Capability {
	for _, p := range probes(running, uname()) {
		if c := p.capability; c.Name == NetworkNamespaces {
			f := p.find(ctx)
			c.Status, c.Detail = f.status, f.detail
			return c
		}
	}
	panic("no probe of network namespaces")
}

func contextReason(ctx context.Context) string {
	if err := context.Cause(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// A probe is a capability without its finding, and the way to it.
type probe struct {
	capability Capability
	find       func(context.Context) finding
}

// probes lists them in the order in which they are shown: what every command
// needs comes first.
func probes(t tree, kernel kernelName) []probe {
	simple := func(find func(tree) finding) func(context.Context) finding {
		return func(context.Context) finding { return find(t) }
	}
	emulator := qemuFor(kernel.machine)
	return []probe{
		{Capability{
			Name:      "root",
			NeededFor: "measurements without a user namespace, --sync-mem, lookup --probe bpf",
			HowTo:     "run fibchurn with sudo",
		}, simple(probeRoot)},
		{Capability{
			Name:      NetworkNamespaces,
			NeededFor: "every measurement: each run has a namespace of its own",
			HowTo:     "CONFIG_NET_NS; root or a user namespace; sysctl user.max_net_namespaces above 0",
		}, simple(probeNetworkNamespace)},
		{Capability{
			Name:      "user namespaces",
			NeededFor: "measurements without root",
			HowTo: "CONFIG_USER_NS; sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 (older Debian), " +
				"kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)",
		}, simple(probeUserNamespace)},
		{Capability{
			Name:      "IPv6",
			NeededFor: "IPv6 tables (-6)",
			HowTo:     "CONFIG_IPV6, and no ipv6.disable=1 on the kernel's command line",
		}, simple(probeIPv6)},
		{Capability{
			Name:      "trie counters",
			NeededFor: "counts of lookups, backtracks and skipped resizes in the record",
			HowTo:     "CONFIG_IP_FIB_TRIE_STATS",
		}, func(context.Context) finding { return probeTrieCounters(t, kernel.release) }},
		{Capability{
			Name:      "BPF test run",
			NeededFor: "lookups inside the kernel (fibchurn lookup --probe bpf)",
			HowTo:     "CONFIG_BPF_SYSCALL and CONFIG_NET, and root (CAP_BPF and CAP_NET_ADMIN in the initial user namespace)",
		}, simple(probeBPF)},
		{Capability{
			Name:      "kprobes",
			NeededFor: "counts of the kernel's resize calls (fibchurn resize), and of the trie's functions (--trace-resize)",
			HowTo:     "CONFIG_KPROBES, CONFIG_KPROBE_EVENTS, and root (CAP_PERFMON)",
		}, simple(probeKprobes)},
		{Capability{
			Name:      "perf cpu-clock",
			NeededFor: "which functions a phase's time goes to, and what it waited for (--profile)",
			HowTo:     "CONFIG_PERF_EVENTS, and root or sysctl kernel.perf_event_paranoid=1",
		}, simple(probeCPUClock)},
		{Capability{
			Name:      "perf cycles",
			NeededFor: "profiles that see code with interrupts off; they take cpu-clock otherwise",
			HowTo:     "a processor whose counters the kernel drives; in a virtual machine a virtual PMU (QEMU: -cpu host)",
		}, simple(probeCycles)},
		{Capability{
			Name:      "KVM",
			NeededFor: "booting other kernels at native speed (fibchurn vm)",
			HowTo:     "CONFIG_KVM with the processor's driver, virtualisation on in the firmware or nested by the host, group kvm",
		}, simple(probeKVM)},
		{Capability{
			Name:      "QEMU",
			NeededFor: "booting other kernels (fibchurn vm)",
			HowTo:     "Debian package " + emulator.pkg,
		}, func(ctx context.Context) finding { return probeProgram(ctx, emulator.program) }},
		{Capability{
			Name:      "User-Mode Linux",
			NeededFor: "booting another kernel as a process, without QEMU or KVM (fibchurn vm)",
			HowTo:     "Debian package user-mode-linux, or a kernel built with ARCH=um in PATH as linux",
		}, func(ctx context.Context) finding { return probeProgram(ctx, "linux.uml", "linux") }},
	}
}
