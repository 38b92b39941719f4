package profile

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A clock turns times of this process into CLOCK_MONOTONIC, of which samples have
// theirs.
type clock struct {
	epoch  time.Time
	offset int64 // CLOCK_MONOTONIC at the epoch, ns
}

// newClock reads both clocks, which are one that time.Time does not show, and takes
// the closest of some tries: right to some 20 ns.
func newClock() (*clock, error) {
	c := &clock{epoch: time.Now()}
	closest := time.Duration(math.MaxInt64)
	for range 64 {
		var t unix.Timespec
		before := time.Since(c.epoch)
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		after := time.Since(c.epoch)
		if err != nil {
			return nil, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
		}
		if took := after - before; took < closest {
			closest, c.offset = took, t.Nano()-(before+took/2).Nanoseconds()
		}
	}
	return c, nil
}

func (c *clock) at(t time.Time) int64 { return t.Sub(c.epoch).Nanoseconds() + c.offset }
