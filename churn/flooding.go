package churn

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/packets"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A flooding is one run of flood.
type flooding struct {
	injected
	spec   *FloodSpec
	socket int
	result results.Flood
	checks []results.Check
}

// floodLink is the link that SYNs come in by and answers go out of.
func floodLink() ns.Link { return ns.NewLink("", 0) }

func (f *flooding) configure(n *ns.Namespace) error {
	table := TableSpec{Families: f.spec.Families, Rules: f.spec.Rules}
	if err := table.configure(n); err != nil {
		return err
	}
	for _, name := range []string{"net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter"} {
		if err := n.SetSysctl(name, "0"); err != nil {
			return err
		}
	}
	const always = "2" // of both families, also while the queue has room
	err := n.SetSysctl("net.ipv4.tcp_syncookies", always)
	if errors.Is(err, fs.ErrNotExist) {
		return &ns.UnsupportedError{What: "SYN cookies", Why: "the kernel has none", Help: "use a kernel with CONFIG_SYN_COOKIES"}
	}
	return err
}

// connect gives the link the address that is flooded, and a route to all sources.
func (f *flooding) connect(c *rtnl.Conn) (rtnl.Cost, error) {
	family, index := f.spec.Families[0], floodLink().Index
	hop, sources := hopsOf(family)[0].Gateway, netip.MustParsePrefix("10.0.0.0/8")
	if family == 6 {
		sources = netip.MustParsePrefix("2001:db8::/32")
	}
	return rtnl.Cost{}, request(c, "set the address and routes", func(r *rtnl.Batch) error {
		local := floodTarget(family).Addr()
		address, err := rtnl.NewAddress(family, index)
		if err != nil {
			return err
		}
		r.AppendPrefix(address, netip.PrefixFrom(local, local.BitLen()))
		if err := r.NewNeighbour(index, hop, hopAddress(0)); err != nil {
			return err
		}
		if family == 4 {
			if err := appendHostRoute(r, hop, index); err != nil {
				return err
			}
		}
		t, err := rtnl.NewRoute(rtnl.Route{Family: family, Table: unix.RT_TABLE_MAIN, Index: index, Gateway: hop})
		if err == nil {
			r.AppendPrefix(t, sources)
		}
		return err
	})
}

// open listens, loads the injector, and warms up.
func (f *flooding) open(*rtnl.Conn) (cost rtnl.Cost, err error) {
	s, family := f.spec, f.spec.Families[0]
	if err := f.pin(); err != nil {
		return cost, err
	}
	if !s.deaf {
		if f.socket, err = listenTCP(floodTarget(family)); err != nil {
			return cost, err
		}
	}
	sources := make([]netip.Addr, s.FlowCount)
	for i := range sources {
		sources[i] = floodSource(family, i)
	}
	// Not every driver lets its address be set.
	link, err := net.InterfaceByIndex(int(floodLink().Index))
	if err != nil {
		return cost, fmt.Errorf("find out the link address of %s: %w", floodLink().Name, err)
	}
	f.injector, err = packets.OpenSYNs(packets.SYN{
		To: floodTarget(family), Flows: sources, Burst: s.Burst,
		In: packets.Port{Index: floodLink().Index, Address: link.HardwareAddr},
	})
	if err != nil {
		return cost, err
	}
	return cost, f.warmUp()
}

// listenTCP listens in the calling thread's network namespace.
func listenTCP(at netip.AddrPort) (fd int, err error) {
	domain, address := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(at.Port()), Addr: [4]byte(at.Addr().AsSlice()[:4])})
	if at.Addr().Is6() {
		domain, address = unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	fd, err = unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, fmt.Errorf("make a TCP socket: %w", err)
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.Listen(fd, floodBacklog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", at, err)
	}
	return fd, nil
}

// flood is the phase: SYNs for its time, and where each of them went.
func (f *flooding) flood(c *rtnl.Conn) (cost rtnl.Cost, err error) {
	before, err := packets.CountersHere()
	if err != nil {
		return cost, err
	}
	cost, took, err := f.inject(c.Witness())
	if err != nil {
		return cost, err
	}
	after, err := packets.CountersHere()
	if err != nil {
		return cost, err
	}
	f.account(cost.Requests, took, after.Since(before))
	return cost, nil
}

// account says where every SYN went: into a cookie, or where the kernel counts those
// that it drops. All of it happens inside the calls.
func (f *flooding) account(injected int64, took time.Duration, grown packets.Counters) {
	s, family := f.spec, f.spec.Families[0]
	f.result = results.Flood{
		Family: family, Flows: f.flows, Burst: s.Burst, CPU: f.cpu,
		Injected: injected, Cookies: grown["TcpExt SyncookiesSent"], Wall: took.Nanoseconds(),
	}
	device := floodLink().Name
	received, _ := stackCounters(family)
	for _, name := range floodDrops(family, s.LinkKind) {
		if n := grown[name]; n != 0 {
			f.result.Drops = append(f.result.Drops, results.Drop{Reason: name, Packets: n})
		}
	}
	// An ifb counts what it is handed as received (ifb_xmit, drivers/net/ifb.c).
	f.result.Answers = grown[device+" tx_packets"]
	if s.LinkKind == "ifb" {
		f.result.Answers = grown[device+" rx_packets"]
	}
	sent := grown["Ip OutRequests"]
	if family == 6 {
		sent = grown["Ip6OutRequests"]
	}
	dropped := int64(0)
	for _, d := range f.result.Drops {
		dropped += d.Packets
	}
	f.checks = []results.Check{
		{Name: "SYNs that made a cookie or were dropped for a reason", Want: f.result.Injected, Got: f.result.Cookies + dropped},
		{Name: "SYNs that the stack received (" + received + ")", Want: f.result.Injected, Got: grown[received]},
		{Name: "packets that the stack sent and the interface was handed", Want: sent, Got: f.result.Answers},
		// Multicast listener reports are the only other packets (net/ipv6/mcast.c).
		{Name: "packets that the stack sent for cookies and resets", Want: f.result.Cookies + grown["Tcp OutRsts"], Got: sent - grown["Icmp6OutMsgs"]},
	}
}

// floodDrops are where SYNs end that make no cookie.
func floodDrops(family int, kind string) []string {
	drops := []string{"Tcp InErrs", "Tcp OutRsts", "TcpExt ListenDrops"}
	if kind != "ifb" { // which counts there what it is handed
		drops = append(drops, floodLink().Name+" rx_dropped")
	}
	if family == 6 {
		return append(drops, "Ip6InHdrErrors", "Ip6InNoRoutes", "Ip6InAddrErrors", "Ip6InTruncatedPkts", "Ip6InDiscards")
	}
	return append(drops, "Ip InHdrErrors", "Ip InAddrErrors", "Ip InDiscards", "IpExt InNoRoutes", "IpExt InTruncatedPkts")
}

func (f *flooding) record(run *results.Run, _ []time.Duration) {
	run.Flood = &f.result
	run.Partial = f.cut
	if f.result.Cookies < f.result.Injected {
		run.Warnings = append(run.Warnings, results.Warning{Kind: "drops", Text: fmt.Sprintf(
			"%d of %d SYNs made no cookie", f.result.Injected-f.result.Cookies, f.result.Injected)})
	}
}

func (f *flooding) close() error {
	f.injector.Close()
	if f.socket >= 0 {
		return unix.Close(f.socket)
	}
	return nil
}
