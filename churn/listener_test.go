package churn

import (
	"context"
	"testing"

	"fibchurn/results"
)

// listened makes one run of w that listeners watch.
func listened(t *testing.T, w Workload, spec ListenerSpec, families ...int) *results.Listeners {
	t.Helper()
	runner := &Runner{Observers: []Observer{&Listeners{ListenerSpec: spec, Families: families}}}
	run, err := runner.Run(context.Background(), w, 1)
	if err != nil {
		t.Fatal(err)
	}
	if run.Listeners == nil || run.Listeners.ReceiveBuffer <= 0 {
		t.Fatalf("%+v", run.Listeners)
	}
	return run.Listeners
}

// Every route that comes, changes or goes is one message to every listener, and
// what it did not get it lost: none is missing from the sum.
func TestListenersAccountForEveryMessage(t *testing.T) {
	for _, spec := range []ListenerSpec{{Listeners: 1}, {Listeners: 3}, {Listeners: 2, Slow: true}} {
		s := &RoutesSpec{TableSpec: tableSpec(t, 4), ListenerSpec: spec, Parallel: 1, ParallelIn: "table"}
		got := listened(t, s, spec, 4)
		// add, replace, delete and re-add; IPv4 tells nothing of a flush
		if want := int64(4 * 200 * spec.Listeners); got.Messages+got.Drops != want {
			t.Errorf("%+v: %d received and %d lost of %d", spec, got.Messages, got.Drops, want)
		}
		if got.Sockets != spec.Listeners || got.Slow != spec.Slow {
			t.Errorf("%+v: %+v", spec, got)
		}
		if spec.Slow && (got.Drops == 0 || got.Messages == 0) {
			t.Errorf("800 messages to a full buffer: %+v", got)
		}
	}
}

func TestListenersHearBothFamilies(t *testing.T) {
	spec := ListenerSpec{Listeners: 1}
	s := flapSpec(t, func(s *FlapSpec) { s.TableSpec, s.Rate = tableSpec(t, 4, 6), 1000 })
	run4 := listened(t, s, spec, 4)
	both := listened(t, s, spec, 4, 6)
	if run4.Messages+run4.Drops < 200 || both.Messages+both.Drops < 400 || both.Messages+both.Drops <= run4.Messages+run4.Drops {
		t.Errorf("IPv4 %+v, both %+v", run4, both)
	}
}

// An observer serves one run after the other.
func TestListenersServeSeveralRuns(t *testing.T) {
	spec := ListenerSpec{Listeners: 2}
	runner := &Runner{Observers: []Observer{&Listeners{ListenerSpec: spec, Families: []int{4}}}}
	for n := range 3 {
		run, err := runner.Run(context.Background(), addrsSpec(t, func(*AddrsSpec) {}), n+1)
		if err != nil {
			t.Fatal(err)
		}
		// A /24 is a prefix, a host and a broadcast route, here all added and removed.
		if l := run.Listeners; l.Messages+l.Drops != 2*2*3*60 {
			t.Errorf("run %d: %+v", n+1, l)
		}
	}
}
