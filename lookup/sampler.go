package lookup

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fibchurn/internal/monotonic"
	"fibchurn/internal/prefixes"
	"fibchurn/ns"
	"fibchurn/results"
)

// The stretches of a run.
const (
	Rest   = "rest"   // nothing churns
	Before = "before" // the churn
	During = "during"
	After  = "after"
)

func stretches() []string { return []string{Rest, Before, During, After} }

// A Sampler makes lookups while a run goes on, and files their times by stretch. It
// is used for one run: [Sampler.Start] in the fresh namespace, [Sampler.Stretch] at
// each change of what goes on, [Sampler.Stop] at the end. Its readers are threads of
// their own.
//
// With several probes, a reader takes turns of a few ms: each probe's rate is that
// of its turns.
type Sampler struct {
	spec     Spec
	watching Watching // nil: nobody watches
	kinds    []kind
	keys     *Keys
	oracle   *Oracle

	clock   monotonic.Clock
	netns   *os.File
	readers []*reader
	phase   atomic.Pointer[phase]

	mu       sync.Mutex
	changed  sync.Cond
	stopped  bool
	opened   int // readers that have opened their instruments
	parked   int // readers that wait
	left     int // readers that have ended
	err      error
	unkept   []int64 // by kind
	warnings []results.Warning
}

// A phase is what is to be done: a stretch's lookups, or nothing.
type phase struct {
	stretch int          // index into stretches, -1 for none
	ended   atomic.Int64 // ns, 0 before
}

// New prepares a sampler for a table of the prefixes of set, each of which leads
// out of any interface: [Sampler.Oracle] is where to say more. It draws the keys,
// which takes a second for a million prefixes. A spec that is not valid is an error
// in the words of the command line.
func New(spec Spec, set *prefixes.Set) (*Sampler, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if set != nil && set.Family() != spec.family() {
		return nil, fmt.Errorf("lookups of %s in a table of %s", spec.family(), set.Family())
	}
	oracle, err := NewOracle(set, Route{Kind: Unicast})
	if err != nil {
		return nil, err
	}
	if set == nil {
		set = &prefixes.Set{}
	}
	keys, err := NewKeys(&spec, set, oracle.Covers)
	if err != nil {
		return nil, err
	}
	s := &Sampler{spec: spec, kinds: spec.kinds(), keys: keys, oracle: oracle}
	s.changed.L = &s.mu
	s.unkept = make([]int64, len(s.kinds))
	return s, nil
}

// Oracle is what answers are compared with. Until the first stretch it may be told
// of other routes, and of those that come and go.
func (s *Sampler) Oracle() *Oracle { return s.oracle }

// Keys are the addresses looked up.
func (s *Sampler) Keys() *Keys { return s.keys }

// Start sets the namespace's sysctls (forwarding, rp_filter), for interfaces to
// come too, and starts the readers, which make no lookup before the first stretch.
// It must not be called from within ns.Namespace.Do.
func (s *Sampler) Start(n *ns.Namespace) error {
	if err := s.configure(n); err != nil {
		return err
	}
	clock, err := monotonic.Start()
	if err != nil {
		return err
	}
	s.clock = clock
	if err := n.Do(func() (err error) { s.netns, err = openNamespace(); return err }); err != nil {
		return err
	}
	cpus, err := allowedCPUs()
	if err != nil {
		return errors.Join(err, s.netns.Close())
	}
	// A reader holds a P of the Go scheduler nearly all the time.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + s.spec.Readers)
	s.phase.Store(&phase{stretch: -1})
	for i := range s.spec.Readers {
		// From the last CPU on: what churns tends to be on the first.
		r := newReader(s, cpus[len(cpus)-1-i%len(cpus)])
		s.readers = append(s.readers, r)
	}
	for _, r := range s.readers {
		go r.run()
	}
	return nil
}

func (s *Sampler) configure(n *ns.Namespace) error {
	sysctls := map[string]string{}
	needed := s.spec.Direction == Input || slices.ContainsFunc(s.kinds, func(k kind) bool { return k.probe == ProbeBPF })
	switch {
	case needed && s.spec.Family == 6:
		sysctls["net.ipv6.conf.all.forwarding"] = "1"
	case needed:
		sysctls["net.ipv4.ip_forward"] = "1"
	}
	if s.spec.RPFilter >= 0 {
		// The greater of an interface's own and that of all holds (IN_DEV_RPFILTER).
		value := strconv.Itoa(s.spec.RPFilter)
		sysctls["net.ipv4.conf.all.rp_filter"] = value
		sysctls["net.ipv4.conf.default.rp_filter"] = value
	}
	for name, value := range sysctls {
		if err := n.SetSysctl(name, value); err != nil {
			return err
		}
	}
	return nil
}

// allowedCPUs lists the CPUs this process may use.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("list the allowed CPUs: %w", err)
	}
	var cpus []int
	for cpu := range 8 * len(set) * 8 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Stretch ends the stretch under way and begins the next: one of Rest, Before,
// During and After, or "" for none, in which case it returns when all readers are
// quiet. The first opens the probes, so the links must be there by then; a probe
// that the spec names and this kernel or user cannot do is an *ns.UnsupportedError.
// It may be called from within ns.Namespace.Do.
func (s *Sampler) Stretch(name string) error {
	next := &phase{stretch: slices.Index(stretches(), name)}
	if next.stretch < 0 && name != "" {
		return fmt.Errorf("no stretch is called %q", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.phase.Swap(next).ended.Store(max(1, s.clock.Now()))
	s.changed.Broadcast()
	for s.err == nil && (next.stretch < 0 && s.parked < len(s.readers) || next.stretch >= 0 && s.opened < len(s.readers)) {
		s.changed.Wait()
	}
	return s.err
}

// await is the phase to be done, once there is one, and nil at the end.
func (s *Sampler) await() *phase {
	if p := s.phase.Load(); p.stretch >= 0 && p.ended.Load() == 0 {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked++
	s.changed.Broadcast()
	for !s.stopped && s.phase.Load().stretch < 0 {
		s.changed.Wait()
	}
	s.parked--
	if s.stopped {
		return nil
	}
	return s.phase.Load()
}

// update changes what mu guards, and tells who waits for it.
func (s *Sampler) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

func (s *Sampler) ready() { s.update(func() { s.opened++ }) }

func (s *Sampler) fail(err error) {
	s.update(func() {
		if s.err == nil {
			s.err = err
		}
	})
}

// leave is a reader's last word.
func (s *Sampler) leave(err error) {
	s.update(func() { s.left++; s.err = errors.Join(s.err, err) })
}

// without notes, once, that the sampler does without a probe.
func (s *Sampler) without(k kind, err error) {
	w := results.Warning{Kind: "unsupported", Text: "no lookups by " + k.probe + ": " + err.Error()}
	s.update(func() {
		if !slices.Contains(s.warnings, w) {
			s.warnings = append(s.warnings, w)
		}
	})
}

func (s *Sampler) lost(i int, unkept int64) { s.update(func() { s.unkept[i] += unkept }) }

// Close ends the lookups and drops what was measured, where there is no Stop to
// come; after it, and a second time, it does nothing.
func (s *Sampler) Close() error { return s.halt() }

// halt ends the readers and waits for them.
func (s *Sampler) halt() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.netns == nil {
		s.stopped = true
		return s.err
	}
	s.stopped = true
	s.phase.Swap(&phase{stretch: -1}).ended.Store(max(1, s.clock.Now()))
	s.changed.Broadcast()
	for s.left < len(s.readers) {
		s.changed.Wait()
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - s.spec.Readers)
	s.err = errors.Join(s.err, s.netns.Close())
	return s.err
}

// Stop ends the lookups and adds their latencies, checks and warnings to the run.
// The error is a *WrongAnswerError where an answer was wrong, ErrLost where one
// was lost.
func (s *Sampler) Stop(run *results.Run) error {
	err := s.halt()
	run.Warnings = append(run.Warnings, s.warnings...)
	for i, k := range s.kinds {
		for stretch, name := range stretches() {
			total := s.merge(i, stretch)
			if total.times[looked].TotalCount() == 0 {
				continue
			}
			l, encodeErr := latencyOf(k.name, name, s.spec.Rate, total.times[looked], total.times[blanked])
			err = errors.Join(err, encodeErr)
			run.Latency = append(run.Latency, l)
			run.Warnings = append(run.Warnings, overloaded(l, total.late)...)
		}
		run.Checks = append(run.Checks, s.checks(i)...)
		if s.unkept[i] > 0 {
			run.Warnings = append(run.Warnings, results.Warning{Kind: "unchecked", Text: fmt.Sprintf("%d answers to lookups by %s changed faster than they could be kept, and were not checked", s.unkept[i], k.name)})
		}
	}
	return errors.Join(err, s.wrong())
}

// merge adds up the readers' sheets.
func (s *Sampler) merge(i, stretch int) *sheet {
	total := newSheet()
	for _, r := range s.readers {
		of := r.sheets[i][stretch]
		for c := range total.times {
			total.times[c].Merge(of.times[c])
			total.busy[c] += of.busy[c]
		}
		total.late += of.late
	}
	return total
}

// overloaded warns where lookups mostly waited for each other.
func overloaded(l results.Latency, late int64) []results.Warning {
	if 2*late <= l.Count {
		return nil
	}
	return []results.Warning{{Kind: "overload", Text: fmt.Sprintf("lookups by %s (%s) could not keep the rate: %d of %d were asked late, and their times are mostly waiting", l.Probe, l.Stretch, late, l.Count)}}
}

// checks says how many answers were compared with the oracle, and how many were
// right.
func (s *Sampler) checks(i int) []results.Check {
	var checked, wrong int64
	for _, r := range s.readers {
		checked += r.checked[i]
		wrong += r.wrong[i]
	}
	if checked == 0 {
		return nil
	}
	return []results.Check{{Name: "right answers to lookups by " + s.kinds[i].name, Want: checked, Got: checked - wrong}}
}

// wrong is the first wrong answer, nil where there is none.
func (s *Sampler) wrong() error {
	var first *WrongAnswerError
	more := int64(-1)
	for _, r := range s.readers {
		for _, n := range r.wrong {
			more += n
		}
		if first == nil {
			first = r.first
		}
	}
	if first == nil {
		return nil
	}
	first.More = int(more)
	return first
}

// A Throughput is how many lookups a probe made in a stretch.
type Throughput struct {
	Probe, Stretch string
	Readers        int
	Lookups        int64
	PerSecond      float64 // of all readers together, while the probe had its turns
}

// Throughput is what was reached, after Stop. With different numbers of readers it
// shows how lookups scale.
func (s *Sampler) Throughput() []Throughput {
	var list []Throughput
	for i, k := range s.kinds {
		for stretch, name := range stretches() {
			total := s.merge(i, stretch)
			n := total.times[looked].TotalCount()
			if n == 0 || total.busy[looked] == 0 {
				continue
			}
			readers := len(s.readers)
			list = append(list, Throughput{k.name, name, readers, n, float64(n) * 1e9 * float64(readers) / float64(total.busy[looked])})
		}
	}
	return list
}
