package lctrie

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

// dense returns n consecutive prefixes of a length, from base on.
func dense(base string, length, n int) []netip.Prefix {
	key, _, err := keyOf(netip.PrefixFrom(netip.MustParseAddr(base), length).Masked())
	if err != nil {
		panic(err)
	}
	prefixes := make([]netip.Prefix, n)
	for i := range prefixes {
		prefixes[i] = prefixOf(key+uint32(i)<<(keyLength-length), uint8(keyLength-length))
	}
	return prefixes
}

func parse(prefixes ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		list[i] = netip.MustParsePrefix(p)
	}
	return list
}

// filled returns a trie with the prefixes inserted in order.
func filled(t testing.TB, prefixes []netip.Prefix) *Trie {
	t.Helper()
	trie := New()
	for _, p := range prefixes {
		if _, err := trie.Insert(p); err != nil {
			t.Fatal(err)
		}
	}
	return trie
}

// mustDelete deletes the prefixes in order and returns the events of each.
func mustDelete(t testing.TB, trie *Trie, prefixes ...netip.Prefix) []Events {
	t.Helper()
	var events []Events
	for _, p := range prefixes {
		e, err := trie.Delete(p)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func TestShapeOfFewPrefixes(t *testing.T) {
	sizes := func(pairs ...int64) map[int]int64 {
		m := map[int]int64{}
		for i := 0; i < len(pairs); i += 2 {
			m[int(pairs[i])] = pairs[i+1]
		}
		return m
	}
	tests := []struct {
		name     string
		prefixes []netip.Prefix
		want     Shape
	}{
		{"empty", nil, Shape{TnodesByBits: sizes()}},
		{"one leaf, no tnode", parse("10.0.0.0/24"),
			Shape{Leaves: 1, Prefixes: 1, TnodesByBits: sizes()}},
		{"three lengths of one address share a leaf", parse("10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/16"),
			Shape{Leaves: 1, Prefixes: 3, TnodesByBits: sizes()}},
		{"default route alone", parse("0.0.0.0/0"),
			Shape{Leaves: 1, Prefixes: 1, TnodesByBits: sizes()}},
		// The split tnode has 2 of 2 children, so it doubles (2 of 4 is 50 %, above
		// the root's 30 %), and 2 of 8 would be 25 %.
		{"two neighbours", parse("10.0.0.0/24", "10.0.1.0/24"),
			Shape{AverageDepth: 1, MaxDepth: 1, Leaves: 2, Prefixes: 2, Tnodes: 1,
				TnodesByBits: sizes(2, 1), Pointers: 4, NullPointers: 2}},
		// At bit 0 there is no bit left to double with.
		{"two neighbouring hosts", parse("10.0.0.0/32", "10.0.0.1/32"),
			Shape{AverageDepth: 1, MaxDepth: 1, Leaves: 2, Prefixes: 2, Tnodes: 1,
				TnodesByBits: sizes(1, 1), Pointers: 2}},
		// What an address on a /24 makes: 255 is alone behind bit 7; 0 and 1 split at
		// bit 0. The root has 2 of 2, so doubles once; the pair stays below it.
		{"address of a /24", parse("10.0.0.0/24", "10.0.0.1/32", "10.0.0.255/32"),
			Shape{AverageDepth: 1.66, MaxDepth: 2, Leaves: 3, Prefixes: 3, Tnodes: 2,
				TnodesByBits: sizes(1, 1, 2, 1), Pointers: 6, NullPointers: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := filled(t, test.prefixes).Shape(); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// With n consecutive routes from an aligned base, all in one root tnode, the
// tnode has 1<<b children at the routes' lowest bit as soon as the path needs b
// bits; it doubles once more, below the routes' lowest bit, at 30 % of 2<<b.
func TestDenseRootGrows(t *testing.T) {
	want := map[int]int{2: 2, 3: 3, 4: 5, 5: 10, 6: 20, 7: 39, 8: 77, 9: 154, 10: 308}
	got := map[int]int{}
	trie := New()
	for i, p := range dense("10.0.0.0", 24, 600) {
		if _, err := trie.Insert(p); err != nil {
			t.Fatal(err)
		}
		if s := trie.Shape(); i > 0 && (s.Tnodes != 1 || s.MaxDepth != 1) {
			t.Fatalf("%d routes: %+v, want one tnode", i+1, s)
		}
		if bits := trie.RootBits(); bits > 0 && got[bits] == 0 {
			got[bits] = i + 1
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("routes at which each root size appears: %v, want %v", got, want)
	}
}

// The 600 routes fill a root of 10 bits. Deleting from the end:
//   - 153 left are fewer than 15 % of 1024. Halved, the root has 76 pairs and one
//     route, 15 % of 512. A pair fills its tnode, so that doubles (50 %).
//   - 152 left are 76 pairs, 14.8 % of 512, and as many of 256 and of 128 when
//     halved; 9 and one half-filled are 15.6 % of 64. The 16 routes below each
//     child fill 4 bits, which double; the 8 below the last fill 3.
//   - one left needs no tnode.
func TestDenseRootShrinks(t *testing.T) {
	prefixes := dense("10.0.0.0", 24, 600)
	trie := filled(t, prefixes)
	want := map[int]map[int]int64{
		600: {10: 1},
		154: {10: 1},
		153: {9: 1, 2: 76},
		152: {6: 1, 5: 9, 4: 1},
		1:   {},
	}
	for left := len(prefixes); left > 0; left-- {
		got := trie.Shape().TnodesByBits
		if sizes := want[left]; sizes != nil && !reflect.DeepEqual(got, sizes) {
			t.Errorf("%d left: tnodes by bits %v, want %v", left, got, sizes)
		}
		mustDelete(t, trie, prefixes[left-1])
	}
}

// A call of resize inflates ten times at most. Route 2049 splits the path above
// the root, which has 12 bits; the new root of one bit grows to 11 of its own
// and leaves two bits in each of its 1024 full children. The next insert finishes
// it, after the pair that it makes with the last leaf has doubled.
func TestResizeStopsAtMaxWork(t *testing.T) {
	prefixes := dense("10.0.0.0", 24, 2050)
	trie := filled(t, prefixes[:2048])
	for _, want := range []struct {
		inflates int
		tnodes   map[int]int64
	}{
		{10, map[int]int64{11: 1, 2: 1024}},
		{2, map[int]int64{12: 1}},
	} {
		e, err := trie.Insert(prefixes[trie.Shape().Leaves])
		if err != nil {
			t.Fatal(err)
		}
		if got := trie.Shape().TnodesByBits; e.Inflates != want.inflates || !reflect.DeepEqual(got, want.tnodes) {
			t.Errorf("%d inflates to %v, want %d to %v", e.Inflates, got, want.inflates, want.tnodes)
		}
	}
}

func TestInsertReportsChanges(t *testing.T) {
	path := netip.MustParsePrefix
	trie := filled(t, dense("10.0.0.0", 24, 2))
	got, err := trie.Insert(path("10.0.2.0/24"))
	if err != nil {
		t.Fatal(err)
	}
	// A tnode of one bit splits the path above; it and the old root behind it,
	// full, make 3 of 4, so it doubles and takes the old root's upper bit. The two
	// halves have one leaf each and collapse. Then 3 of 8 is 37 %.
	want := []Change{
		{Kind: Split, Tnode: path("10.0.0.0/22"), Root: true, After: 1},
		{Kind: Inflate, Tnode: path("10.0.0.0/22"), Root: true, Before: 1, After: 2},
		{Kind: Collapse, Tnode: path("10.0.1.0/24"), Before: 1},
		{Kind: Collapse, Tnode: path("10.0.0.0/24"), Before: 1},
		{Kind: Inflate, Tnode: path("10.0.0.0/22"), Root: true, Before: 2, After: 3},
	}
	if !reflect.DeepEqual(got.Changes, want) {
		t.Errorf("changes\n%+v, want\n%+v", got.Changes, want)
	}
	if got.Splits != 1 || got.Inflates != 2 || got.Halves != 0 || got.Collapses != 2 ||
		got.Divided != 1 || got.Paired != 0 || got.Resizes != 3 {
		t.Errorf("counts %+v", got)
	}
	// the split tnode, the old root it divided, and itself doubled
	if want := int64(3*40 + 8*(2+4+4)); got.FreedBytes != want {
		t.Errorf("FreedBytes %d, want %d", got.FreedBytes, want)
	}
}

// A full root of /24s has one bit below the routes', so its suffix length, 8, is
// above its position, 7, and each delete looks for another prefix as short: it
// passes every route that is gone already and stops at the first that is left.
func TestDeletesReadDeletedPlaces(t *testing.T) {
	const routes = 64
	prefixes := dense("10.0.0.0", 24, routes)
	inOrder := mustDelete(t, filled(t, prefixes), prefixes[:8]...)
	for i, e := range inOrder {
		if e.SuffixReads != i+1 {
			t.Errorf("delete %d in order reads %d children, want %d", i+1, e.SuffixReads, i+1)
		}
	}
	reversed := slices.Clone(prefixes)
	slices.Reverse(reversed)
	for i, e := range mustDelete(t, filled(t, prefixes), reversed[:8]...) {
		if e.SuffixReads != 1 {
			t.Errorf("delete %d from the end reads %d children, want 1", i+1, e.SuffixReads)
		}
	}
}

func TestSuffixLengthFollowsAliases(t *testing.T) {
	trie := filled(t, parse("10.0.0.0/32", "10.0.0.1/32", "10.0.0.2/32"))
	if trie.root.slen != 0 {
		t.Fatalf("slen %d of hosts only", trie.root.slen)
	}
	if _, err := trie.Insert(netip.MustParsePrefix("10.0.0.0/30")); err != nil {
		t.Fatal(err)
	}
	if trie.root.slen != 2 {
		t.Errorf("slen %d with a /30, want 2", trie.root.slen)
	}
	mustDelete(t, trie, netip.MustParsePrefix("10.0.0.0/30"))
	if trie.root.slen != 0 {
		t.Errorf("slen %d after the /30 went, want 0", trie.root.slen)
	}
}

func TestFlush(t *testing.T) {
	prefixes := dense("10.0.0.0", 24, 64)
	t.Run("all", func(t *testing.T) {
		trie := filled(t, prefixes)
		e := trie.Flush(func(netip.Prefix) bool { return true })
		if s := trie.Shape(); s.Leaves != 0 || s.Tnodes != 0 {
			t.Errorf("left: %+v", s)
		}
		if e.Resizes != 1 || e.Collapses != 1 || e.Halves != 0 {
			t.Errorf("want one resize that collapses: %+v", e)
		}
	})
	// 4 of 128 children: halves to 32, where 4 is 12 %, and to 16, where it is 25 %.
	t.Run("all but four", func(t *testing.T) {
		trie := filled(t, prefixes)
		e := trie.Flush(func(p netip.Prefix) bool { return p.Addr().As4()[2]%16 != 0 })
		if e.Halves != 3 || trie.RootBits() != 4 {
			t.Errorf("%d bits after %+v", trie.RootBits(), e)
		}
	})
	t.Run("nothing in an empty trie", func(t *testing.T) {
		if e := New().Flush(func(netip.Prefix) bool { return true }); !reflect.DeepEqual(e, Events{}) {
			t.Errorf("%+v", e)
		}
	})
}

func TestErrors(t *testing.T) {
	trie := filled(t, parse("10.0.0.0/24"))
	for _, p := range []netip.Prefix{
		{},
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("10.0.0.1/24"),
	} {
		if _, err := trie.Insert(p); err == nil {
			t.Errorf("Insert(%v) succeeded", p)
		}
		if _, err := trie.Delete(p); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("Delete(%v): %v", p, err)
		}
	}
	for _, p := range parse("10.0.0.0/25", "10.0.1.0/24") {
		if _, err := trie.Delete(p); !errors.Is(err, ErrAbsent) {
			t.Errorf("Delete(%v): %v, want ErrAbsent", p, err)
		}
	}
}

func TestSizeKB(t *testing.T) {
	// 7 leaves, 7 prefixes, 5 tnodes, 22 pointers: 336 + 392 + 200 + 176 bytes
	s := Shape{Leaves: 7, Prefixes: 7, Tnodes: 5, Pointers: 22}
	if got := s.SizeKB(48, 40); got != 2 {
		t.Errorf("SizeKB %d, want 2", got)
	}
}
