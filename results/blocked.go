package results

// Kinds of waits.
const (
	WaitSynchronizeNet = "synchronize_net" // a grace period, expedited while RTNL is held
	WaitSynchronizeRCU = "synchronize_rcu" // a grace period
	WaitRCUBarrier     = "rcu_barrier"     // until all callbacks queued so far were called
	WaitRTNL           = "rtnl"            // for the routing netlink lock
	WaitLock           = "lock"            // for another mutex or semaphore
	WaitCPU            = "cpu"             // preempted: ready, and something else had the CPU
	WaitSelf           = "self"            // for another thread of fibchurn, which shares the CPUs that Go's scheduler uses
	WaitOther          = "other"
)

// Blocked says what the timed threads of a run waited for: every time that one was
// without a CPU inside a timed stretch, by the kernel's perf events. It needs neither
// kprobes nor hardware counters.
type Blocked struct {
	Lost   int64          `json:"lost,omitempty"` // records that the kernel had no room for: waits that are missing here
	Phases []PhaseBlocked `json:"phases"`
}

// A PhaseBlocked is the waits of one phase of a run. Their sum is the phase's
// blocked_ns, measured by other means.
type PhaseBlocked struct {
	Phase string `json:"phase"`
	Waits []Wait `json:"waits"` // longest first; never nil
}

// A Wait is what threads waited for in one place, from leaving a CPU to having one
// again. That includes the time from being woken to running, which the phase's
// run_delay_ns holds as well.
type Wait struct {
	Kind   string `json:"kind"`
	Count  int64  `json:"count"`   // times without a CPU; one grace period may be several
	Wall   int64  `json:"wall_ns"` // their sum
	Max    int64  `json:"max_ns"`  // the longest
	Frames string `json:"frames"`  // kernel functions, as in Stack; "" where the kernel took no stack
}

// Wall is the sum of the waits, in ns.
func (p *PhaseBlocked) Wall() int64 {
	var sum int64
	for _, w := range p.Waits {
		sum = plus(sum, w.Wall)
	}
	return sum
}

// Phase returns the waits of the phase of that name, or nil.
func (b *Blocked) Phase(name string) *PhaseBlocked {
	if b == nil {
		return nil
	}
	for i := range b.Phases {
		if b.Phases[i].Phase == name {
			return &b.Phases[i]
		}
	}
	return nil
}
