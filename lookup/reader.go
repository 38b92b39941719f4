package lookup

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A reader is a thread in the namespace, pinned to one CPU, that takes turns with
// its instruments.
type reader struct {
	s           *Sampler
	cpu         int
	instruments []instrument // nil: one the kernel cannot do
	sheets      [][]*sheet   // by instrument and stretch
	pending     [][]report   // answers that cannot be checked before the end, by instrument
	checked     []int64      // answers, by instrument
	wrong       []int64
	first       *WrongAnswerError
	watched     watched

	// A turn allocates nothing: while a run goes on nothing is collected
	// (churn.Runner), and it may go on for hours.
	now    turn           // under way
	keeps  []func(report) // keep and check, by instrument
	checks []func(report)
}

func newReader(s *Sampler, cpu int) *reader {
	r := &reader{s: s, cpu: cpu}
	r.instruments = make([]instrument, len(s.kinds))
	r.pending = make([][]report, len(s.kinds))
	r.checked, r.wrong = make([]int64, len(s.kinds)), make([]int64, len(s.kinds))
	for k := range s.kinds {
		r.keeps, r.checks = append(r.keeps, r.keep(k)), append(r.checks, r.check(k))
		sheets := make([]*sheet, len(stretches()))
		for i := range sheets {
			sheets[i] = newSheet()
		}
		r.sheets = append(r.sheets, sheets)
	}
	return r
}

// run is the reader's goroutine. It never unlocks its thread, which is in another
// namespace, so the Go runtime ends the thread with it.
func (r *reader) run() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread must stay in its namespace. While this goroutine keeps it
		// occupied, the next one gets another.
		done := make(chan struct{})
		go func() { defer close(done); r.run() }()
		<-done
		runtime.UnlockOSThread()
		return
	}
	if err := r.follow(); err != nil {
		r.s.fail(err)
	}
	r.s.leave(r.close())
}

// live follows the sampler's stretches until it is stopped.
func (r *reader) live() error {
	if err := r.enter(); err != nil {
		return err
	}
	for opened := false; ; {
		if err := r.rest(); err != nil {
			return err
		}
		phase := r.s.await()
		if phase == nil {
			return nil
		}
		if !opened {
			if err := r.open(); err != nil {
				return err
			}
			opened = true
			r.s.ready()
		}
		if err := r.watch(phase); err != nil {
			return err
		}
		if err := r.round(phase); err != nil {
			return err
		}
	}
}

// enter moves the thread into the namespace, and pins it.
func (r *reader) enter() error {
	if err := unix.Setns(int(r.s.netns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace: %w", err)
	}
	if err := refuseInitial(); err != nil {
		return err
	}
	var cpus unix.CPUSet
	cpus.Set(r.cpu)
	if err := unix.SchedSetaffinity(0, &cpus); err != nil {
		return fmt.Errorf("pin a reader to CPU %d: %w", r.cpu, err)
	}
	// A table of descriptors that no other thread uses spares every system call two
	// atomic operations on the file (fdget, include/linux/file.h), as it would a
	// program of one thread. The probes are opened and closed by this thread alone.
	// That the runtime's poller is in the copy has been seen to: it was started by
	// opening the namespace, at the latest.
	_ = unix.Unshare(unix.CLONE_FILES)
	// Timers by default fire up to 50 us late.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return nil
}

// errInitialNamespace is what a thread that did not leave the process's own
// namespace is refused with.
var errInitialNamespace = errors.New("refusing to make lookups in the initial network namespace")

func refuseInitial() error {
	var own, here unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &own); err != nil {
		return fmt.Errorf("find the initial network namespace: %w", err)
	}
	if err := unix.Stat("/proc/thread-self/ns/net", &here); err != nil {
		return fmt.Errorf("identify the network namespace: %w", err)
	}
	if own.Dev == here.Dev && own.Ino == here.Ino {
		return errInitialNamespace
	}
	return nil
}

// open makes the instruments.
func (r *reader) open() error {
	for i, k := range r.s.kinds {
		instrument, err := k.open(&r.s.spec, r.s.keys, &r.s.clock)
		switch {
		case err != nil && k.forgivable(err):
			r.s.without(k, err)
		case err != nil:
			return err
		default:
			r.instruments[i] = instrument
		}
	}
	return nil
}

// The shares of a round, in ns: an instrument looks up for so long, and is
// calibrated for so long. Both are below the 10 ms after which the Go runtime would
// interrupt the thread in the middle of a lookup (forcePreemptNS,
// runtime/proc.go); between turns it may have its way.
const (
	lookTurn  = 8_000_000
	blankTurn = 2_000_000
)

// round gives every instrument its turns.
func (r *reader) round(p *phase) error {
	for i, instrument := range r.instruments {
		if instrument == nil {
			continue
		}
		for _, blank := range []bool{false, true} {
			if p.ended.Load() != 0 {
				return nil
			}
			if err := r.turn(instrument, i, p, blank); err != nil {
				return fmt.Errorf("%s: %w", r.s.kinds[i].name, err)
			}
			runtime.Gosched()
		}
	}
	return nil
}

// turn gives one instrument the thread, and then checks what it was answered.
func (r *reader) turn(instrument instrument, i int, p *phase, blank bool) error {
	r.now = turn{clock: &r.s.clock, phase: p, blank: blank, sheet: r.sheets[i][p.stretch]}
	t := &r.now
	if !blank {
		t.witness = r.watched.witness
	}
	length, least := int64(lookTurn), int64(4) // lookups that a turn has room for
	if blank {
		length, least = blankTurn, 1
	}
	if r.s.spec.Rate > 0 {
		t.pace.rate = max(1, r.s.spec.Rate/int64(r.s.spec.Readers))
		length = max(length, least*1_000_000_000/t.pace.rate)
	}
	start := t.clock.Now()
	t.pace.start, t.until = start, start+length
	err := instrument.turn(t)
	t.sheet.busy[t.column()] += t.clock.Now() - start
	if r.s.oracle.timed.Load() {
		instrument.drain(r.keeps[i])
	} else {
		instrument.drain(r.checks[i])
	}
	return err
}

// maxPending bounds the answers that wait for the end: 40 MB for an instrument.
const maxPending = 1 << 20

// keep puts a report of instrument i off until all is known of when routes came
// and went.
func (r *reader) keep(i int) func(report) {
	return func(found report) {
		if len(r.pending[i]) == maxPending {
			r.s.lost(i, 1)
			return
		}
		r.pending[i] = append(r.pending[i], found)
	}
}

// check compares a report of instrument i with the oracle.
func (r *reader) check(i int) func(report) {
	return func(found report) {
		r.checked[i]++
		c := &r.s.clock
		answer := found.answer.unpack()
		answer.Bound = r.s.kinds[i].bound(&r.s.spec)
		err := r.s.oracle.Check(r.s.keys.At(found.key), answer, c.At(found.asked), c.At(found.answered))
		if err == nil {
			return
		}
		r.wrong[i]++
		var wrong *WrongAnswerError
		if r.first == nil && errors.As(err, &wrong) {
			wrong.Probe = r.s.kinds[i].name
			wrong.Asked, wrong.Answered = time.Duration(found.asked), time.Duration(found.answered)
			r.first = wrong
		}
	}
}

// close closes the instruments; their last answers are checked by then.
func (r *reader) close() error {
	var err error
	for i, instrument := range r.instruments {
		if instrument != nil {
			check := r.checks[i]
			for _, found := range r.pending[i] {
				check(found)
			}
			instrument.last(check)
			r.s.lost(i, instrument.unkept())
			err = errors.Join(err, instrument.close())
		}
	}
	return err
}

// openNamespace opens the calling thread's network namespace.
func openNamespace() (*os.File, error) {
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open the network namespace: %w", err)
	}
	return f, nil
}
