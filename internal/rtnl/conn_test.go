package rtnl_test

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
)

// routes is a batch of count /32 routes from 10.0.0.0 on.
func routes(t testing.TB, index uint32, count int) *rtnl.Batch {
	t.Helper()
	var b rtnl.Batch
	template := newRoute(t, index)
	for i := range count {
		b.AppendPrefix(template, hostRoute(i))
	}
	return &b
}

func newRoute(t testing.TB, index uint32) *rtnl.Template {
	t.Helper()
	template, err := rtnl.NewRoute(rtnl.Route{Family: 4, Table: unix.RT_TABLE_MAIN, Index: index})
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func hostRoute(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

func TestDialRefusesOwnNamespace(t *testing.T) {
	f, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := rtnl.Dial(f); !errors.Is(err, rtnl.ErrInitialNamespace) {
		t.Fatalf("Dial: %v", err)
	}
}

func TestSendAccountsForEveryRequest(t *testing.T) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	const count = 3000
	for _, ack := range []rtnl.Ack{rtnl.AckLast, rtnl.AckAll, rtnl.AckFinal} {
		// Five requests repeat what is there already: the kernel refuses these alone.
		repeated := map[int]bool{0: true, 255: true, 256: true, 1000: true, count - 1: true}
		var before rtnl.Batch
		for i := range count {
			if repeated[i] {
				before.AppendPrefix(newRoute(t, l.Index), hostRoute(i))
			}
		}
		if out, err := c.Send(&before, rtnl.Options{Ack: ack}); err != nil || out.Err() != nil || out.Done != len(repeated) {
			t.Fatalf("prepare: %+v, %v", out, err)
		}
		out, err := c.Send(routes(t, l.Index, count), rtnl.Options{PerCall: 256, Ack: ack})
		if err != nil {
			t.Fatal(err)
		}
		if out.Done != count-len(repeated) || len(out.Failures) != len(repeated) {
			t.Errorf("%d done and %d failed, want %d and %d", out.Done, len(out.Failures), count-len(repeated), len(repeated))
		}
		for _, f := range out.Failures {
			if !repeated[f.Request] || !errors.Is(&f, unix.EEXIST) {
				t.Errorf("request %d: %v", f.Request, &f)
			}
		}
		if err := out.Err(); err == nil || !strings.Contains(err.Error(), "and 4 more requests failed") {
			t.Errorf("Err: %v", err)
		}
		if want := int64((count + 255) / 256); out.Cost.Calls != want {
			t.Errorf("%d calls, want %d", out.Cost.Calls, want)
		}
		counts, err := c.Routes(unix.AF_INET)
		if err != nil {
			t.Fatal(err)
		}
		if got := counts[rtnl.RouteClass{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Index: l.Index}]; got != count {
			t.Errorf("%d routes in the table, want %d", got, count)
		}
		emptyTable(t, c, l.Index)
	}
}

// emptyTable takes the link down and up again, which flushes its routes.
func emptyTable(t *testing.T, c *rtnl.Conn, index uint32) {
	t.Helper()
	var b rtnl.Batch
	for _, up := range []bool{false, true} {
		if err := b.SetLink(index, up); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll}); err != nil || out.Err() != nil {
		t.Fatalf("flush: %v, %v", err, out.Err())
	}
}

func TestExtendedAcknowledgement(t *testing.T) {
	_, c := netnstest.New(t)
	var b rtnl.Batch
	if err := b.NewLink("nosuchkind", "x", 77, "", 0); err != nil {
		t.Fatal(err)
	}
	out, err := c.Send(&b, rtnl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Err(); !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "Unknown device type") {
		t.Errorf("creating a link of an unknown kind: %v", err)
	}
}

// Answers that do not fit the receive buffer must be an error, never silence.
func TestSendReportsLostAnswers(t *testing.T) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	if err := rtnl.ShrinkReceiveBuffer(c); err != nil {
		t.Fatal(err)
	}
	_, err := c.Send(routes(t, l.Index, 2000), rtnl.Options{PerCall: 2000, Ack: rtnl.AckAll})
	if !errors.Is(err, rtnl.ErrLost) {
		t.Fatalf("Send: %v, want %v", err, rtnl.ErrLost)
	}
}

// The socket itself keeps calls small enough for its buffers.
func TestSendKeepsToBuffers(t *testing.T) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	if err := rtnl.LimitCall(c, 1000, 10); err != nil {
		t.Fatal(err)
	}
	out, err := c.Send(routes(t, l.Index, 100), rtnl.Options{Ack: rtnl.AckAll})
	if err != nil || out.Err() != nil || out.Done != 100 {
		t.Fatalf("%+v, %v", out, err)
	}
	if out.Cost.Calls < 10 {
		t.Errorf("%d calls for 100 requests of at most 10 a call", out.Cost.Calls)
	}
}

// Between the clock readings and, where nothing fails, in all of Send nothing is
// allocated.
func TestSendAllocatesNothing(t *testing.T) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	add := routes(t, l.Index, 1000)
	if _, err := c.Send(add, rtnl.Options{PerCall: 100}); err != nil {
		t.Fatal(err)
	}
	up := &rtnl.Batch{}
	for range 100 {
		if err := up.SetLink(l.Index, true); err != nil {
			t.Fatal(err)
		}
	}
	allocations := testing.AllocsPerRun(20, func() {
		if out, err := c.Send(up, rtnl.Options{PerCall: 10, Ack: rtnl.AckAll}); err != nil || len(out.Failures) > 0 {
			t.Fatal(err, out.Failures)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations in a batch of 100", allocations)
	}
}

func TestDumpCounts(t *testing.T) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	var b rtnl.Batch
	for _, text := range []string{"10.1.0.1/24", "10.2.0.1/24", "2001:db8:1::1/64"} {
		family := 4
		if strings.Contains(text, ":") {
			family = 6
		}
		template, err := rtnl.NewAddress(family, l.Index)
		if err != nil {
			t.Fatal(err)
		}
		b.AppendPrefix(template, netip.MustParsePrefix(text))
	}
	if out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll}); err != nil || out.Err() != nil {
		t.Fatal(err, out.Err())
	}
	v4, err := c.Addresses(unix.AF_INET)
	if err != nil || v4[l.Index] != 2 {
		t.Errorf("IPv4 addresses: %v, %v", v4, err)
	}
	v6, err := c.Routes(unix.AF_INET6)
	if err != nil || v6[rtnl.RouteClass{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Index: l.Index}] < 1 {
		t.Errorf("IPv6 routes: %v, %v", v6, err)
	}
	links, err := c.Links()
	if err != nil || !links[l.Index] || !links[1] {
		t.Errorf("links: %v, %v", links, err)
	}
}

func BenchmarkSendRoutes(b *testing.B) {
	runtime.LockOSThread() // the cost's CPU times are the thread's
	defer runtime.UnlockOSThread()
	_, c := netnstest.New(b)
	l := netnstest.Link(b, c)
	batch := routes(b, l.Index, 8192)
	var cost rtnl.Cost
	for b.Loop() {
		out, err := c.Send(batch, rtnl.Options{PerCall: 256})
		if err != nil || out.Err() != nil {
			b.Fatal(err, out.Err())
		}
		cost.Add(out.Cost)
		b.StopTimer()
		var flush rtnl.Batch
		_ = flush.SetLink(l.Index, false)
		_ = flush.SetLink(l.Index, true)
		if _, err := c.Send(&flush, rtnl.Options{Ack: rtnl.AckAll}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(cost.Wall.Nanoseconds())/float64(b.N)/8192, "ns/route")
	b.ReportMetric(100*float64(cost.User)/float64(cost.User+cost.System), "user-%")
}
