package churn

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// occupy uses the CPU of that number for so long, from a thread of its own that may use
// no other and dies with it.
func occupy(cpu int, long time.Duration, done chan<- error) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	err := unix.SchedSetaffinity(0, &set)
	for began := time.Now(); err == nil && time.Since(began) < long; {
	}
	done <- err
}

// Two threads that want one CPU wait for each other half of the time.
func TestRunDelay(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	d := &runDelays{}
	if err := d.Start(nil); err != nil {
		t.Fatal(err)
	}
	const long = 300 * time.Millisecond
	done := make(chan error, 2)
	go occupy(cpu, long, done)
	go func() {
		runtime.LockOSThread()
		_, end, err := d.Phase("phase")
		if err != nil {
			done <- err
			return
		}
		inner := make(chan error, 1)
		occupy(cpu, long, inner)
		done <- errors.Join(<-inner, end())
	}()
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	run := results.Run{Phases: []results.Phase{{Name: "phase"}, {Name: "other"}}}
	if err := d.Stop(&run); err != nil {
		t.Fatal(err)
	}
	delay := time.Duration(run.Phases[0].RunDelay)
	t.Log(delay)
	if delay < long/10 || run.Phases[1].RunDelay != 0 {
		t.Errorf("%+v after %v on a shared CPU", run.Phases, long)
	}
}

// A told is an observer that notes what it is told.
type told struct {
	fail error
	log  *[]string
	name string
}

func (o told) Start(*ns.Namespace) error {
	*o.log = append(*o.log, o.name+" start")
	return o.fail
}

func (o told) Stop(*results.Run) error {
	*o.log = append(*o.log, o.name+" stop")
	return nil
}

func (o told) Phase(phase string) (rtnl.Witness, func() error, error) {
	*o.log = append(*o.log, o.name+" "+phase)
	return o, func() error { *o.log = append(*o.log, o.name+" end"); return nil }, nil
}

func (o told) Timed(time.Time, time.Duration) { *o.log = append(*o.log, o.name+" timed") }

// All are told, and where one cannot start none goes on.
func TestTogether(t *testing.T) {
	var log []string
	all := Together{told{name: "a", log: &log}, told{name: "b", log: &log}}
	if err := all.Start(nil); err != nil {
		t.Fatal(err)
	}
	witness, end, err := all.Phase("phase")
	if err != nil {
		t.Fatal(err)
	}
	witness.Timed(time.Time{}, 0)
	if err := errors.Join(end(), all.Stop(&results.Run{})); err != nil {
		t.Fatal(err)
	}
	want := "[a start b start a phase b phase a timed b timed b end a end a stop b stop]"
	if got := "[" + strings.Join(log, " ") + "]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	log = nil
	broken := errors.New("broken")
	all[1] = told{name: "b", log: &log, fail: broken}
	if err := all.Start(nil); !errors.Is(err, broken) || strings.Join(log, " ") != "a start b start a stop" {
		t.Errorf("%v after %v", err, log)
	}
}
