package main

import (
	"context"
	"sync"
	"time"
)

// A runsPace is how runs came out of a boot, from which follows how long the run in
// flight may take.
type runsPace struct {
	mu      sync.Mutex
	last    time.Time // a run came; zero: none yet
	longest time.Duration
}

// came says that a run has come.
func (p *runsPace) came(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() {
		p.longest = max(p.longest, now.Sub(p.last))
	}
	p.last = now
}

// patience is how long a boot that is to stop waits for the run in flight: some times
// the longest so far, for a guest that hangs or is frozen sends none. Before the first
// run there is nothing that would be lost.
func (p *runsPace) patience(now time.Time) time.Duration {
	const times, least = 3, 5 * time.Second
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.IsZero() {
		return 0
	}
	return max(0, least+times*p.longest-now.Sub(p.last))
}

// hurried ends with abort, and after the end of stop and the pace's patience.
func (p *runsPace) hurried(stop, abort context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(abort)
	forget := context.AfterFunc(stop, func() {
		select {
		case <-time.After(p.patience(time.Now())):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		forget()
		cancel()
	}
}
