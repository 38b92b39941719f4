// Package monotonic reads the clock that the kernel stamps its samples with, and
// Go hides in time.Time: CLOCK_MONOTONIC.
package monotonic

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A Clock counts ns since it was started. Reading it is one read of the monotonic
// clock in the vDSO.
type Clock struct {
	epoch time.Time
	// offset is CLOCK_MONOTONIC, as the kernel's programs read it, at the epoch, and
	// doubt how far off it may be.
	offset, doubt int64
}

// Start reads the two clocks around each other, and takes the closest of some
// tries: right to some 20 ns.
func Start() (Clock, error) {
	c := Clock{epoch: time.Now(), doubt: math.MaxInt64}
	for range 64 {
		var t unix.Timespec
		before := c.Now()
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		after := c.Now()
		if err != nil {
			return c, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
		}
		if doubt := (after - before + 1) / 2; doubt < c.doubt {
			c.offset, c.doubt = t.Nano()-(before+after)/2, doubt
		}
	}
	return c, nil
}

// Now is the time since the start in ns.
func (c *Clock) Now() int64 { return int64(time.Since(c.epoch)) }

// At turns a reading into a time that compares with others of the process.
func (c *Clock) At(ns int64) time.Time { return c.epoch.Add(time.Duration(ns)) }

// FromKernel turns a reading of bpf_ktime_get_ns into one of this clock.
func (c *Clock) FromKernel(ns int64) int64 { return ns - c.offset }

// ToKernel turns a time of this process into ns of CLOCK_MONOTONIC.
func (c *Clock) ToKernel(t time.Time) int64 { return int64(t.Sub(c.epoch)) + c.offset }

// Doubt is how far off, in ns, what FromKernel and ToKernel say may be.
func (c *Clock) Doubt() int64 { return c.doubt }
