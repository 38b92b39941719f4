package rtnl_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
)

// send sends a batch made by f and demands that every request is carried out.
func send(t *testing.T, c *rtnl.Conn, f func(*rtnl.Batch) error) {
	t.Helper()
	if err := try(t, c, f); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, c *rtnl.Conn, f func(*rtnl.Batch) error) error {
	t.Helper()
	var b rtnl.Batch
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll})
	if err != nil {
		t.Fatal(err)
	}
	return out.Err()
}

// withGateways is a namespace whose interface has addresses 240.0.0.1/16 and
// fd00::1/64.
func withGateways(t *testing.T) (*rtnl.Conn, uint32) {
	_, c := netnstest.New(t)
	l := netnstest.Link(t, c)
	for family, address := range map[int]string{4: "240.0.0.1/16", 6: "fd00::1/64"} {
		template, err := rtnl.NewAddress(family, l.Index)
		if err != nil {
			t.Fatal(err)
		}
		send(t, c, func(b *rtnl.Batch) error { b.AppendPrefix(template, netip.MustParsePrefix(address)); return nil })
	}
	return c, l.Index
}

func gateway(family, i int) netip.Addr {
	a := netip.MustParseAddr(map[int]string{4: "240.0.0.1", 6: "fd00::1"}[family])
	for range i {
		a = a.Next()
	}
	return a
}

// Objects and groups are made, changed and removed, and the dump shows them so;
// a route through them goes with them.
func TestNexthopObjects(t *testing.T) {
	for _, family := range []int{4, 6} {
		c, index := withGateways(t)
		hop := func(i int) rtnl.NextHop { return rtnl.NextHop{Index: index, Gateway: gateway(family, i)} }
		send(t, c, func(b *rtnl.Batch) error {
			for i := 1; i <= 4; i++ {
				if err := b.NewNexthop(family, uint32(i), hop(i), false); err != nil {
					return err
				}
			}
			return b.NewNexthopGroup(9, []uint32{1, 2, 3}, false)
		})
		table := uint32(1000)
		prefix := netip.MustParsePrefix(map[int]string{4: "20.0.0.0/24", 6: "2001:db8::/64"}[family])
		template, err := rtnl.NewRouteByID(rtnl.Route{Family: family, Table: table}, 9)
		if err != nil {
			t.Fatal(err)
		}
		send(t, c, func(b *rtnl.Batch) error { b.AppendPrefix(template, prefix); return nil })
		want := rtnl.HopClass{Table: table, ID: 9, Hops: 3, Gateway: gateway(family, 1)}
		if got := routesByHop(t, c, family); len(got) != 1 || got[want] != 1 {
			t.Errorf("IPv%d: routes %v, want %v", family, got, want)
		}
		send(t, c, func(b *rtnl.Batch) error {
			if err := b.NewNexthop(family, 2, hop(5), true); err != nil {
				return err
			}
			return b.NewNexthopGroup(9, []uint32{2, 4}, true)
		})
		objects, err := c.Nexthops()
		if err != nil || len(objects) != 5 {
			t.Fatalf("IPv%d: objects %v, %v", family, objects, err)
		}
		for _, o := range objects {
			if o.ID == 9 && !slices.Equal(o.Members, []uint32{2, 4}) || o.ID == 2 && o.Gateway != gateway(family, 5) {
				t.Errorf("IPv%d: not replaced: %+v", family, o)
			}
		}
		send(t, c, func(b *rtnl.Batch) error { return b.DelNexthop(9) })
		if got := routesByHop(t, c, family); len(got) != 0 {
			t.Errorf("IPv%d: routes left: %v", family, got)
		}
	}
}

// A multipath route has the next hops asked for, is replaced as a whole, and is
// removed whatever its next hops are.
func TestMultipathRoutes(t *testing.T) {
	for _, family := range []int{4, 6} {
		c, index := withGateways(t)
		route := rtnl.Route{Family: family, Table: unix.RT_TABLE_MAIN}
		prefix := netip.MustParsePrefix(map[int]string{4: "20.0.0.0/24", 6: "2001:db8::/64"}[family])
		hops := func(from, n int) (list []rtnl.NextHop) {
			for i := range n {
				list = append(list, rtnl.NextHop{Index: index, Gateway: gateway(family, from+i)})
			}
			return list
		}
		apply := func(template *rtnl.Template, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			send(t, c, func(b *rtnl.Batch) error { b.AppendPrefix(template, prefix); return nil })
		}
		expect := func(want ...rtnl.HopClass) {
			t.Helper()
			got := routesByHop(t, c, family)
			if len(got) != len(want) || len(want) == 1 && got[want[0]] != 1 {
				t.Errorf("IPv%d: routes %v, want %v", family, got, want)
			}
		}
		apply(rtnl.NewMultipathRoute(route, hops(1, 16)))
		expect(rtnl.HopClass{Table: unix.RT_TABLE_MAIN, Hops: 16, Gateway: gateway(family, 1)})
		apply(rtnl.ReplaceMultipathRoute(route, hops(20, 3)))
		expect(rtnl.HopClass{Table: unix.RT_TABLE_MAIN, Hops: 3, Gateway: gateway(family, 20)})
		apply(rtnl.DelRouteAnyHop(route))
		expect()
	}
}

func routesByHop(t *testing.T, c *rtnl.Conn, family int) map[rtnl.HopClass]int64 {
	t.Helper()
	routes, err := c.RoutesByHop(rtnl.AddressFamily(family))
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

// The kernel's refusals arrive with its words.
func TestNexthopRefusals(t *testing.T) {
	c, index := withGateways(t)
	for _, test := range []struct {
		name string
		make func(*rtnl.Batch) error
		want string
	}{
		{"a member that does not exist", func(b *rtnl.Batch) error { return b.NewNexthopGroup(9, []uint32{77}, false) }, "Invalid nexthop id"},
		{"a gateway that is nowhere", func(b *rtnl.Batch) error {
			return b.NewNexthop(4, 1, rtnl.NextHop{Index: index, Gateway: netip.MustParseAddr("1.2.3.4")}, false)
		}, "gateway"},
		{"an object that does not exist", func(b *rtnl.Batch) error { return b.DelNexthop(5) }, "no such file"},
		{"a replacement of nothing", func(b *rtnl.Batch) error {
			return b.NewNexthop(4, 1, rtnl.NextHop{Index: index, Gateway: gateway(4, 1)}, true)
		}, "no such file"},
	} {
		if err := try(t, c, test.make); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// Namespaces have the numbers that they were given.
func TestNamespaceIDs(t *testing.T) {
	n, c := netnstest.New(t)
	if got, err := c.NamespaceIDs(); err != nil || got != 0 {
		t.Fatalf("%d numbers in a fresh namespace, %v", got, err)
	}
	g, _, err := n.NewGroup(3, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	for i := range 3 {
		send(t, c, func(b *rtnl.Batch) error { return b.NewNamespaceID(g.File(i), int32(10+i)) })
	}
	if got, err := c.NamespaceIDs(); err != nil || got != 3 {
		t.Fatalf("%d numbers, want 3, %v", got, err)
	}
	if err := try(t, c, func(b *rtnl.Batch) error { return b.NewNamespaceID(g.File(0), 50) }); err == nil {
		t.Error("a namespace got two numbers")
	}
}

func TestWithdrawnNamespaceIDOfNonsense(t *testing.T) {
	for _, datagram := range [][]byte{nil, make([]byte, 15), make([]byte, 40), {20, 0, 0, 0, 89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if id, ok := rtnl.WithdrawnNamespaceID(datagram); ok {
			t.Errorf("%v: number %d", datagram, id)
		}
	}
}
