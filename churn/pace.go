package churn

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// spin is how long before its time a pace stops sleeping and watches the clock:
// longer than a timer is late on an idle machine, so that this lateness is not
// taken for the kernel's.
const spin = 60 * time.Microsecond

// A pace is an open loop: operation i is due at start + i/rate, however long those
// before it took. A rate of 0 is a closed loop, in which every operation is due at
// once. It allocates nothing.
type pace struct {
	start time.Time
	rate  int64 // operations a second
}

// newPace starts a pace on the calling thread.
func newPace(rate int) (pace, error) {
	if rate > 0 { // by default a thread's timers may be 50 us late
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			return pace{}, fmt.Errorf("set the timer slack: %w", err)
		}
	}
	return pace{start: time.Now(), rate: int64(rate)}, nil
}

// due is when operation i is due; in a closed loop, now.
func (p *pace) due(i int64, now time.Time) time.Time {
	if p.rate == 0 {
		return now
	}
	const second = int64(time.Second)
	return p.start.Add(time.Duration(i/p.rate*second + i%p.rate*second/p.rate))
}

// wait returns at due, or at once where that is past.
func (p *pace) wait(due time.Time) {
	for {
		left := time.Until(due)
		if left <= 0 {
			return
		}
		if left > spin {
			t := unix.NsecToTimespec(int64(left - spin))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil) // a signal cuts it short: then again
		}
	}
}
