package lookup

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fibchurn/internal/prefixes"
)

// generate is a small table of the Internet's kind.
func generate(t testing.TB, f prefixes.Family, count int) *prefixes.Set {
	t.Helper()
	set, err := prefixes.Generate(prefixes.DFZ, f, count, 7)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func oracleOf(t testing.TB, set *prefixes.Set) *Oracle {
	t.Helper()
	o, err := NewOracle(set, Route{Kind: Unicast, OIF: 3})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func keysOf(t testing.TB, set *prefixes.Set, change func(*Spec)) *Keys {
	t.Helper()
	s := DefaultSpec()
	s.Family, s.KeyCount = int(set.Family()), 1000
	change(&s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(&s, set, oracleOf(t, set).Covers)
	if err != nil {
		t.Fatal(err)
	}
	if keys.Len() != s.KeyCount || keys.Family() != set.Family() {
		t.Fatalf("%d keys of %s, want %d", keys.Len(), keys.Family(), s.KeyCount)
	}
	return keys
}

func TestKeysAreOfTheirKind(t *testing.T) {
	for _, f := range []prefixes.Family{prefixes.IPv4, prefixes.IPv6} {
		set := generate(t, f, 500)
		o := oracleOf(t, set)
		for _, kind := range KeyKinds() {
			t.Run(f.String()+"/"+kind, func(t *testing.T) {
				keys := keysOf(t, set, func(s *Spec) { s.Keys = kind })
				hits := 0
				for i := range keys.Len() {
					if !usable(keys.At(i)) {
						t.Fatalf("key %s is not for routes to decide", keys.At(i))
					}
					if o.Covers(keys.At(i)) {
						hits++
					}
				}
				want := map[string][2]int{Hit: {1000, 1000}, Miss: {0, 0}, Mixed: {500, 500}, Boundary: {500, 999}}[kind]
				if hits < want[0] || hits > want[1] {
					t.Errorf("%d of 1000 keys are in the table, want %d to %d", hits, want[0], want[1])
				}
			})
		}
	}
}

func TestBoundaryKeysAreEdges(t *testing.T) {
	set := generate(t, prefixes.IPv4, 300)
	edges := map[netip.Addr]bool{}
	for _, p := range set.All() {
		for _, a := range []netip.Addr{p.Addr().Prev(), p.Addr(), lastOf(p), lastOf(p).Next()} {
			edges[a] = true
		}
	}
	keys := keysOf(t, set, func(s *Spec) { s.Keys = Boundary })
	for i := range keys.Len() {
		if !edges[keys.At(i)] {
			t.Errorf("%s is at no edge", keys.At(i))
		}
	}
}

func TestLastOf(t *testing.T) {
	for prefix, want := range map[string]string{
		"10.0.0.0/8": "10.255.255.255", "10.1.2.3/32": "10.1.2.3", "0.0.0.0/0": "255.255.255.255", "10.1.2.128/25": "10.1.2.255",
		"2001:db8::/33": "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff", "2001:db8::1/128": "2001:db8::1",
	} {
		if got := lastOf(netip.MustParsePrefix(prefix)); got.String() != want {
			t.Errorf("last of %s: %s, want %s", prefix, got, want)
		}
	}
}

func TestKeyOrders(t *testing.T) {
	set := generate(t, prefixes.IPv6, 300)
	drawn := keysOf(t, set, func(s *Spec) {})
	again := keysOf(t, set, func(s *Spec) {})
	chain := keysOf(t, set, func(s *Spec) { s.Order = Chain })
	scan := keysOf(t, set, func(s *Spec) { s.Order = Scan })
	other := keysOf(t, set, func(s *Spec) { s.Seed = 2 })
	if !slices.Equal(drawn.addrs, again.addrs) || !slices.Equal(drawn.addrs, chain.addrs) {
		t.Error("one seed gave different keys")
	}
	if slices.Equal(drawn.addrs, other.addrs) {
		t.Error("two seeds gave the same keys")
	}
	sorted := make([]netip.Addr, 0, drawn.Len())
	for i := range drawn.Len() {
		sorted = append(sorted, drawn.At(i))
	}
	slices.SortFunc(sorted, netip.Addr.Compare)
	for i, want := range sorted {
		if scan.At(i) != want {
			t.Fatalf("scan key %d is %s, want %s", i, scan.At(i), want)
		}
	}
}

func TestKeysOfADestination(t *testing.T) {
	set := generate(t, prefixes.IPv4, 10)
	one := keysOf(t, set, func(s *Spec) { s.Dst = "20.0.0.7" })
	of := netip.MustParsePrefix("20.0.0.0/20")
	many := keysOf(t, set, func(s *Spec) { s.Dst = of.String() })
	distinct := map[netip.Addr]bool{}
	for i := range many.Len() {
		if one.At(i) != netip.MustParseAddr("20.0.0.7") || !of.Contains(many.At(i)) {
			t.Fatalf("key %d: %s and %s", i, one.At(i), many.At(i))
		}
		distinct[many.At(i)] = true
	}
	if len(distinct) < 500 {
		t.Errorf("%d different keys of 1000 in 4096", len(distinct))
	}
}

func TestKeysThatCannotBe(t *testing.T) {
	all, err := NewOracle(&prefixes.Set{}, Route{Kind: Unicast})
	if err == nil {
		err = all.Add(netip.MustParsePrefix("0.0.0.0/0"), Route{Kind: Unicast})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSpec()
	for kind, want := range map[string]string{Miss: "covers them all", Hit: "the table is empty", Boundary: "the table is empty"} {
		s.Keys = kind
		if _, err := NewKeys(&s, &prefixes.Set{}, all.Covers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}
