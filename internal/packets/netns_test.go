package packets

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

func hardware(i byte) net.HardwareAddr { return net.HardwareAddr{2, 0xfc, 0, 0, i, 1} }

// A bench is a namespace with a veth that datagrams go out of, fc0, and one that they
// come in by, fc1, and a route to every flow but those of the last octet 255.
type bench struct {
	n       *ns.Namespace
	c       *rtnl.Conn
	in, out Port
	next    netip.Addr
	source  netip.Addr
	flows   []netip.Addr
}

func newBench(t testing.TB, family int) *bench {
	t.Helper()
	n, c := netnstest.New(t)
	out, in := ns.NewLink("veth", 0), ns.NewLink("veth", 1)
	b := &bench{n: n, c: c, in: Port{in.Index, hardware(2)}, out: Port{out.Index, hardware(3)}}
	for name, value := range map[string]string{
		"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1",
		"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0",
		"net.ipv6.conf.default.addr_gen_mode": "1",
	} {
		if err := n.SetSysctl(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var r rtnl.Batch
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(out.Create(&r))
	must(in.Create(&r))
	must(r.SetHardware(out.Index, b.out.Address))
	must(r.SetHardware(in.Index, b.in.Address))
	must(out.BringUp(&r))
	must(in.BringUp(&r))
	gateway, prefix := "198.19.255.254", "10.0.0.0/16"
	b.source = netip.MustParseAddr("198.19.255.1")
	if family == 6 {
		gateway, prefix = "fe80::1", "2001:db8::/32"
		b.source = netip.MustParseAddr("2001:2:0:ffff::1")
	}
	b.next = netip.MustParseAddr(gateway)
	must(r.NewNeighbour(out.Index, b.next, hardware(9)))
	route := func(p string, via netip.Addr) {
		t.Helper()
		tmpl, err := rtnl.NewRoute(rtnl.Route{Family: family, Table: unix.RT_TABLE_MAIN, Index: out.Index, Gateway: via})
		must(err)
		r.AppendPrefix(tmpl, netip.MustParsePrefix(p))
	}
	if family == 4 {
		route(gateway+"/32", netip.Addr{})
	}
	route(prefix, b.next)
	sent, err := c.Send(&r, rtnl.Options{Ack: rtnl.AckAll})
	if err == nil {
		err = sent.Err()
	}
	must(err)
	for i := range 100 {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i), 7})
		if family == 6 {
			a = netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::7", i))
		}
		b.flows = append(b.flows, a)
	}
	return b
}

// on runs f on the namespace's thread, with an injector and a sink.
func (b *bench) on(t testing.TB, change func(*Datagram), f func(*Injector, *Sink) error) {
	t.Helper()
	d := Datagram{Fate: Stack, Source: b.source, Flows: b.flows, In: b.in, Out: b.out, Next: hardware(9)}
	change(&d)
	err := b.n.Do(func() error {
		var set unix.CPUSet
		set.Set(runtime.NumCPU() - 1)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err
		}
		i, err := OpenDatagrams(d)
		if err != nil {
			return err
		}
		defer i.Close()
		s, err := OpenSink(ns.NewLink("veth", 0).Peer(), i, hardware(9))
		if err != nil {
			return err
		}
		defer s.Close()
		return f(i, s)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// injectAll injects so many frames, in as many calls as it takes: the runtime's own
// signals end a call early.
func injectAll(i *Injector, frames int64) error {
	for left := frames; left > 0; {
		n, _, err := i.Inject(int(left))
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// Frames are forwarded by every way, and the sink counts them: all, and right.
func TestInject(t *testing.T) {
	for _, family := range []int{4, 6} {
		for _, fate := range []string{Stack, Lookup, Direct, Redirect} {
			t.Run(fmt.Sprintf("IPv%d/%s", family, fate), func(t *testing.T) {
				b := newBench(t, family)
				b.on(t, func(d *Datagram) { d.Fate = fate }, func(i *Injector, s *Sink) error {
					const frames = 10_001 // not all calls are of whole bursts
					err := injectAll(i, frames)
					for end := time.Now().Add(time.Second); err == nil && s.Good() < frames && time.Now().Before(end); {
						time.Sleep(time.Millisecond)
					}
					if err != nil || i.Frames() != frames || s.Good() != frames || s.Wrong() != 0 {
						t.Errorf("%v, %d frames, %d good, %d wrong, %d other, refused %v", err, i.Frames(), s.Good(), s.Wrong(), s.Other(), i.Refused())
					}
					return nil
				})
			})
		}
	}
}

// Frames that come as the last forwarding left them are not good; not one of them is
// counted as such but those that the kernel made anew.
func TestInjectStale(t *testing.T) {
	for _, family := range []int{4, 6} {
		b := newBench(t, family)
		b.on(t, func(d *Datagram) { d.Fate, d.Stale = Redirect, true }, func(i *Injector, s *Sink) error {
			const frames = 10_000
			if err := injectAll(i, frames); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
			if s.Good() > 4*DefaultBurst || s.Wrong() < frames/2 {
				t.Errorf("IPv%d: %d good, %d wrong", family, s.Good(), s.Wrong())
			}
			return nil
		})
	}
}

// The time of the frames is less than that of the calls, which wait for grace periods,
// and grows with their number.
func TestInjectTimes(t *testing.T) {
	b := newBench(t, 4)
	b.on(t, func(d *Datagram) { d.Fate = Redirect }, func(i *Injector, s *Sink) error {
		start := time.Now()
		n, few, err := i.Inject(20_000)
		if elapsed := time.Since(start); err != nil || few <= 0 || few >= elapsed {
			t.Errorf("%v, %d frames in %v of %v", err, n, few, elapsed)
		}
		if n, none, err := i.Inject(1); err != nil || n != 1 || none != 0 {
			t.Errorf("%v, %d frames in %v: one frame has no time", err, n, none)
		}
		return nil
	})
}

// A destination without a route is refused by the helper, which says so.
func TestInjectRefused(t *testing.T) {
	b := newBench(t, 4)
	flows := []netip.Addr{b.flows[0], netip.MustParseAddr("203.0.113.1")}
	b.on(t, func(d *Datagram) { d.Fate, d.Flows = Lookup, flows }, func(i *Injector, s *Sink) error {
		if err := injectAll(i, 1000); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
		if got := i.Refused()["bpf_fib_lookup: not forwarded (no route, or local)"]; got != 500 || s.Good() != 500 {
			t.Errorf("%d refused, %d good: want 500 each", got, s.Good())
		}
		return nil
	})
}

// Whether frames can be injected is found out by injecting some.
func TestProbe(t *testing.T) {
	n, _ := netnstest.New(t)
	if err := n.Do(Probe); err != nil {
		t.Error(err)
	}
}
