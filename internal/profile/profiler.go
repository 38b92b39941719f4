package profile

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/kallsyms"
	"fibchurn/internal/monotonic"
	"fibchurn/internal/perfring"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// The scopes of a profile.
const (
	Thread = "thread" // the threads that are timed
	CPUs   = "cpus"   // all CPUs, whatever they do while a thread is timed
)

// DefaultHz is how often a second samples are taken unless asked otherwise. It is no
// multiple of the rate of a timer tick, so that samples do not fall on ticks, or between
// them, all the time.
const DefaultHz = 599

// A Profiler is a churn.PhaseObserver that samples the timed stretches of runs, one
// run after the other.
type Profiler struct {
	hz      int
	scope   string
	event   *event
	cpus    []int
	clock   monotonic.Clock
	symbols *kallsyms.Table
	held    int               // a file: see hold
	notes   []results.Warning // of every run

	mu      sync.Mutex
	running bool
	phases  []string
	sources map[int]*source // by thread; 0 is that of all CPUs
	done    []*source       // nobody uses them any more
	errs    []error         // of threads that are not in the profile
	stop    chan struct{}
	relief  sync.WaitGroup
}

// Open prepares profiles of hz samples a second and thread or CPU, or as many as
// kernel.perf_event_max_sample_rate allows: Notes says so. The error is an
// *ns.UnsupportedError where this kernel or user can have none.
func Open(hz int, scope string) (*Profiler, error) {
	p := &Profiler{hz: hz, scope: scope}
	if most, err := sysctl("perf_event_max_sample_rate"); err == nil && most < hz {
		p.hz = most
		p.note(fmt.Sprintf("%d samples a second instead of %d: more are not allowed (kernel.perf_event_max_sample_rate)", most, hz))
	}
	var err error
	if p.cpus, err = onlineCPUs(); err != nil {
		return nil, err
	}
	if p.event, err = choose(scope, p.cpus, p.hz); err != nil {
		return nil, err
	}
	if p.clock, err = monotonic.Start(); err != nil {
		return nil, err
	}
	if p.symbols, err = kallsyms.Read(); err != nil {
		return nil, unsupported(err.Error(), "run as root, with kernel.kptr_restrict below 2 and CONFIG_KALLSYMS")
	}
	if p.held, err = hold(); err != nil {
		return nil, fmt.Errorf("hold a perf event: %w", err)
	}
	return p, nil
}

// Close ends what the profiler holds open between runs.
func (p *Profiler) Close() error { return unix.Close(p.held) }

func (p *Profiler) note(text string) {
	p.notes = append(p.notes, results.Warning{Kind: "profile", Text: text})
}

// Notes is what is to be said of every profile.
func (p *Profiler) Notes() []results.Warning { return p.notes }

// reliefTime is how long rings fill up before somebody looks: see samplesSecond.
const reliefTime = time.Second / samplesSecond / 4

// Start begins a run.
func (p *Profiler) Start(*ns.Namespace) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.phases, p.sources, p.done, p.errs = true, nil, map[int]*source{}, nil, nil
	if p.scope == CPUs {
		s, err := p.newSource(-1, p.cpus)
		if err != nil {
			return err
		}
		p.sources[0] = s
	}
	p.stop = make(chan struct{})
	p.relief.Go(func() { p.relieve(p.stop) })
	return nil
}

// newSource opens the event for a thread on any of the CPUs -1, or for all threads -1
// on each of the CPUs.
func (p *Profiler) newSource(thread int, cpus []int) (*source, error) {
	s := &source{clock: &p.clock, cpus: p.scope == CPUs, users: 1}
	var files []int
	closeAll := func() error {
		var errs []error
		for _, fd := range files {
			errs = append(errs, unix.Close(fd))
		}
		return errors.Join(errs...)
	}
	unmap := func() {
		for _, r := range s.rings {
			_ = r.Unmap() // of memory that Mmap returned
		}
	}
	for _, cpu := range cpus {
		fd, err := p.event.open(thread, cpu, p.hz)
		if err == nil {
			files = append(files, fd)
			var r *perfring.Ring
			if r, err = perfring.Map(fd, ringPages(p.hz)); err == nil {
				s.rings = append(s.rings, r)
			}
		}
		if err != nil {
			unmap()
			return nil, errors.Join(fmt.Errorf("sample by %s: %w", p.event.name, err), closeAll())
		}
	}
	s.left, s.shut = unmap, closeAll
	return s, nil
}

// relieve empties full rings until it is stopped.
func (p *Profiler) relieve(stop <-chan struct{}) {
	tick := time.NewTicker(reliefTime)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		sources := make([]*source, 0, len(p.sources))
		for _, s := range p.sources {
			sources = append(sources, s)
		}
		p.mu.Unlock()
		for _, s := range sources {
			s.relieve()
		}
	}
}

// Phase begins a phase on the calling thread, which the goroutine must be locked to.
// Where the thread cannot be sampled, the run goes on and has a warning.
func (p *Profiler) Phase(name string) (rtnl.Witness, func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nothing := func() error { return nil }
	if !p.running {
		return nil, nothing, nil
	}
	phase := slices.Index(p.phases, name)
	if phase < 0 {
		phase = len(p.phases)
		p.phases = append(p.phases, name)
	}
	const bits = 64 // of sample.kept
	if phase >= bits {
		return nil, nothing, fmt.Errorf("a profile has at most %d phases", bits)
	}
	thread := 0
	if p.scope == Thread {
		thread = unix.Gettid()
	}
	s := p.sources[thread]
	if s == nil {
		var err error
		if s, err = p.newSource(0, []int{-1}); err != nil {
			p.errs = append(p.errs, err)
			return nil, nothing, nil
		}
		p.sources[thread] = s
	}
	w := s.join(phase)
	return w, func() error { return p.end(thread, w) }, nil
}

// end is the end of a phase on its thread. With a thread's last phase its event ends:
// here, since the thread may have descriptors of its own.
func (p *Profiler) end(thread int, w *worker) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := w.source
	if last := s.leave(w); s.cpus || !last {
		return nil
	}
	if p.sources[thread] == s { // else the run is over
		delete(p.sources, thread)
		p.done = append(p.done, s)
		s.finish()
	}
	return s.shut()
}

// Stop ends the run and adds its profile to the record.
func (p *Profiler) Stop(run *results.Run) error {
	close(p.stop)
	p.relief.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for thread, s := range p.sources {
		s.finish()
		if s.cpus {
			err = s.shut()
		}
		p.done = append(p.done, s)
		delete(p.sources, thread)
	}
	p.running = false
	profile, foldErr := p.profile()
	run.Profile = profile
	run.Warnings = append(run.Warnings, p.warnings(run)...)
	return errors.Join(err, foldErr)
}

// warnings are what makes the profile doubtful.
func (p *Profiler) warnings(run *results.Run) []results.Warning {
	all := slices.Clone(p.notes)
	add := func(format string, args ...any) {
		all = append(all, results.Warning{Kind: "profile", Text: fmt.Sprintf(format, args...)})
	}
	var throttled, samples int64
	for _, s := range p.done {
		throttled += s.throttled
	}
	for _, ph := range run.Profile.Phases {
		samples += ph.Samples
	}
	var busy int64
	for _, ph := range run.Phases {
		busy += ph.User + ph.System
	}
	if len(p.errs) > 0 {
		add("%d threads are not in the profile: %v", len(p.errs), p.errs[0])
	}
	if run.Profile.Lost > 0 {
		add("%d samples were lost: the kernel had no room for them", run.Profile.Lost)
	}
	if throttled > 0 {
		add("the kernel suspended sampling %d times for a tick's time (kernel.perf_event_max_sample_rate)", throttled)
	}
	const expected = 20 // samples, of which some should have come
	if samples == 0 && busy > expected*int64(time.Second)/int64(p.hz) {
		add("not one sample came: this machine's %s does not interrupt", p.event.name)
	}
	return all
}
