package churn

import (
	"fmt"
	"time"

	"fibchurn/internal/rtnl"
)

// chunk is how many requests are encoded at a time: some 1 MB, far more than a call
// takes.
const chunk = 16 << 10

// requestsPerCall is how many requests share a call unless the spec says otherwise.
const requestsPerCall = 256

// execute sends the phase's requests from the calling thread. walls is nil unless
// the phase keeps them.
func (ph *Phase) execute(c *rtnl.Conn) (cost rtnl.Cost, walls []time.Duration, err error) {
	if ph.Timed != nil {
		cost, err = ph.Timed(c)
		return cost, nil, err
	}
	opt := rtnl.Options{PerCall: ph.PerCall, Ack: ph.Ack}
	if ph.Each {
		walls = make([]time.Duration, ph.Ops)
	}
	step := ph.Ops
	if ph.PerCall > 0 {
		step = max(1, chunk/ph.PerCall) * ph.PerCall
	}
	var b rtnl.Batch
	for from := 0; from < ph.Ops; from += step {
		b.Reset()
		if err := ph.Fill(&b, from, min(ph.Ops, from+step)); err != nil {
			return cost, walls, err
		}
		if ph.Each {
			opt.Walls = walls[cost.Calls:]
		}
		out, err := c.Send(&b, opt)
		cost.Add(out.Cost)
		if err == nil && len(out.Failures) > 0 {
			err = fmt.Errorf("%s: %w", ph.Describe(from+out.Failures[0].Request), out.Err())
		}
		if err != nil {
			return cost, walls, err
		}
	}
	if ph.Each {
		walls = walls[:cost.Calls]
	}
	return cost, walls, nil
}
