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

// A call takes about callTime: long enough that setting up the kernel's memory for
// the frames, which each call does, is nothing beside it.
const (
	callTime  = 50 * time.Millisecond
	maxFrames = 1 << 20 // to a call
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

// warmUp injects every flow's first packet, twice at least, and learns how many
// packets make a call.
func (i *injected) warmUp() error {
	start := time.Now()
	var sent int64
	for sent < 2*i.flows || sent < minFrames {
		n, err := i.injector.Inject(int(max(minFrames, min(maxFrames, i.flows))))
		if err != nil {
			return err
		}
		sent += n
		start, i.frames = time.Now(), i.fitting(n, time.Since(start))
	}
	return nil
}

// fitting is how many packets fill a call, where n took so long.
func (i *injected) fitting(n int64, took time.Duration) int {
	fit := float64(n) * float64(callTime) / float64(max(took, 1))
	return int(min(maxFrames, max(minFrames, fit)))
}

// inject injects for one stretch, and returns what the calls cost, whose requests are
// the packets.
func (i *injected) inject(witness rtnl.Witness) (total rtnl.Cost, err error) {
	var watch rtnl.Stopwatch
	watch.Calibrate()
	watch.Watch(witness)
	for end := time.Now().Add(i.duration); i.more(total.Requests, end); {
		frames := i.frames
		if i.packets > 0 {
			frames = int(min(int64(frames), i.packets-total.Requests))
		}
		watch.Start()
		n, err := i.injector.Inject(frames)
		cost := watch.Stop()
		cost.Requests = n
		total.Add(cost)
		if err != nil {
			return total, err
		}
	}
	return total, nil
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
