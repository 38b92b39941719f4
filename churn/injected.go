package churn

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/packets"
	"fibchurn/internal/rtnl"
)

// An injected is an injector at work in a run, on the namespace's thread.
type injected struct {
	injector *packets.Injector
	flows    int64
	packets  int64         // to inject in a stretch, or 0
	duration time.Duration // of a stretch, where that is 0
	stop     <-chan struct{}

	cpu    int  // that the thread stays on
	frames int  // to a call
	cut    bool // a stretch was ended early
}

// The frames of a call take about callTime: long enough that what each call does for
// itself, such as setting up memory for the frames, is nothing beside it in CPU time.
const (
	callTime  = 100 * time.Millisecond
	maxFrames = 1 << 22 // to a call
	minFrames = 1 << 10
)

// pin keeps the calling thread on the last of the CPUs that it may run on, which is
// the least likely to serve interrupts. Frames are received where they are injected.
func (i *injected) pin() error {
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("find out which CPUs there are: %w", err)
	}
	i.cpu = -1
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			i.cpu = cpu
		}
	}
	one.Set(i.cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("stay on CPU %d: %w", i.cpu, err)
	}
	runtime.Gosched()
	return nil
}

// warmUp injects every flow's packets, twice at least, and learns how many packets
// make a call.
func (i *injected) warmUp() error {
	var sent int64
	for sent < 2*i.flows || i.frames == 0 {
		n, took, err := i.injector.Inject(int(max(minFrames, min(maxFrames, i.flows))))
		if err != nil {
			return err
		}
		sent += n
		if took > 0 {
			fit := float64(n) * float64(callTime) / float64(took)
			i.frames = int(min(maxFrames, max(minFrames, fit)))
		}
	}
	return nil
}

// inject injects for one stretch, and returns what the calls cost, whose requests are
// the packets, and how long these took.
func (i *injected) inject(witness rtnl.Witness) (total rtnl.Cost, took time.Duration, err error) {
	var watch rtnl.Stopwatch
	watch.Calibrate()
	watch.Watch(witness)
	timed := int64(0)
	for end := time.Now().Add(i.duration); i.more(total.Requests, end); {
		frames := i.frames
		if i.packets > 0 {
			frames = int(min(int64(frames), i.packets-total.Requests))
		}
		watch.Start()
		n, t, err := i.injector.Inject(frames)
		cost := watch.Stop()
		cost.Requests = n
		total.Add(cost)
		if err != nil {
			return total, 0, err
		}
		if t > 0 {
			took, timed = took+t, timed+n
		}
	}
	if timed > 0 && timed < total.Requests { // a call of too few packets to be timed
		took = time.Duration(float64(took) * float64(total.Requests) / float64(timed))
	}
	return total, took, nil
}

// more reports whether there is more to inject.
func (i *injected) more(sent int64, end time.Time) bool {
	select {
	case <-i.stop:
		i.cut = true
		return false
	default:
	}
	if i.packets > 0 {
		return sent < i.packets
	}
	return time.Now().Before(end)
}
