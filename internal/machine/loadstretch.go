package machine

import (
	"errors"
	"time"
)

// A Stretch is what the CPUs did between two snapshots.
type Stretch struct {
	wall time.Duration
	own  time.Duration // CPU time of this process
	stat cpuStat
	err  error
}

var errNoSnapshot = errors.New("no snapshot was taken")

// Stretch is that between an earlier snapshot and l.
func (l Load) Stretch(earlier Load) Stretch {
	err := errors.Join(earlier.err, l.err)
	if err == nil && (earlier.taken.IsZero() || l.taken.IsZero()) {
		err = errNoSnapshot
	}
	return Stretch{wall: l.taken.Sub(earlier.taken), own: l.own - earlier.own, stat: difference(l.stat, earlier.stat), err: err}
}

// otherCores is how many cores' worth of time others used, at least, as far as ticks
// counted them.
func (s Stretch) otherCores() float64 {
	if s.stat.busy < jiffySlack {
		return 0
	}
	busy := float64(s.stat.busy-jiffySlack) * float64(jiffy)
	return (busy - float64(s.own)) / float64(s.wall)
}

// mostCores is how many cores' worth of time was neither idle, nor withheld by the
// hypervisor, nor used by this process.
func (s Stretch) mostCores() float64 {
	idle := float64(s.stat.idle+s.stat.steal+jiffySlack) * float64(jiffy)
	return float64(s.stat.cpus) - (idle+float64(s.own))/float64(s.wall)
}
