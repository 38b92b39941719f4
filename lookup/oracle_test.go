package lookup

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fibchurn/internal/prefixes"
)

// A slowTable is the obvious oracle: every state that the toggling routes allow,
// and the longest match in each.
type slowTable struct {
	prefixes []netip.Prefix
	routes   [][]Route
	toggling []bool
}

// answers lists what may be answered, with the prefix matched.
func (t *slowTable) answers(key netip.Addr) []Answer {
	var free []int
	for i, toggles := range t.toggling {
		if toggles {
			free = append(free, i)
		}
	}
	var list []Answer
	for state := range 1 << len(free) {
		present := make([]bool, len(t.prefixes))
		for i := range present {
			present[i] = !t.toggling[i]
		}
		for bit, i := range free {
			present[i] = state>>bit&1 == 1
		}
		list = append(list, t.match(key, present)...)
	}
	return list
}

func (t *slowTable) match(key netip.Addr, present []bool) []Answer {
	best := -1
	for i, p := range t.prefixes {
		if present[i] && p.Contains(key) && (best < 0 || p.Bits() > t.prefixes[best].Bits()) {
			best = i
		}
	}
	if best < 0 {
		return []Answer{{Kinds: NoRoute, Bits: -1}}
	}
	var list []Answer
	for _, r := range t.routes[best] {
		list = append(list, Answer{Kinds: r.Kind, OIF: r.OIF, Bits: t.prefixes[best].Bits()})
	}
	return list
}

// right is whether an answer, with or without the prefix, is one of them.
func right(a Answer, list []Answer) bool {
	for _, b := range list {
		if a.Kinds&b.Kinds != 0 && (a.OIF == b.OIF || a.OIF == 0) && (a.Bits == b.Bits || a.Bits < 0) {
			return true
		}
	}
	return false
}

// randomTables makes an oracle and the obvious one of the same routes, in a space
// small enough for prefixes to nest.
func randomTables(t *testing.T, rng *rand.Rand) (*Oracle, *slowTable) {
	t.Helper()
	o := oracleOf(t, &prefixes.Set{})
	slow := &slowTable{}
	seen := map[netip.Prefix]bool{}
	for range 1 + rng.IntN(10) {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{20, 0, 0, byte(rng.UintN(256))}), 24+rng.IntN(9)).Masked()
		if rng.IntN(8) == 0 {
			p = netip.PrefixFrom(netip.IPv4Unspecified(), rng.IntN(2)*3)
		}
		if seen[p] {
			continue
		}
		seen[p] = true
		r := Route{Kind: Unicast, OIF: uint32(3 + rng.IntN(2))}
		if rng.IntN(6) == 0 {
			r = Route{Kind: Blackhole}
		}
		if err := o.Add(p, r); err != nil {
			t.Fatal(err)
		}
		routes, toggles := []Route{r}, rng.IntN(2) == 0 && len(seen) <= 6
		if toggles {
			if err := o.Toggling(setOf(t, p), Route{Kind: Unicast}); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(4) == 0 {
			other := Route{Kind: Unicast, OIF: 9}
			if err := o.Replacing(setOf(t, p), other); err != nil {
				t.Fatal(err)
			}
			routes = append(routes, other)
		}
		slow.prefixes, slow.routes, slow.toggling = append(slow.prefixes, p), append(slow.routes, routes), append(slow.toggling, toggles)
	}
	return o, slow
}

// setOf is a set of one prefix.
func setOf(t *testing.T, p netip.Prefix) *prefixes.Set {
	t.Helper()
	path := t.TempDir() + "/prefixes"
	writeFile(t, path, p.String()+"\n")
	family := prefixes.IPv4
	if p.Addr().Is6() {
		family = prefixes.IPv6
	}
	content, err := prefixes.ReadFile(path, family)
	if err != nil {
		t.Fatal(err)
	}
	return content.Set
}

func TestOracleAgreesWithTheObvious(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var now time.Time
	rights, wrongs := 0, 0
	for range 300 {
		o, slow := randomTables(t, rng)
		for range 40 {
			key := netip.AddrFrom4([4]byte{20, 0, 0, byte(rng.UintN(256))})
			a := Answer{
				Kinds: []Kinds{Unicast, Unicast, Unicast, NoRoute, Blackhole, NoRoute | Local}[rng.IntN(6)],
				OIF:   []uint32{0, 3, 4, 9}[rng.IntN(4)],
				Bits:  []int{-1, -1, 0, 3, 24 + rng.IntN(9)}[rng.IntN(5)],
			}
			if a.Kinds != Unicast {
				a.OIF = 0
			}
			want := right(a, slow.answers(key))
			err := o.Check(key, a, now, now)
			if (err == nil) != want {
				t.Fatalf("key %s, answer %s: %v; the obvious oracle says %v of %v %v", key, a.Describe(key), err, want, slow.prefixes, slow.toggling)
			}
			if want {
				rights++
			} else {
				wrongs++
			}
		}
	}
	if rights < 1000 || wrongs < 1000 {
		t.Errorf("%d right and %d wrong answers are too few to tell", rights, wrongs)
	}
}

func TestOracleFollowsHistories(t *testing.T) {
	long, short := netip.MustParsePrefix("20.0.0.0/24"), netip.MustParsePrefix("20.0.0.0/16")
	key := netip.MustParseAddr("20.0.0.1")
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	o := oracleOf(t, setOf(t, short))
	if err := o.Toggling(setOf(t, long), Route{Kind: Unicast, OIF: 4}); err != nil {
		t.Fatal(err)
	}
	o.Toggled(long, true, at(10), at(20))
	o.Toggled(long, false, at(30), at(40))
	o.Toggled(long, true, at(50), at(60))
	for _, test := range []struct {
		asked, answered int
		long, short     bool // which is right
	}{
		{0, 1, true, true}, // nothing is known yet
		{12, 13, true, true}, {0, 15, true, true}, {19, 25, true, true},
		{21, 29, true, false}, {22, 22, true, false},
		{29, 30, true, true}, {35, 36, true, true}, {25, 45, true, true},
		{41, 49, false, true}, {42, 42, false, true},
		{45, 55, true, true}, {61, 100, true, false}, {0, 100, true, true},
	} {
		for _, which := range []struct {
			answer Answer
			right  bool
		}{{Answer{Kinds: Unicast, OIF: 4, Bits: 24}, test.long}, {Answer{Kinds: Unicast, OIF: 3, Bits: 16}, test.short}} {
			err := o.Check(key, which.answer, at(test.asked), at(test.answered))
			if (err == nil) != which.right {
				t.Errorf("asked %d, answered %d: %s: %v, want right: %v", test.asked, test.answered, which.answer.Describe(key), err, which.right)
			}
		}
	}
}

func TestWrongAnswerSaysAll(t *testing.T) {
	key := netip.MustParseAddr("20.0.0.1")
	o := oracleOf(t, setOf(t, netip.MustParsePrefix("20.0.0.0/16")))
	if err := o.Toggling(setOf(t, netip.MustParsePrefix("20.0.0.0/24")), Route{Kind: Unicast, OIF: 4}); err != nil {
		t.Fatal(err)
	}
	if err := o.Replacing(setOf(t, netip.MustParsePrefix("20.0.0.0/24")), Route{Kind: Blackhole}); err != nil {
		t.Fatal(err)
	}
	err := o.Check(key, Answer{Kinds: Unicast, OIF: 4, Bits: 8}, time.Time{}, time.Time{})
	var wrong *WrongAnswerError
	if !errors.As(err, &wrong) || len(wrong.Expected) != 2 {
		t.Fatalf("%#v", err)
	}
	wrong.Probe, wrong.More = "netlink", 2
	for _, want := range []string{"20.0.0.1 by netlink", "unicast dev 4, matched 20.0.0.0/8", "20.0.0.0/24 (unicast dev 4 or blackhole) where present, else 20.0.0.0/16 (unicast dev 3)", "2 more"} {
		if !strings.Contains(wrong.Error(), want) {
			t.Errorf("%q lacks %q", wrong, want)
		}
	}
	for _, a := range []Answer{{Kinds: Unicast, Bits: 16, Foreign: true}, {Bits: -1}, {Kinds: Unicast, Bits: -1, Refused: 18}} {
		if o.Check(key, a, time.Time{}, time.Time{}) == nil {
			t.Errorf("%+v was called right", a)
		}
	}
}

func TestOracleAllocatesNothing(t *testing.T) {
	set := generate(t, prefixes.IPv4, 1000)
	o := oracleOf(t, set)
	if err := o.Toggling(set, Route{Kind: Unicast, OIF: 3}); err != nil {
		t.Fatal(err)
	}
	key := set.At(500).Addr()
	a := Answer{Kinds: NoRoute, Bits: -1} // the last that is tried
	n := testing.AllocsPerRun(100, func() {
		if err := o.Check(key, a, time.Time{}, time.Time{}); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a check", n)
	}
}

func TestPackedAnswers(t *testing.T) {
	for _, a := range []Answer{
		{}, {Bits: -1}, {Kinds: NoRoute, Bits: -1}, {Kinds: Unicast, OIF: 1<<32 - 1, Bits: 128},
		{Kinds: 255, OIF: 1, Bits: 0, Foreign: true}, {Bits: -1, Refused: 524},
	} {
		if got := a.pack().unpack(); got != a || a.pack() == 0 {
			t.Errorf("%+v came back as %+v", a, got)
		}
	}
}
