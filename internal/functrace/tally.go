package functrace

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A tally is what came of one run so far.
type tally struct {
	mu      sync.Mutex
	phases  []results.PhaseTrace
	working map[string]*working // phases that threads are at work on
	sharing map[uint32]int      // by thread: how many phases it works on
}

// A working is a phase under way.
type working struct {
	threads int
	others  []uint64 // the others' record when it began
}

// Start puts the probes in.
func (t *Tracer) Start(*ns.Namespace) error {
	t.tally.reset()
	if err := t.threads.Put(uint32(others), make([]uint64, t.width*functionBytes/8)); err != nil {
		return fmt.Errorf("make the record of other threads: %w", err)
	}
	for _, p := range t.probes {
		if err := p.attach(); err != nil {
			t.detach()
			return err
		}
	}
	return nil
}

func (t *tally) reset() {
	t.phases, t.working, t.sharing = []results.PhaseTrace{}, map[string]*working{}, map[uint32]int{}
}

func (t *Tracer) detach() {
	for _, p := range t.probes {
		p.detach()
	}
}

// Stop takes the probes out and adds to the record what was traced.
func (t *Tracer) Stop(run *results.Run) error {
	t.detach()
	run.Trace = &results.Trace{Phases: t.phases, Untraced: t.untraced}
	return nil
}

// Phase begins to trace the calling thread. Calls count from here to the end of the
// phase, also those between its timed stretches, of which the kernel's trie knows
// nothing unless the workload reads tables.
func (t *Tracer) Phase(name string) (rtnl.Witness, func() error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number, err := t.enrol.Run(&ebpf.RunOptions{})
	if err != nil {
		return nil, nil, refused(fmt.Errorf("enrol a thread: %w", err))
	}
	p := t.working[name]
	if p == nil {
		p = &working{}
		if p.others, err = t.look(others); err != nil {
			return nil, nil, err
		}
		t.working[name] = p
	}
	p.threads++
	t.sharing[number]++
	w := &watched{tracer: t, thread: number, phase: name}
	return w, w.end, nil
}

// A watched is a thread that works on a phase.
type watched struct {
	tracer *Tracer
	thread uint32
	phase  string
	failed error
}

// Timed gives the phase what was called in the stretch, where the thread works on
// another phase besides.
func (w *watched) Timed(time.Time, time.Duration) {
	t := w.tracer
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sharing[w.thread] > 1 {
		w.failed = errors.Join(w.failed, t.settle(w.thread, w.phase))
	}
}

func (w *watched) end() error {
	t := w.tracer
	t.mu.Lock()
	defer t.mu.Unlock()
	err := errors.Join(w.failed, t.settle(w.thread, w.phase))
	if t.sharing[w.thread]--; t.sharing[w.thread] == 0 {
		delete(t.sharing, w.thread)
		err = errors.Join(err, t.threads.Delete(w.thread))
	}
	p := t.working[w.phase]
	if p.threads--; p.threads > 0 {
		return err
	}
	delete(t.working, w.phase)
	after, lookErr := t.look(others)
	if lookErr == nil {
		functions := t.functions(w.phase)
		for _, probe := range t.probes {
			at := (probe.place*functionBytes + wordCalls) / 8
			functions[t.index(probe)].Elsewhere += int64(after[at] - p.others[at])
		}
	}
	return errors.Join(err, lookErr)
}

// settle adds the thread's record to the phase and empties it.
func (t *Tracer) settle(thread uint32, phase string) error {
	words, err := t.take(thread)
	if err != nil {
		return err
	}
	functions := t.functions(phase)
	for _, p := range t.probes {
		w := func(word int) int64 { return int64(words[(p.place*functionBytes+word)/8]) }
		f := &functions[t.index(p)]
		f.Calls += w(wordCalls)
		f.Missed += w(wordCalls) - w(wordReturns)
		f.Wall += w(wordWall)
		f.Max = max(f.Max, w(wordMax))
	}
	return nil
}

// index is the place of a probe's function in a phase's list.
func (t *Tracer) index(p *probe) int { return slices.Index(t.probes, p) }

// functions is the phase's list.
func (t *Tracer) functions(phase string) []results.FunctionTrace {
	for _, p := range t.phases {
		if p.Phase == phase {
			return p.Functions
		}
	}
	functions := make([]results.FunctionTrace, len(t.probes))
	for i, p := range t.probes {
		functions[i] = results.FunctionTrace{Function: p.function, Symbol: p.symbol}
	}
	t.phases = append(t.phases, results.PhaseTrace{Phase: phase, Functions: functions})
	return functions
}
