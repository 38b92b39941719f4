package lookup

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A clock counts ns since it was started. Reading it is one read of the monotonic
// clock in the vDSO.
type clock struct {
	epoch time.Time
	// offset is CLOCK_MONOTONIC, as the kernel's programs read it, at the epoch, and
	// doubt how far off it may be.
	offset, doubt int64
}

// startClock reads the two clocks around each other, and takes the closest of some
// tries.
func startClock() (clock, error) {
	c := clock{epoch: time.Now(), doubt: math.MaxInt64}
	for range 64 {
		var t unix.Timespec
		before := c.now()
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		after := c.now()
		if err != nil {
			return c, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
		}
		if doubt := (after - before + 1) / 2; doubt < c.doubt {
			c.offset, c.doubt = t.Nano()-(before+after)/2, doubt
		}
	}
	return c, nil
}

func (c *clock) now() int64 { return int64(time.Since(c.epoch)) }

// at turns a reading into a time that compares with others of the process.
func (c *clock) at(ns int64) time.Time { return c.epoch.Add(time.Duration(ns)) }

// fromKernel turns a reading of bpf_ktime_get_ns into one of this clock.
func (c *clock) fromKernel(ns int64) int64 { return ns - c.offset }
