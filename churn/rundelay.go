package churn

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// runDelays records how long the threads of each phase were ready and waited for a
// CPU: the second figure of /proc/thread-self/schedstat (sched_info_arrive,
// kernel/sched/stats.h), read outside of every clock.
//
// A thread that is to be preempted keeps running until the kernel gets around to it;
// since the wake-up that caused it, or the last timer tick, that counts as waiting
// (rq_clock_skip_update), and not as CPU time.
type runDelays struct {
	mu    sync.Mutex
	times map[string]int64 // by phase, in ns
}

func (d *runDelays) Start(*ns.Namespace) error {
	d.times = map[string]int64{}
	return nil
}

func (d *runDelays) Stop(run *results.Run) error {
	run.Phases = slices.Clone(run.Phases)
	for i := range run.Phases {
		if p := &run.Phases[i]; !p.CPUUnknown {
			p.RunDelay = d.times[p.Name]
		}
	}
	return nil
}

func (d *runDelays) Phase(name string) (rtnl.Witness, func() error, error) {
	before, known := runDelay()
	return nil, func() error {
		after, still := runDelay()
		if !known || !still {
			return nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.times[name] += after - before
		return nil
	}, nil
}

// runDelay is the calling thread's so far.
func runDelay() (ns int64, known bool) {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0, false
	}
	var ran int64
	_, err = fmt.Sscan(string(text), &ran, &ns)
	return ns, err == nil
}
