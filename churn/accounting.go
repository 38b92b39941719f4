package churn

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fibchurn/internal/packets"
	"fibchurn/ns"
	"fibchurn/results"
)

// A sight is all counts of a run of forward at one moment.
type sight struct {
	frames      int64
	refused     map[string]int64
	good, wrong int64
	counters    packets.Counters
}

// look takes them, on the namespace's thread.
func (b *forwarding) look() (s sight, err error) {
	s = sight{
		frames: b.injector.Frames(), refused: b.injector.Refused(),
		good: b.sink.Good(), wrong: b.sink.Wrong(),
	}
	s.counters, err = packets.CountersHere()
	return s, err
}

// Where packets end that are not forwarded, by counter. The counters of a packet's
// fate exclude each other: each is where the kernel frees it.
func stackDrops(family int) []string {
	if family == 6 {
		return []string{
			"Ip6InHdrErrors", "Ip6InTooBigErrors", "Ip6InNoRoutes", "Ip6InAddrErrors", "Ip6InUnknownProtos",
			"Ip6InTruncatedPkts", "Ip6InDiscards", "Ip6InDelivers", "Ip6OutDiscards", "Ip6OutNoRoutes",
		}
	}
	return []string{
		"Ip InHdrErrors", "Ip InAddrErrors", "Ip InUnknownProtos", "Ip InDiscards", "Ip InDelivers",
		"Ip OutDiscards", "Ip OutNoRoutes", "Ip FragFails", "IpExt InNoRoutes", "IpExt InTruncatedPkts",
	}
}

// stackErrors counts the ICMP errors that the stack sent.
func stackErrors(family int, grown packets.Counters) (n int64) {
	names := []string{"Icmp OutDestUnreachs", "Icmp OutTimeExcds", "Icmp OutParmProbs", "Icmp OutRedirects"}
	if family == 6 {
		names = []string{"Icmp6OutDestUnreachs", "Icmp6OutPktTooBigs", "Icmp6OutTimeExcds", "Icmp6OutParmProblems", "Icmp6OutRedirects"}
	}
	for _, name := range names {
		n += grown[name]
	}
	return n
}

// stackCounters are how many packets the stack says it took and forwarded.
func stackCounters(family int) (received, forwarded string) {
	if family == 6 {
		return "Ip6InReceives", "Ip6OutForwDatagrams"
	}
	return "Ip InReceives", "Ip ForwDatagrams"
}

// deviceDrops are those of the links. What XDP sends and the other end of a veth does
// not take both ends count; what the stack sends, only the sender (veth_get_stats64,
// drivers/net/veth.c).
func deviceDrops(path string) []string {
	out, in := ns.NewLink("", lookupOut).Name, ns.NewLink("", lookupIn).Name
	if path == results.PathStack {
		return []string{in + " rx_dropped", out + " tx_dropped", out + "p rx_dropped"}
	}
	return []string{out + "p rx_dropped"}
}

// drops are the packets that were dropped between two sights, by reason.
func (b *forwarding) drops(before, after sight) (drops []results.Drop) {
	note := func(reason string, n int64) {
		if n != 0 {
			drops = append(drops, results.Drop{Reason: reason, Packets: n})
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(after.refused)) {
		note(reason, after.refused[reason]-before.refused[reason])
	}
	counters := deviceDrops(b.spec.Path)
	if b.spec.Path == results.PathStack {
		counters = append(stackDrops(b.spec.Families[0]), counters...)
	}
	grown := after.counters.Since(before.counters)
	for _, name := range counters {
		note(name, grown[name])
	}
	return drops
}

// settled waits until every packet since a sight has ended somewhere, which takes the
// softirq of the last burst at most, and says where.
func (b *forwarding) settled(before sight) (f results.Forwarding, after sight, err error) {
	const patience, pause = time.Second, time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		if after, err = b.look(); err != nil {
			return f, after, err
		}
		f = results.Forwarding{
			Injected: after.frames - before.frames, Forwarded: after.good - before.good,
			Drops: b.drops(before, after), Errors: stackErrors(b.spec.Families[0], after.counters.Since(before.counters)),
		}
		if f.Injected == f.Forwarded+f.Dropped() || time.Now().After(deadline) {
			return f, after, nil
		}
	}
}

// account says where the packets of a stretch ended. The checks are made in the end.
func (b *forwarding) account(name string, wall time.Duration, before sight) error {
	f, after, err := b.settled(before)
	if err != nil {
		return err
	}
	f.Stretch, f.Wall = name, wall.Nanoseconds()
	b.stretches = append(b.stretches, f)
	check := func(what string, want, got int64) {
		b.checks = append(b.checks, results.Check{Name: fmt.Sprintf("packets %s, %s", what, name), Want: want, Got: got})
	}
	check("forwarded or dropped for a reason", f.Injected, f.Forwarded+f.Dropped())
	check("forwarded with a wrong header", 0, after.wrong-before.wrong)
	if f.Forwarded == 0 {
		check("forwarded", f.Injected, 0)
	}
	if b.spec.Path == results.PathStack {
		received, forwarded := stackCounters(b.spec.Families[0])
		grown := after.counters.Since(before.counters)
		check("that the stack received ("+received+")", f.Injected, grown[received])
		sent := f.Forwarded
		for _, later := range slices.Concat(deviceDrops(b.spec.Path)[1:], []string{"Ip OutDiscards", "Ip6OutDiscards"}) {
			sent += grown[later]
		}
		check("that the stack forwarded ("+forwarded+")", sent, grown[forwarded])
	}
	return nil
}
