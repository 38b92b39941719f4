package offcpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A Namer gives the kernel's function at an address, "" where there is none.
type Namer interface{ Name(address uint64) string }

// An Observer adds to the record of a run what its timed threads waited for. It is a
// churn.PhaseObserver.
type Observer struct {
	names  Namer
	keeper *event

	mu        sync.Mutex
	record    *results.Blocked
	threads   int     // at work
	unwatched []error // of threads that could not be
}

// New returns an Observer that names functions by the table. Where this user or
// kernel gives no such account, the error is an *ns.UnsupportedError.
//
// Until Close there is always one such event, though of a thread that nobody watches:
// with the first and the last the kernel changes its own code on all CPUs
// (perf_swevent_enabled, perf_sched_events), which is nothing for the middle of a run.
func New(names Namer) (*Observer, error) {
	e, err := openEvent(largeRing)
	if err != nil {
		return nil, err
	}
	return &Observer{names: names, keeper: e}, nil
}

// Close ends the observer's use of perf events.
func (o *Observer) Close() error {
	o.keeper.close()
	return nil
}

// Start begins a run.
func (o *Observer) Start(*ns.Namespace) error {
	o.record, o.threads, o.unwatched = &results.Blocked{Phases: []results.PhaseBlocked{}}, 0, nil
	return nil
}

// Stop adds to the record what was seen.
func (o *Observer) Stop(run *results.Run) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	run.Blocked = o.record
	if n := len(o.unwatched); n > 0 {
		run.Warnings = append(run.Warnings, results.Warning{Kind: "blocked", Text: fmt.Sprintf("the waits of %d threads are not known: %v", n, o.unwatched[0])})
	}
	return nil
}

// fewThreads have large rings.
const fewThreads = 16

// Phase begins to watch the calling thread. Where it cannot be watched, the run goes on
// and has a warning.
func (o *Observer) Phase(name string) (rtnl.Witness, func() error, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := largeRing
	if o.threads >= fewThreads {
		size = smallRing
	}
	e, err := openEvent(size)
	if err != nil {
		o.unwatched = append(o.unwatched, err)
		return nil, func() error { return nil }, nil
	}
	o.threads++
	t := &thread{event: e, names: o.names, waits: map[string]*results.Wait{}}
	t.began, t.monotonic = time.Now(), monotonic()
	return t, func() error {
		t.event.ring.Read(func(uint32, uint16, []byte) {}) // after the last stretch
		t.event.close()
		o.add(name, t)
		return nil
	}, nil
}

// add adds what one thread saw to its phase.
func (o *Observer) add(name string, t *thread) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.threads--
	o.record.Lost += t.switches.lost
	p := o.record.Phase(name)
	if p == nil {
		o.record.Phases = append(o.record.Phases, results.PhaseBlocked{Phase: name, Waits: []results.Wait{}})
		p = &o.record.Phases[len(o.record.Phases)-1]
	}
	for _, w := range t.waits {
		i := slices.IndexFunc(p.Waits, func(old results.Wait) bool { return old.Kind == w.Kind && old.Frames == w.Frames })
		if i < 0 {
			p.Waits = append(p.Waits, *w)
			continue
		}
		p.Waits[i].Count += w.Count
		p.Waits[i].Wall += w.Wall
		p.Waits[i].Max = max(p.Waits[i].Max, w.Max)
	}
	slices.SortFunc(p.Waits, func(a, b results.Wait) int {
		return cmp.Or(cmp.Compare(b.Wall, a.Wall), cmp.Compare(a.Frames, b.Frames))
	})
}

// A thread is one that is watched during one phase. All of it happens on that thread.
type thread struct {
	event    *event
	names    Namer
	switches switches
	waits    map[string]*results.Wait // by kind and stack

	began     time.Time // and at the same moment
	monotonic int64     // CLOCK_MONOTONIC, which time.Time has but does not show
}

// Timed takes the absences of one stretch. A thread reads a clock only while it has a
// CPU, so an absence is inside a stretch or outside, but for the clock's own reading.
func (t *thread) Timed(start time.Time, wall time.Duration) {
	from := t.monotonic + start.Sub(t.began).Nanoseconds()
	to := from + wall.Nanoseconds()
	t.event.ring.Read(func(kind uint32, misc uint16, body []byte) {
		a, ended := t.switches.record(kind, misc, body)
		if !ended {
			return
		}
		if took := min(a.in, to) - max(a.out, from); took > 0 {
			t.wait(a, took)
		}
	})
}

func (t *thread) wait(a absence, took int64) {
	frames := make([]string, len(a.stack))
	for i, address := range a.stack {
		if i > 0 {
			address-- // of the call, not of what comes after it
		}
		frames[len(frames)-1-i] = t.names.Name(address)
	}
	kind := results.WaitCPU
	if !a.preempted {
		kind = classify(frames)
	}
	stack := strings.Join(frames, ";")
	w := t.waits[kind+stack]
	if w == nil {
		w = &results.Wait{Kind: kind, Frames: stack}
		t.waits[kind+stack] = w
	}
	w.Count++
	w.Wall += took
	w.Max = max(w.Max, took)
}

// monotonic is CLOCK_MONOTONIC in ns, the clock of the events. It cannot fail.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
