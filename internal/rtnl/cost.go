package rtnl

import (
	"time"

	"golang.org/x/sys/unix"
)

// A Cost is what calls took: wall time, and CPU time and context switches of the
// calling thread.
//
// Wall holds the calls and two reads of the monotonic clock. The CPU total is
// CLOCK_THREAD_CPUTIME_ID, exact to the nanosecond; its split into User and
// System is getrusage's, which on kernels with tick-based accounting is an
// estimate (cputime_adjust, kernel/sched/cputime.c). What the measurement itself
// adds to the CPU total (see Stopwatch.Calibrate) is left out.
type Cost struct {
	Calls, Requests                        int64
	Wall, User, System                     time.Duration
	VoluntarySwitches, InvoluntarySwitches int64
}

// Add adds d to c.
func (c *Cost) Add(d Cost) {
	c.Calls += d.Calls
	c.Requests += d.Requests
	c.Wall += d.Wall
	c.User += d.User
	c.System += d.System
	c.VoluntarySwitches += d.VoluntarySwitches
	c.InvoluntarySwitches += d.InvoluntarySwitches
}

// A Stopwatch measures system calls of the calling thread, one after the other.
// The zero value is ready; it allocates nothing.
type Stopwatch struct {
	before, after usage
	start         time.Time
	overhead      time.Duration // CPU time that a measurement of nothing shows
	witness       Witness
}

// Watch has Stop tell w of every measurement from now on, and nobody where w is nil.
func (s *Stopwatch) Watch(w Witness) { s.witness = w }

// Calibrate finds out how much CPU time the measurement itself adds, the least of
// several tries, which Stop then leaves out.
func (s *Stopwatch) Calibrate() {
	s.overhead = 0
	least := time.Duration(1<<63 - 1)
	for range 64 {
		s.Start()
		c := s.Stop()
		least = min(least, c.User+c.System)
	}
	s.overhead = least
}

// Start starts the clock, last of all.
func (s *Stopwatch) Start() {
	s.before.read()
	s.start = time.Now()
}

// Stop stops the clock, first of all, and returns the cost of one call.
func (s *Stopwatch) Stop() Cost {
	wall := time.Since(s.start)
	s.after.read()
	cpu := max(0, time.Duration(s.after.cpu.Nano()-s.before.cpu.Nano())-s.overhead)
	user := min(cpu, time.Duration(s.after.rusage.Utime.Nano()-s.before.rusage.Utime.Nano()))
	if s.witness != nil {
		s.witness.Timed(s.start, wall)
	}
	return Cost{
		Calls:               1,
		Wall:                wall,
		User:                user,
		System:              cpu - user,
		VoluntarySwitches:   s.after.rusage.Nvcsw - s.before.rusage.Nvcsw,
		InvoluntarySwitches: s.after.rusage.Nivcsw - s.before.rusage.Nivcsw,
	}
}

// A Witness is told of every measured stretch of time, on the measured thread, after
// its clock has stopped.
type Witness interface {
	Timed(start time.Time, wall time.Duration)
}

// A Watching is called on a thread that is about to be measured. The witness, unless
// it is nil, is for the thread's stopwatches; end is called on the same thread once
// they have stopped for good.
type Watching func() (witness Witness, end func() error, err error)

// Begin calls w; nobody watches where it is nil.
func (w Watching) Begin() (witness Witness, end func() error, err error) {
	if w == nil {
		return nil, func() error { return nil }, nil
	}
	return w()
}

// usage is the calling thread's use of the CPU at one moment.
type usage struct {
	cpu    unix.Timespec
	rusage unix.Rusage
}

// read reads the CPU clock first: that brings the thread's sum_exec_runtime,
// which getrusage reports, up to date (task_sched_runtime). Neither call can
// fail with these arguments.
func (u *usage) read() {
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &u.cpu)
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u.rusage)
}
