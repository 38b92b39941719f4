package churn

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/packets"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A forwarding is one run of forward: what its packets go through, and what became of
// them.
type forwarding struct {
	injected
	spec  *ForwardSpec
	churn *lookupChurn
	n     *ns.Namespace

	sink *packets.Sink // at the other end of the outgoing link
	back *packets.Sink // at that of the incoming

	stretches []results.Forwarding
	checks    []results.Check
}

// Link addresses, locally administered. What is at the other end of the outgoing link
// begins with the same four bytes.
func inAddress() net.HardwareAddr        { return net.HardwareAddr{2, 0xfc, 0, 1, 0, 1} }
func outAddress() net.HardwareAddr       { return net.HardwareAddr{2, 0xfc, 0, 2, 0, 1} }
func hopAddress(i byte) net.HardwareAddr { return net.HardwareAddr{2, 0xfc, 0, 3, 0, 1 + i} }
func sourceAddress() net.HardwareAddr    { return net.HardwareAddr{2, 0xfc, 0, 4, 0, 1} }
func senderOf(family int) (a netip.Addr) {
	if family == 6 {
		return netip.MustParseAddr("2001:2:0:ffff::1") // RFC 5180
	}
	return netip.MustParseAddr("198.19.255.1") // RFC 2544
}

func (b *forwarding) configure(n *ns.Namespace) error {
	b.n = n
	if err := b.spec.configure(n); err != nil {
		return err
	}
	return routerSysctls(n, b.spec.Families[0])
}

// silence takes IPv6 from the other ends of links, where frames do no more than end:
// it would send reports of its own. It is called on the namespace's thread.
func silence(links ...ns.Link) error {
	for _, l := range links {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+l.Name+"p/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // no such end, or no IPv6
			return fmt.Errorf("take IPv6 from the other end of %s: %w", l.Name, err)
		}
	}
	return nil
}

// address gives the links their addresses.
func (b *forwarding) address(c *rtnl.Conn) (rtnl.Cost, error) {
	if err := silence(ns.NewLink("", lookupOut), ns.NewLink("", lookupIn)); err != nil {
		return rtnl.Cost{}, err
	}
	return rtnl.Cost{}, request(c, "set link addresses", func(r *rtnl.Batch) error {
		if err := r.SetHardware(LookupOut(), outAddress()); err != nil {
			return err
		}
		return r.SetHardware(LookupIn(), inAddress())
	})
}

// connect says who is at the other ends of the links, so that nobody is ever asked:
// the next hops, and the sender.
func (b *forwarding) connect(c *rtnl.Conn) (rtnl.Cost, error) {
	family := b.spec.Families[0]
	return rtnl.Cost{}, request(c, "set next hops and neighbours", func(r *rtnl.Batch) error {
		for i, hop := range hopsOf(family) {
			if err := r.NewNeighbour(hop.Index, hop.Gateway, hopAddress(byte(i))); err != nil {
				return err
			}
			if family == 6 {
				continue // link-local
			}
			if err := appendHostRoute(r, hop.Gateway, hop.Index); err != nil {
				return err
			}
		}
		if err := r.NewNeighbour(LookupIn(), senderOf(family), sourceAddress()); err != nil {
			return err
		}
		return appendHostRoute(r, senderOf(family), LookupIn())
	})
}

// appendHostRoute appends a route to one address on a link.
func appendHostRoute(r *rtnl.Batch, to netip.Addr, index uint32) error {
	family := 4
	if to.Is6() {
		family = 6
	}
	t, err := rtnl.NewRoute(rtnl.Route{Family: family, Table: unix.RT_TABLE_MAIN, Index: index})
	if err == nil {
		r.AppendPrefix(t, netip.PrefixFrom(to, to.BitLen()))
	}
	return err
}

// request sends the requests that fill appends.
func request(c *rtnl.Conn, what string, fill func(*rtnl.Batch) error) error {
	var r rtnl.Batch
	if err := fill(&r); err != nil {
		return err
	}
	out, err := c.Send(&r, rtnl.Options{Ack: rtnl.AckAll})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// fates are what an injector does with the packets of each path.
func fates() map[string]string {
	return map[string]string{
		results.PathStack: packets.Stack, results.PathLookup: packets.Lookup,
		results.PathDirect: packets.Direct, results.PathRedirect: packets.Redirect,
	}
}

// open loads the programs on the namespace's thread, keeps it on one CPU and makes
// every flow's first packet.
func (b *forwarding) open(*rtnl.Conn) (cost rtnl.Cost, err error) {
	s := b.spec
	if err = b.pin(); err != nil {
		return cost, err
	}
	b.injector, err = packets.OpenDatagrams(packets.Datagram{
		Fate: fates()[s.Path], Source: senderOf(s.Families[0]), Flows: s.Flows,
		In:   packets.Port{Index: LookupIn(), Address: inAddress()},
		Out:  packets.Port{Index: LookupOut(), Address: outAddress()},
		Next: hopAddress(0), Burst: s.Burst, Stale: s.stale,
	})
	if err != nil {
		return cost, err
	}
	out, in := ns.NewLink(s.LinkKind, lookupOut), ns.NewLink(s.LinkKind, lookupIn)
	if b.sink, err = packets.OpenSink(out.Peer(), b.injector, hopAddress(0)); err != nil {
		return cost, err
	}
	if b.back, err = packets.OpenSink(in.Peer(), b.injector, sourceAddress()); err != nil {
		return cost, err
	}
	before, err := b.look()
	if err != nil {
		return cost, err
	}
	if err = b.warmUp(); err != nil {
		return cost, err
	}
	_, _, err = b.settled(before) // else the last of them would be counted with the first stretch
	return cost, err
}

func (b *forwarding) close() error {
	b.sink.Close()
	b.back.Close()
	b.injector.Close()
	return nil
}

// phases are the stretches. That during which something churns is the injecting
// thread's; what the churn's own calls took is in two more.
func (b *forwarding) phases() []*Phase {
	f := b.churn.flapper
	if f == nil {
		return []*Phase{{Name: "rest", Timed: b.stretch("rest")}}
	}
	during := b.stretch("during")
	phases := []*Phase{
		{Name: "before", Timed: b.stretch("before")},
		{Name: "during", Timed: func(c *rtnl.Conn) (rtnl.Cost, error) {
			if b.cut {
				return rtnl.Cost{}, nil
			}
			wait, err := b.disturb()
			if err != nil {
				return rtnl.Cost{}, err
			}
			cost, err := during(c)
			return cost, errors.Join(err, wait())
		}},
	}
	for i, name := range b.churn.names {
		phases = append(phases, &Phase{
			Name: name, Times: f.tallies[i].distribution,
			Timed: func(*rtnl.Conn) (rtnl.Cost, error) { return f.tallies[i].cost, nil },
		})
	}
	return append(phases, &Phase{Name: "after", Timed: b.stretch("after")})
}

// disturb has the churn begin on a thread and a socket of its own; wait returns when
// it has ended.
func (b *forwarding) disturb() (wait func() error, err error) {
	c, err := b.n.Dial()
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread, whose timer slack has changed, ends with it
		done <- b.churn.flapper.run(c, b.stop)
	}()
	return func() error { return errors.Join(<-done, c.Close()) }, nil
}

// stretch forwards for one stretch, and accounts for its packets.
func (b *forwarding) stretch(name string) func(*rtnl.Conn) (rtnl.Cost, error) {
	return func(c *rtnl.Conn) (cost rtnl.Cost, err error) {
		if b.cut {
			return cost, nil
		}
		before, err := b.look()
		if err != nil {
			return cost, err
		}
		cost, took, err := b.inject(c.Witness())
		if err != nil {
			return cost, err
		}
		return cost, b.account(name, took, before)
	}
}

// record says what became of the packets.
func (b *forwarding) record(run *results.Run, _ []time.Duration) {
	s := b.spec
	run.Forward = &results.Forward{
		Path: s.Path, Family: s.Families[0], Flows: b.flows, Burst: s.Burst, CPU: b.cpu, Stretches: b.stretches,
	}
	for _, st := range b.stretches {
		if st.Stretch != "during" && st.Dropped() > 0 {
			run.Warnings = append(run.Warnings, results.Warning{Kind: "drops", Text: fmt.Sprintf(
				"%d of %d packets were dropped while nothing churned", st.Dropped(), st.Injected)})
		}
	}
	run.Partial = b.cut
	if f := b.churn.flapper; f != nil {
		f.record(run)
		run.Churn, run.Flap = &results.Churn{Under: s.Under, Flap: *run.Flap}, nil
		run.Partial = run.Partial || f.stopped
	}
}
