package profile

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/monotonic"
	"fibchurn/internal/perfring"
)

// A source is the rings of one thread, or those of all CPUs, and the samples that
// came out of them.
type source struct {
	clock *monotonic.Clock
	rings []*perfring.Ring
	cpus  bool         // samples are of any thread, and their stacks begin with which
	left  func()       // releases the rings, once nobody uses them
	shut  func() error // closes the events

	waiting atomic.Int64 // len(pending), for those without the lock

	mu        sync.Mutex
	users     int  // of the rings: workers, and the profiler
	finished  bool // nothing more is taken
	workers   []*worker
	stacks    stacks
	pending   []sample  // of which it is not known yet whether they lie in a stretch; by time, nearly
	counts    [][]int64 // kept samples, by phase and stack
	lost      int64
	throttled int64
}

// A sample is one that the kernel took.
type sample struct {
	time  int64 // ns of CLOCK_MONOTONIC
	stack int32
	kept  uint64 // the phases it was counted for, bit by bit
}

// A stretch is a time that was measured, in ns of CLOCK_MONOTONIC.
type stretch struct{ start, end int64 }

func (s stretch) has(time int64) bool { return s.start <= time && time <= s.end }

// late is how much later than one of another CPU, in ns, a sample may come out of
// the rings at most: it is the time that the kernel takes to write one.
const late = 1_000_000

// A worker is a thread that works on one phase, and that phase's witness.
type worker struct {
	source *source
	phase  int
	ended  int64 // when its last stretch did
	// recent are its last stretches, and at the one to replace: a sample of another CPU
	// may come out of its ring only when a stretch that it lies in has ended.
	recent [16]stretch
	at     int
}

// Timed keeps the samples of a stretch of time.
func (w *worker) Timed(start time.Time, wall time.Duration) {
	s := w.source
	if !s.cpus && !s.rings[0].News() && s.waiting.Load() == 0 {
		return
	}
	from := w.source.clock.ToKernel(start)
	of := stretch{from, from + wall.Nanoseconds()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.read()
	s.keep(w, of)
	w.recent[w.at%len(w.recent)], w.ended = of, of.end
	w.at++
	s.decide()
}

// join adds a worker; leave takes it away, and reports whether it was the last.
func (s *source) join(phase int) *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &worker{source: s, phase: phase}
	s.users++
	s.workers = append(s.workers, w)
	return w
}

func (s *source) leave(w *worker) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.read()
	}
	s.workers = slices.DeleteFunc(s.workers, func(o *worker) bool { return o == w })
	s.decide()
	s.let()
	return len(s.workers) == 0
}

// finish ends the profiler's use: no more samples are kept. The rings stay as long as
// there are workers, which may be about to look at them.
func (s *source) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.finished = true
		s.let()
	}
}

// let is the end of a use. Whoever holds the lock calls it.
func (s *source) let() {
	if s.users--; s.users == 0 {
		s.left()
	}
}

// relieve empties rings that fill up in a stretch that goes on for long.
func (s *source) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished && slices.ContainsFunc(s.rings, (*perfring.Ring).Filling) {
		s.read()
	}
}

// read takes what has come out of the rings: nothing of it is kept yet but what lies
// in stretches that have ended meanwhile.
func (s *source) read() {
	old := len(s.pending)
	for _, r := range s.rings {
		r.Read(s.take)
	}
	added := s.pending[old:]
	if len(s.rings) > 1 {
		slices.SortFunc(added, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
	}
	for i := range added {
		for _, w := range s.workers {
			for _, of := range w.recent {
				if of.has(added[i].time) {
					s.count(&added[i], w.phase)
				}
			}
		}
	}
}

// take takes one record (enum perf_event_type, include/uapi/linux/perf_event.h).
func (s *source) take(kind uint32, _ uint16, body []byte) {
	switch kind {
	case unix.PERF_RECORD_SAMPLE: // ip, pid and tid, time, nr, ips[nr]
		if len(body) < 32 || len(s.workers) == 0 {
			return
		}
		var who uint64
		if s.cpus {
			who = uint64(binary.NativeEndian.Uint32(body[8:])) // the process
		}
		chain := body[32:]
		chain = chain[:min(uint64(len(chain)), 8*binary.NativeEndian.Uint64(body[24:]))]
		s.pending = append(s.pending, sample{
			time:  int64(binary.NativeEndian.Uint64(body[16:])),
			stack: s.stacks.add(who, chain),
		})
		s.waiting.Store(int64(len(s.pending))) // before the ring has no news any more
	case unix.PERF_RECORD_LOST: // id, lost
		if len(body) >= 16 {
			s.lost += int64(binary.NativeEndian.Uint64(body[8:]))
		}
	case unix.PERF_RECORD_THROTTLE:
		s.throttled++
	}
}

// keep counts the samples of a stretch.
func (s *source) keep(w *worker, of stretch) {
	for i := len(s.pending) - 1; i >= 0 && s.pending[i].time >= of.start-late; i-- {
		if of.has(s.pending[i].time) {
			s.count(&s.pending[i], w.phase)
		}
	}
}

// count counts a sample for a phase, once.
func (s *source) count(of *sample, phase int) {
	if of.kept&(1<<phase) != 0 {
		return
	}
	of.kept |= 1 << phase
	for len(s.counts) <= phase {
		s.counts = append(s.counts, nil)
	}
	counts := s.counts[phase]
	if missing := s.stacks.len() - len(counts); missing > 0 {
		counts = append(counts, make([]int64, missing)...)
		s.counts[phase] = counts
	}
	counts[of.stack]++
}

// decide drops the samples that no stretch to come can have: of every worker one
// that is later has ended.
func (s *source) decide() {
	until := int64(math.MaxInt64)
	for _, w := range s.workers {
		until = min(until, w.ended)
	}
	n := 0
	for n < len(s.pending) && s.pending[n].time <= until {
		n++
	}
	s.pending = append(s.pending[:0], s.pending[n:]...)
	s.waiting.Store(int64(len(s.pending)))
}
