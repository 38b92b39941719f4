package churn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// ErrCheck is wrapped by the error of a run whose table was not what was asked
// for: the run is recorded, unverified, and no sample.
var ErrCheck = errors.New("a check failed")

// loadPatience is how long a load may take to arrive after its requests were
// acknowledged.
const loadPatience = 10 * time.Second

// A Runner executes workloads, each run in a fresh namespace.
type Runner struct {
	Environment results.Environment
	Boot        string // the kernel's boot_id
	Observers   []Observer
}

// Run executes one run of w. The record is returned also with an error: of a run
// that failed a check, unverified; of one whose context was cancelled, partial,
// with the phases that had ended (the kernel may still be at work in the phase in
// flight: a system call cannot be taken back).
func (r *Runner) Run(ctx context.Context, w Workload, number int) (*results.Run, error) {
	spec, err := json.Marshal(w.Spec())
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	plan, err := w.Plan()
	if err != nil {
		return nil, err
	}
	e := &execution{plan: plan, observers: slices.Concat(r.Observers, plan.Observers), run: results.Run{
		Schema: results.Schema, Time: time.Now().UTC(),
		Command: w.Command(), Cell: w.Cell(), Run: number, Boot: r.Boot,
		Spec: spec, Environment: r.Environment,
		Phases: []results.Phase{}, Warnings: []results.Warning{},
	}}
	done := make(chan error, 1)
	go func() { done <- e.execute() }()
	select {
	case err := <-done:
		return e.record(false), err
	case <-ctx.Done():
		return e.record(true), ctx.Err()
	}
}

// An execution is a run under way. Its record is guarded, so that an abort can
// take a copy at any time.
type execution struct {
	plan      *Plan
	observers []Observer
	spaces    []*space

	mu  sync.Mutex
	run results.Run
}

// record is a copy of the record as it stands.
func (e *execution) record(partial bool) *results.Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	run := e.run
	run.Phases = append([]results.Phase{}, e.run.Phases...)
	run.Warnings = append([]results.Warning{}, e.run.Warnings...)
	run.Partial = partial || run.Partial
	return &run
}

// update changes the record.
func (e *execution) update(f func(*results.Run)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.run)
}

func (e *execution) execute() (err error) {
	for range max(1, e.plan.Spaces) {
		sp, err := newSpace(e.plan.Configure)
		if err != nil {
			return err
		}
		defer sp.close()
		e.spaces = append(e.spaces, sp)
	}
	if e.plan.Close != nil {
		defer func() { err = errors.Join(err, e.plan.Close()) }()
	}
	e.settle()
	if e.plan.Watched != nil {
		e.plan.Watched(e.watching)
	}
	err = e.observed(e.phases)
	e.update(func(run *results.Run) {
		run.Warnings = append(run.Warnings, preempted(run)...)
		run.Verified = err == nil
	})
	return err
}

// A space is one of a run's namespaces, and a socket in it.
type space struct {
	n *ns.Namespace
	c *rtnl.Conn
}

func newSpace(configure func(*ns.Namespace) error) (*space, error) {
	n, err := ns.New()
	if err != nil {
		return nil, err
	}
	sp := &space{n: n}
	if sp.c, err = n.Dial(); err == nil && configure != nil {
		err = configure(n)
	}
	if err != nil {
		sp.close()
		return nil, err
	}
	return sp, nil
}

func (sp *space) close() {
	if sp.c != nil {
		sp.c.Close()
	}
	sp.n.Close()
}

// observed calls f with the observers at work. They watch the first namespace.
func (e *execution) observed(f func() error) error {
	started := 0
	var err error
	for _, o := range e.observers {
		if watchable, ok := o.(Watchable); ok {
			watchable.Watched(e.watching)
		}
		if err = o.Start(e.spaces[0].n); err != nil {
			break
		}
		started++
	}
	if err == nil {
		err = f()
	}
	e.update(func(run *results.Run) {
		for _, o := range e.observers[:started] {
			err = errors.Join(err, o.Stop(run))
		}
	})
	return err
}

// phases runs the plan with the garbage collector held off: it runs before the
// first phase instead.
func (e *execution) phases() error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, ph := range e.plan.Phases {
		if ph.Quiet {
			e.settle()
			time.Sleep(rand.N(offBeat))
		}
		cost, walls, err := e.phase(ph)
		if err != nil {
			return fmt.Errorf("phase %s: %w", ph.Name, err)
		}
		e.update(func(run *results.Run) {
			if ph.After != nil {
				ph.After(run, walls) // before the times are sorted
			}
			if !ph.Untimed {
				record := phaseRecord(ph, cost)
				run.Warnings = append(run.Warnings, smallerCalls(ph, cost.Cost, len(e.spaces))...)
				record.Each = results.Distribute(walls)
				if ph.Times != nil {
					record.Each = ph.Times()
				}
				run.Phases = append(run.Phases, record)
			}
		})
		if err := e.inspect(ph); err != nil {
			return fmt.Errorf("phase %s: %w", ph.Name, err)
		}
	}
	return nil
}

// phase executes a phase: by its writers, or in one namespace after the other.
func (e *execution) phase(ph *Phase) (cost phaseCost, walls []time.Duration, err error) {
	if ph.Writers > 1 {
		cost, err = e.parallel(ph)
		return cost, nil, err
	}
	for _, sp := range e.spaces {
		err := sp.n.Do(func() error {
			return e.watch(ph, sp.c, func() error {
				c, w, err := ph.execute(sp.c)
				cost.Add(c)
				walls = append(walls, w...)
				return err
			})
		})
		if err != nil {
			return cost, walls, err
		}
	}
	cost.elapsed = cost.Wall
	return cost, walls, nil
}

// inspect counts what is there and takes the trie's shape, between phases.
func (e *execution) inspect(ph *Phase) error {
	if ph.Check != nil {
		if err := e.check(ph); err != nil {
			return err
		}
	}
	last := ph == e.plan.Phases[len(e.plan.Phases)-1]
	if (ph.Loaded || last) && !e.plan.Elsewhere {
		tables, err := e.spaces[0].n.Tables()
		if err != nil {
			return err
		}
		e.update(func(run *results.Run) {
			if last {
				run.Trie.After = tables
			} else {
				run.Trie.Before = tables
			}
		})
	}
	return nil
}

// check counts what is there and demands that it is what was asked for.
func (e *execution) check(ph *Phase) error {
	checks, err := e.evaluate(ph)
	if err != nil {
		return err
	}
	e.update(func(run *results.Run) { run.Checks = append(run.Checks, checks...) })
	for _, check := range checks {
		if !check.OK() {
			return fmt.Errorf("%w: %s: %d instead of %d", ErrCheck, check.Name, check.Got, check.Want)
		}
	}
	return nil
}

// evaluate counts what is there after a phase. A load is given time to arrive: the
// kernel installs the local routes of IPv6 addresses on an interface that is up
// from a work queue (addrconf_dad_work, net/ipv6/addrconf.c).
func (e *execution) evaluate(ph *Phase) ([]results.Check, error) {
	for deadline := time.Now().Add(loadPatience); ; time.Sleep(5 * time.Millisecond) {
		inv, err := takeInventory(e.spaces, e.plan.Families)
		if errors.Is(err, rtnl.ErrInterrupted) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return nil, err
		}
		checks := ph.Check(inv)
		held := !slices.ContainsFunc(checks, func(c results.Check) bool { return !c.OK() })
		if held || !ph.Loaded || time.Now().After(deadline) {
			return checks, nil
		}
	}
}

// A phaseCost is the sum of what a phase's calls cost, and the time from its
// beginning to its end: the same as Wall, unless several writers were at work.
type phaseCost struct {
	rtnl.Cost
	elapsed time.Duration
}

func phaseRecord(ph *Phase, cost phaseCost) results.Phase {
	ops := cost.Requests
	if ops == 0 {
		ops = cost.Calls
	}
	return results.Phase{
		Name: ph.Name, Ops: ops, Subnets: ph.Subnets,
		Wall: cost.elapsed.Nanoseconds(), User: cost.User.Nanoseconds(), System: cost.System.Nanoseconds(),
		Blocked:           max(0, cost.Wall-cost.User-cost.System).Nanoseconds(),
		VoluntarySwitches: cost.VoluntarySwitches, InvoluntarySwitches: cost.InvoluntarySwitches,
	}
}

// smallerCalls warns of a phase whose requests needed more calls than asked for: the
// socket keeps a call to what its buffers hold, which without the right to enlarge
// them past the system's limits is little.
func smallerCalls(ph *Phase, cost rtnl.Cost, spaces int) []results.Warning {
	if ph.PerCall == 0 || ph.Timed != nil {
		return nil
	}
	calls := (cost.Requests + int64(ph.PerCall) - 1) / int64(ph.PerCall)
	shares := int64(max(ph.Writers, spaces)) // each may end with a call that is not full
	if cost.Calls < calls+shares {
		return nil
	}
	return []results.Warning{{Kind: "batch", Text: "the socket's buffers hold fewer requests than one call was to have, so there were more calls (net.core.rmem_max, net.core.wmem_max)"}}
}

// preempted warns of a run whose timed thread lost the CPU to something else so
// often that it shows. The kernel's own threads (RCU, kfree) take it now and then,
// and in a phase shorter than that once is chance.
func preempted(run *results.Run) []results.Warning {
	const often = 5 * time.Millisecond
	for _, p := range run.Phases {
		if p.Wall >= int64(often) && p.InvoluntarySwitches*int64(often) > p.Wall {
			return []results.Warning{{Kind: "preempted", Text: "other work took the CPU from the timed thread; that time is in wall and blocked (see involuntary_switches)"}}
		}
	}
	return nil
}

// offBeat is a few ticks of the slowest timer. A grace period ends on a tick, and so
// do the waits that begin with its end: without a pause of a length drawn anew, every
// wait would be a whole number of ticks, and a difference of two cells as well.
const offBeat = 40 * time.Millisecond

// settle waits for two grace periods (MEMBARRIER_CMD_GLOBAL is synchronize_rcu,
// kernel/sched/membarrier.c), so that what went before left nothing to RCU that
// could weigh on what comes. A kernel that cannot (no CONFIG_MEMBARRIER, or
// nohz_full CPUs) earns the run a warning.
func (e *execution) settle() {
	const global = 1 // MEMBARRIER_CMD_GLOBAL
	for range 2 {
		if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
			e.update(unsettled)
			return
		}
	}
}

func unsettled(run *results.Run) {
	w := results.Warning{Kind: "unsettled", Text: "the kernel has no membarrier(2) to wait for grace periods with: what one phase or run leaves to RCU may weigh on the next"}
	if !slices.Contains(run.Warnings, w) {
		run.Warnings = append(run.Warnings, w)
	}
}
