package results

import (
	"encoding/json"
	"time"
)

// Schema is the version of the record this package writes. Fields may be added
// within a schema; a change of meaning needs a new number.
const Schema = 1

// A Run is one execution of one cell of a workload in one fresh network
// namespace. It is complete in itself, so files of runs from many machines
// merge by concatenation. docs/results.md describes every field.
type Run struct {
	Schema  int       `json:"schema"`
	Time    time.Time `json:"time"`    // start of the run, UTC
	Command string    `json:"command"` // workload, e.g. "delete-iface"
	Cell    string    `json:"cell"`    // what was compared inside the command, e.g. "addrs"
	Run     int       `json:"run"`     // 1-based; runs of one number were interleaved
	Boot    string    `json:"boot"`    // the kernel's random boot_id

	Spec        json.RawMessage `json:"spec"` // every parameter of the cell and the seed
	Environment Environment     `json:"environment"`
	Phases      []Phase         `json:"phases"`
	Trie        TrieChange      `json:"trie"`
	Latency     []Latency       `json:"latency,omitempty"`   // lookups, by probe and stretch
	Depths      []Depth         `json:"depths,omitempty"`    // of the tables that were looked up in
	Churn       *Churn          `json:"churn,omitempty"`     // what went on beside the lookups
	Flap        *Flap           `json:"flap,omitempty"`      // how routes were withdrawn and announced
	Listeners   *Listeners      `json:"listeners,omitempty"` // who listened to notifications
	Resize      *Resize         `json:"resize,omitempty"`    // rebalancing, of the command resize
	Forward     *Forward        `json:"forward,omitempty"`   // packets through the table, of the command forward
	Flood       *Flood          `json:"flood,omitempty"`     // SYNs and cookies, of the command flood
	Profile     *Profile        `json:"profile,omitempty"`   // where the CPU was
	Trace       *Trace          `json:"trace,omitempty"`     // calls of the kernel's functions
	Blocked     *Blocked        `json:"blocked,omitempty"`   // what the timed threads waited for

	// Verified says that every check of the run held. A run without it is an
	// error, not a sample.
	Verified bool      `json:"verified"`
	Checks   []Check   `json:"checks,omitempty"`
	Warnings []Warning `json:"warnings"`
	Partial  bool      `json:"partial"` // interrupted: left out of every summary
}

// Sample reports whether the run's times may enter a summary or a comparison. Those
// of a run that was watched from within are not: it was made beside others that were
// not, and they tell the times.
func (r *Run) Sample() bool { return r.Held() && !r.Partial && !r.Instrumented() }

// Instrumented reports whether the run was profiled or traced.
func (r *Run) Instrumented() bool { return r.Profile != nil || r.Trace != nil || r.Blocked != nil }

// Phase returns the phase of that name, or nil.
func (r *Run) Phase(name string) *Phase {
	for i := range r.Phases {
		if r.Phases[i].Name == name {
			return &r.Phases[i]
		}
	}
	return nil
}

// A Phase is what one timed stretch of a run cost. Wall time is the sum over
// the phase's system calls that carry requests, from just before entering to
// just after leaving each. CPU times are the calling thread's
// (CLOCK_THREAD_CPUTIME_ID for the total, getrusage(RUSAGE_THREAD) for the
// split, which many kernels know only to a timer tick).
type Phase struct {
	Name    string `json:"name"`
	Ops     int64  `json:"ops"`               // netlink requests sent
	Subnets int64  `json:"subnets,omitempty"` // local subnets or routes the phase worked on
	Wall    int64  `json:"wall_ns"`
	User    int64  `json:"user_ns"`
	System  int64  `json:"system_ns"`
	// Blocked is wall - user - system, 0 at least: time the thread neither
	// computed nor was in the kernel on a CPU. Grace-period waits, lock waits and
	// involuntary preemption live here.
	Blocked             int64 `json:"blocked_ns"`
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`
	// RunDelay is the time that the thread was ready and waited for a CPU, also
	// between the phase's calls (sched_info, /proc/thread-self/schedstat); 0 where the
	// kernel does not keep it (CONFIG_SCHED_INFO).
	RunDelay int64 `json:"run_delay_ns,omitempty"`

	// CPUUnknown says that the thread that was timed did nothing itself: its CPU
	// times say nothing, nor does Blocked.
	CPUUnknown bool `json:"cpu_unknown,omitempty"`

	Each *Distribution `json:"each,omitempty"` // times of the single operations, where they were kept
}

// A Check is one comparison of what a run asked the kernel for with what the
// kernel then had.
type Check struct {
	Name string `json:"name"` // e.g. "IPv4 addresses before delete"
	Want int64  `json:"want" sign:"any"`
	Got  int64  `json:"got" sign:"any"`
}

// OK reports whether the check held.
func (c Check) OK() bool { return c.Want == c.Got }

// A Warning is a reason to doubt a figure. Kind is stable and short
// ("emulation", "load", "debug-kernel"...); Text is one sentence for people.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// An Environment is what the figures of a run depend on besides its spec.
// Unknown strings are empty.
type Environment struct {
	Label          string   `json:"label,omitempty"` // name the user gave this kernel, in a comparison of several
	Kernel         string   `json:"kernel"`          // uname -r
	KernelVersion  string   `json:"kernel_version"`  // uname -v
	Arch           string   `json:"arch"`            // uname -m
	CommandLine    string   `json:"command_line"`    // /proc/cmdline
	CPU            string   `json:"cpu"`             // model name
	CPUs           int      `json:"cpus"`            // online
	Virtualisation string   `json:"virtualisation"`  // "none", "kvm", "tcg", "uml", ...
	ClockSource    string   `json:"clock_source"`
	Governor       string   `json:"governor"`                // cpufreq policy of CPU 0
	FibSyncMem     int64    `json:"fib_sync_mem" sign:"any"` // bytes; -1 where it cannot be read
	Debug          []string `json:"debug"`                   // debug options in force, e.g. "KASAN"; nil unknown
	LinkKind       string   `json:"link_kind,omitempty"`     // kind the run's interfaces were of
	LinkAuto       bool     `json:"link_auto,omitempty"`     // true: --link-kind auto chose it
	Rootless       bool     `json:"rootless"`                // ran in a user namespace of its own
	Fibchurn       string   `json:"fibchurn"`                // version of this program
}

// A TrieChange holds the route tables' shapes around the last timed phase:
// Before just before it (the load in place), After just after it.
type TrieChange struct {
	Before Tables `json:"before"`
	After  Tables `json:"after"`
}

// Tables is the shape of all route tables of one namespace.
type Tables struct {
	IPv4 *TrieStats `json:"ipv4,omitempty"`
	IPv6 *RT6Stats  `json:"ipv6,omitempty"`
}

// TrieStats is /proc/net/fib_triestat (fib_triestat_seq_show,
// net/ipv4/fib_trie.c).
type TrieStats struct {
	LeafBytes  int    `json:"leaf_bytes"`
	TnodeBytes int    `json:"tnode_bytes"`
	Tables     []Trie `json:"tables"`
}

// A Trie is one IPv4 table's trie. Local and main show the same figures as long
// as they share one trie (merged).
type Trie struct {
	Name         string        `json:"name"` // "main", "local", "100"
	AverageDepth float64       `json:"average_depth"`
	MaxDepth     int           `json:"max_depth"`
	Leaves       int64         `json:"leaves"`
	Prefixes     int64         `json:"prefixes"`
	Tnodes       int64         `json:"tnodes"`
	TnodesByBits map[int]int64 `json:"tnodes_by_bits"` // key vector bits -> tnodes of that size
	Pointers     int64         `json:"pointers"`
	NullPointers int64         `json:"null_pointers"`
	SizeKB       int64         `json:"size_kb"`
	Counters     *TrieCounters `json:"counters,omitempty"` // only with CONFIG_IP_FIB_TRIE_STATS
}

// TrieCounters are a trie's use statistics (struct trie_use_stats).
type TrieCounters struct {
	Gets                int64 `json:"gets"`
	Backtracks          int64 `json:"backtracks"`
	SemanticMatchPassed int64 `json:"semantic_match_passed"`
	SemanticMatchMiss   int64 `json:"semantic_match_miss"`
	NullNodeHit         int64 `json:"null_node_hit"`
	SkippedResize       int64 `json:"skipped_node_resize"`
}

// RT6Stats is /proc/net/rt6_stats (rt6_stats_seq_show, net/ipv6/route.c).
type RT6Stats struct {
	Nodes        int64 `json:"nodes"`         // fib_nodes
	RouteNodes   int64 `json:"route_nodes"`   // fib_route_nodes
	RouteAllocs  int64 `json:"route_allocs"`  // fib_rt_alloc
	RouteEntries int64 `json:"route_entries"` // fib_rt_entries
	RouteCache   int64 `json:"route_cache"`   // fib_rt_cache
	DstEntries   int64 `json:"dst_entries"`   // dst_entries
	Discarded    int64 `json:"discarded"`     // fib_discarded_routes
}
