package profile

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
)

// At the default rate profiling adds at most 3 % to a phase. What it adds is
// proportional to the rate, and measured at one at which it shows: the same routes are
// added and removed in turn with and without, in CPU time, which others on the machine
// leave alone.
func TestOverhead(t *testing.T) {
	const rate, most, rounds = 4999, 0.03, 16
	n, c := netnstest.New(t)
	link := netnstest.Link(t, c)
	var batches []*rtnl.Batch
	for _, template := range []func(rtnl.Route) (*rtnl.Template, error){rtnl.NewRoute, rtnl.DelRoute} {
		r, err := template(rtnl.Route{Family: 4, Index: link.Index})
		if err != nil {
			t.Fatal(err)
		}
		b := &rtnl.Batch{}
		for i := range 4096 {
			b.AppendPrefix(r, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24))
		}
		batches = append(batches, b)
	}
	work := func() (cpu time.Duration) {
		for range 4 {
			for _, b := range batches {
				out, err := c.Send(b, rtnl.Options{PerCall: 256})
				if err == nil {
					err = out.Err()
				}
				if err != nil {
					t.Error(err)
				}
				cpu += out.Cost.User + out.Cost.System
			}
		}
		return cpu
	}
	p, err := Open(rate, Thread)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Start(n); err != nil {
		t.Fatal(err)
	}
	var added []float64
	err = n.Do(func() error {
		profiled := func() (cpu time.Duration) {
			w, end, err := p.Phase("work")
			if err != nil {
				t.Error(err)
				return 0
			}
			c.SetWitness(w)
			cpu = work()
			c.SetWitness(nil)
			if err := end(); err != nil {
				t.Error(err)
			}
			return cpu
		}
		work()
		for range rounds {
			before, with, again, after := work(), profiled(), profiled(), work()
			added = append(added, float64(with+again)/float64(before+after)-1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	samples := stopped(t, p).Phases[0].Samples
	slices.Sort(added)
	at := added[len(added)/2] * DefaultHz / rate
	t.Logf("%d samples at %d a second added %.1f %% in the median, so %d add %.2f %%", samples, rate, 100*added[len(added)/2], DefaultHz, 100*at)
	if samples < 1000 {
		t.Error("too few samples to tell")
	}
	if at > most {
		t.Errorf("%.1f %% at the default rate, want %.0f %% at most", 100*at, 100*most)
	}
}
