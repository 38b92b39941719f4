package profile

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// open is a profiler that has begun a run, on a thread of the test's own.
func open(t *testing.T, hz int, scope string) *Profiler {
	t.Helper()
	netnstest.Root(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	p, err := Open(hz, scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Start(nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// cpuTime is that of the calling thread.
func cpuTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// The two loops differ in nothing but their names.

//go:noinline
func inside(cpu time.Duration) { burn(cpu) }

//go:noinline
func outside(cpu time.Duration) { burn(cpu) }

//go:noinline
func burn(cpu time.Duration) {
	for end := cpuTime() + cpu; cpuTime() < end; {
	}
}

// samplesOf counts the samples of a phase whose stack has the function.
func samplesOf(ph *results.PhaseProfile, function string) (n int64) {
	for _, s := range ph.Stacks {
		if strings.Contains(";"+s.Frames+";", function+"_[u];") {
			n += s.Samples
		}
	}
	return n
}

// stopped ends the run, and returns its profile.
func stopped(t *testing.T, p *Profiler) *results.Profile {
	t.Helper()
	var run results.Run
	if err := p.Stop(&run); err != nil {
		t.Fatal(err)
	}
	return run.Profile
}

// Only what the clock held is in the profile, of short stretches and of long ones, and
// in two phases that share a thread each has its own.
func TestOnlyTimedStretches(t *testing.T) {
	for _, scope := range []string{Thread, CPUs} {
		for _, length := range []time.Duration{100 * time.Microsecond, 300 * time.Millisecond} {
			t.Run(scope+" "+length.String(), func(t *testing.T) {
				p := open(t, 2000, scope)
				one, endOne, err := p.Phase("one")
				if err != nil {
					t.Fatal(err)
				}
				two, endTwo, err := p.Phase("two")
				if err != nil {
					t.Fatal(err)
				}
				const total = 600 * time.Millisecond
				var watch rtnl.Stopwatch
				var busy time.Duration
				for i := range int(total / length) {
					watch.Watch([]rtnl.Witness{one, two}[i%2])
					watch.Start()
					inside(length)
					cost := watch.Stop()
					busy += cost.User + cost.System
					outside(length)
				}
				for _, end := range []func() error{endTwo, endOne} {
					if err := end(); err != nil {
						t.Fatal(err)
					}
				}
				profile := stopped(t, p)
				var in, out, all int64
				for i, name := range []string{"one", "two"} {
					ph := &profile.Phases[i]
					if ph.Phase != name {
						t.Fatalf("phase %d is %s", i, ph.Phase)
					}
					half := samplesOf(ph, "profile.inside")
					if want := int64(busy.Seconds() * 2000 / 2); half < want*7/10 {
						t.Errorf("phase %s: %d samples inside of the clock, want some %d", name, half, want)
					}
					in, out, all = in+half, out+samplesOf(ph, "profile.outside"), all+ph.Samples
				}
				t.Logf("%d samples, %d of them inside, %d outside, %v on the CPU, %d lost", all, in, out, busy, profile.Lost)
				if out > 0 || profile.Lost > 0 {
					t.Errorf("%d samples of what was outside of the clock, %d lost", out, profile.Lost)
				}
			})
		}
	}
}

// A stretch longer than the rings are loses nothing.
func TestLongStretch(t *testing.T) {
	p := open(t, 5000, Thread)
	w, end, err := p.Phase("long")
	if err != nil {
		t.Fatal(err)
	}
	var watch rtnl.Stopwatch
	watch.Watch(w)
	watch.Start()
	inside(2 * time.Second)
	watch.Stop()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	profile := stopped(t, p)
	if n := samplesOf(&profile.Phases[0], "profile.inside"); n < 7000 || profile.Lost > 0 {
		t.Errorf("%d samples of 10000, %d lost", n, profile.Lost)
	}
}

// Nothing is allocated where no sample came.
func TestNoSampleCostsNothing(t *testing.T) {
	p := open(t, 10, Thread)
	w, end, err := p.Phase("x")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if n := testing.AllocsPerRun(100, func() { w.Timed(time.Now(), time.Microsecond) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A run that ends while threads are at work takes no more from them, and does not pull
// the memory from under them.
func TestStopDuringPhase(t *testing.T) {
	for _, scope := range []string{Thread, CPUs} {
		p := open(t, 2000, scope)
		w, end, err := p.Phase("x")
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		burn(50 * time.Millisecond)
		profile := stopped(t, p)
		w.Timed(started, time.Since(started))
		if err := end(); err != nil {
			t.Error(err)
		}
		if profile.Phases[0].Samples != 0 {
			t.Errorf("%s: %d samples of a stretch that had not ended", scope, profile.Phases[0].Samples)
		}
		if err := p.Start(nil); err != nil { // and another can begin
			t.Fatal(err)
		}
		stopped(t, p)
	}
}

// More than the kernel allows is not asked for, and that is said.
func TestRateLimit(t *testing.T) {
	netnstest.Root(t)
	most, err := sysctl("perf_event_max_sample_rate")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(most+1, Thread)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.hz != most || len(p.Notes()) != 1 || !strings.Contains(p.Notes()[0].Text, "perf_event_max_sample_rate") {
		t.Errorf("%d a second, notes %v", p.hz, p.Notes())
	}
}

// The reasons why there is no profile.
func TestRefused(t *testing.T) {
	for errno, want := range map[unix.Errno]string{
		unix.EACCES: "this user may not sample the kernel",
		unix.EPERM:  "this user may not sample the kernel",
		unix.ENOSYS: "this kernel has no perf events",
		unix.ENOENT: "neither a counter of cycles nor cpu-clock",
		unix.EINVAL: "perf_event_open(2): invalid argument",
	} {
		var unsupported *ns.UnsupportedError
		if err := refused(errno); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestStacks(t *testing.T) {
	var s stacks
	a, b := []byte("aaaaaaaabbbbbbbb"), []byte("aaaaaaaa")
	if s.add(0, a) != 0 || s.add(0, b) != 1 || s.add(1, b) != 2 || s.add(0, a) != 0 || s.add(1, b) != 2 || s.len() != 3 {
		t.Errorf("%v %v", s.words, s.ends)
	}
	if got := s.at(1); len(got) != 2 || got[1] != 0x6161616161616161 {
		t.Errorf("%x", got)
	}
}
