package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

func nexthopsSpec(t testing.TB, change func(*NexthopsSpec)) *NexthopsSpec {
	t.Helper()
	s := &NexthopsSpec{Hops: ObjectHops, Paths: 4, TableSpec: TableSpec{
		Layout: prefixes.Dense, Count: 600, Families: []int{4}, Table: unix.RT_TABLE_MAIN, Tables: 1,
		Order: "added", LinkKind: netnstest.Kind(t), Batch: DefaultBatch, Ack: "last",
	}}
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := s.Generate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every kind of next hops and every family adds, replaces and removes what it says.
func TestNexthopsVerifies(t *testing.T) {
	for _, test := range []struct {
		hops  string
		paths int
	}{{PlainHops, 1}, {ObjectHops, 1}, {MultipathHops, 4}, {ObjectHops, 4}, {MultipathHops, MaxPaths}, {ObjectHops, MaxPaths}} {
		for _, families := range [][]int{{4}, {6}, {4, 6}} {
			t.Run(fmt.Sprint(test.hops, test.paths, families), func(t *testing.T) {
				run := mustRun(t, nexthopsSpec(t, func(s *NexthopsSpec) { s.Hops, s.Paths, s.Families, s.Count = test.hops, test.paths, families, 200 }))
				routes := int64(200 * len(families))
				if !run.Verified || phaseNames(run) != "add replace delete" {
					t.Fatalf("verified %v, phases %s", run.Verified, phaseNames(run))
				}
				requests := routes
				if test.hops == ObjectHops {
					requests = int64(len(families))
				}
				for _, name := range []string{"replace", "delete"} {
					if p := run.Phase(name); p.Ops != requests || p.Subnets != routes || p.Wall <= 0 {
						t.Errorf("%s: %+v, want %d requests for %d routes", name, p, requests, routes)
					}
				}
			})
		}
	}
}

// The dimensions of tables work here too.
func TestNexthopsDimensions(t *testing.T) {
	for name, change := range map[string]func(*NexthopsSpec){
		"no compat":   func(s *NexthopsSpec) { s.NoCompat = true },
		"tables":      func(s *NexthopsSpec) { s.Table, s.Tables = 1000, 7 },
		"layout":      func(s *NexthopsSpec) { s.Layout = prefixes.DFZ },
		"rules":       func(s *NexthopsSpec) { s.Rules = 3 },
		"random":      func(s *NexthopsSpec) { s.Hops, s.Order = MultipathHops, "random" },
		"acknowledge": func(s *NexthopsSpec) { s.Ack = "all" },
		"tables IPv6": func(s *NexthopsSpec) { s.Families, s.Table, s.Tables = []int{6}, 1000, 7 },
	} {
		t.Run(name, func(t *testing.T) {
			if run := mustRun(t, nexthopsSpec(t, change)); !run.Verified {
				t.Error("not verified")
			}
		})
	}
}

// What is not added, replaced or removed is found.
func TestNexthopsFaultsAreFound(t *testing.T) {
	noTime := func(name string) func(*Plan) {
		return func(p *Plan) {
			planPhase(p, name).Timed = func(*rtnl.Conn) (rtnl.Cost, error) { return rtnl.Cost{}, nil }
		}
	}
	fewer := func(name string) func(*Plan) { return func(p *Plan) { planPhase(p, name).Ops = 599 } }
	for _, test := range []struct {
		name, hops string
		noCompat   bool
		change     func(*Plan)
		want       string
	}{
		{"a route is missing", ObjectHops, false, fewer("add"), "IPv4 routes after add: 599 instead of 600"},
		{"a route is not replaced", MultipathHops, false, fewer("replace"), "IPv4 routes after replace: 599 instead of 600"},
		{"a route is not removed", MultipathHops, false, fewer("delete"), "IPv4 routes in all after delete: 1 instead of 0"},
		{"the group is not replaced", ObjectHops, false, noTime("replace"), "IPv4 routes after replace: 0 instead of 600"},
		{"the group that routes do not show is not replaced", ObjectHops, true, noTime("replace"), "nexthop objects under the routes after replace: 0 instead of 1"},
		{"the group is not removed", ObjectHops, false, noTime("delete"), "IPv4 routes in all after delete: 600 instead of 0"},
		{"objects are left", ObjectHops, false, noTime("clear"), "other nexthop objects after clear: 8 instead of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := faulty{nexthopsSpec(t, func(s *NexthopsSpec) { s.Hops, s.NoCompat = test.hops, test.noCompat }), test.change}
			run, err := (&Runner{}).Run(context.Background(), w, 1)
			if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), test.want) || run.Sample() {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestNexthopsValidate(t *testing.T) {
	valid := NexthopsSpec{Hops: MultipathHops, Paths: 4, TableSpec: TableSpec{
		Layout: prefixes.Dense, Count: 10, Families: []int{4}, Table: 254, Tables: 1, Order: "added", Batch: 1, Ack: "last",
	}}
	for _, test := range []struct {
		change func(*NexthopsSpec)
		want   string
	}{
		{func(*NexthopsSpec) {}, ""},
		{func(s *NexthopsSpec) { s.Paths = 0 }, "--paths 0: must be 1 to 128"},
		{func(s *NexthopsSpec) { s.Paths = 129 }, "--paths 129: must be 1 to 128"},
		{func(s *NexthopsSpec) { s.Paths = 1 }, "1 paths are not multipath"},
		{func(s *NexthopsSpec) { s.Hops = PlainHops }, "4 paths are not plain"},
		{func(s *NexthopsSpec) { s.Hops = "x" }, `unknown kind of next hops "x"`},
		{func(s *NexthopsSpec) { s.Count = 0 }, "--count 0: must be at least 1"},
	} {
		s := valid
		test.change(&s)
		if got := complaint(s.Validate()); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// IPv6 multipath routes take a whole route a path, all others one.
func TestNexthopsMemory(t *testing.T) {
	memory := func(hops string, paths int, families ...int) int64 {
		s := NexthopsSpec{Hops: hops, Paths: paths, TableSpec: TableSpec{Layout: prefixes.Dense, Count: 1000, Families: families}}
		n, err := s.Memory(2)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	one := memory(PlainHops, 1, 6)
	if got := memory(MultipathHops, 16, 6); got != 16*one {
		t.Errorf("16 paths of IPv6 take %d, want %d", got, 16*one)
	}
	if memory(ObjectHops, 16, 6) != one || memory(MultipathHops, 16, 4) != memory(PlainHops, 1, 4) {
		t.Error("shared next hops are counted for each route")
	}
}

// A kernel without nexthop objects is a reason to skip, not a failure.
func TestNexthopsUnsupported(t *testing.T) {
	var unsupported *ns.UnsupportedError
	if err := nexthopsError(&rtnl.Failure{Errno: unix.EOPNOTSUPP}); !errors.As(err, &unsupported) {
		t.Error(err)
	}
	if err := nexthopsError(unix.EINVAL); err == nil || errors.As(err, &unsupported) {
		t.Error(err)
	}
	if err := nexthopsSpec(t, func(*NexthopsSpec) {}).Probe(); err != nil {
		t.Error(err) // fibchurn's tests run on kernels from 5.3 on
	}
}
