package prefixes

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var generated = []Layout{Dense, Sparse, Random, Linear32, DFZ}

func TestGenerateProperties(t *testing.T) {
	for _, l := range generated {
		for _, f := range []Family{IPv4, IPv6} {
			for _, count := range []int{1, 2, 1000, 70_000} {
				s, err := Generate(l, f, count, 7)
				if err != nil {
					t.Fatal(err)
				}
				if s.Len() != count || s.Family() != f {
					t.Fatalf("%s %s: %d %s prefixes, %d were asked for", l, f, s.Len(), s.Family(), count)
				}
				checkPrefixes(t, l, s)
				if l != Random && !(f == IPv4 && (l == Dense || l == Linear32)) && !s.ascends() {
					t.Errorf("%s %s: not ascending", l, f)
				}
			}
		}
	}
}

func checkPrefixes(t *testing.T, l Layout, s *Set) {
	t.Helper()
	allowed := netip.MustParsePrefix("2000::/3")
	seen := make(map[netip.Prefix]bool, s.Len())
	for i, p := range s.All() {
		a := p.Addr()
		switch {
		case p != p.Masked():
			t.Fatalf("%s: prefix %d, %s, is not canonical", l, i, p)
		case seen[p]:
			t.Fatalf("%s: prefix %d, %s, is there twice", l, i, p)
		case s.Family() == IPv6 && !(allowed.Contains(a) && a.Is6()):
			t.Fatalf("%s: prefix %d, %s, is outside %s", l, i, p, allowed)
		case s.Family() == IPv4 && !usableIPv4(p):
			t.Fatalf("%s: prefix %d, %s, is not unicast", l, i, p)
		}
		seen[p] = true
		if got, ok := netip.AddrFromSlice(s.AppendAddr(nil, i)); !ok || got != a || s.Bits(i) != p.Bits() {
			t.Fatalf("%s: prefix %d, %s, is %s/%d in pieces", l, i, p, got, s.Bits(i))
		}
	}
}

func usableIPv4(p netip.Prefix) bool {
	first := p.Addr().As4()[0]
	return p.Bits() >= 8 && p.Addr().Is4() && first != 0 && first != 127 && first < 224
}

func TestGenerateIsDeterministic(t *testing.T) {
	for _, l := range generated {
		for _, f := range []Family{IPv4, IPv6} {
			a, _ := Generate(l, f, 5000, 1)
			b, _ := Generate(l, f, 5000, 1)
			c, _ := Generate(l, f, 5000, 2)
			same := equal(a, c)
			if !equal(a, b) {
				t.Errorf("%s %s: two sets of one seed differ", l, f)
			}
			if seeded := l == Random || l == DFZ; seeded == same {
				t.Errorf("%s %s: sets of two seeds: same is %v", l, f, same)
			}
		}
	}
}

func equal(a, b *Set) bool {
	for i := range a.Len() {
		if a.At(i) != b.At(i) {
			return false
		}
	}
	return a.Len() == b.Len()
}

// Figures that must not change: records name layout and seed only.
func TestGenerateGolden(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		family Family
		want   string
	}{
		{Dense, IPv4, "20.0.0.0/24 20.0.1.0/24 20.0.2.0/24"},
		{Dense, IPv6, "2001:db8::/64 2001:db8:0:1::/64 2001:db8:0:2::/64"},
		{Sparse, IPv4, "1.0.0.0/24 75.0.0.0/24 150.0.0.0/24"},
		{Sparse, IPv6, "2000::/64 2aaa:aaaa:aaaa:aaaa::/64 3555:5555:5555:5555::/64"},
		{Random, IPv4, "70.206.30.0/24 13.18.30.0/24 58.92.88.0/24"},
		{Random, IPv6, "22fe:7907:e46e:9d04::/64 320b:887c:c577:26::/64 3bce:3708:b644:4f94::/64"},
		{Linear32, IPv4, "20.0.0.0/32 20.0.0.1/32 20.0.0.2/32"},
		{Linear32, IPv6, "2001:db8::/128 2001:db8::1/128 2001:db8::2/128"},
	} {
		s, err := Generate(c.layout, c.family, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(s); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.layout, c.family, got, c.want)
		}
	}
}

// The same on every architecture.
func TestGenerateGoldenDFZ(t *testing.T) {
	for f, want := range map[Family]string{
		IPv4: "cca1093162134b58",
		IPv6: "92ebaaa0b791b28d",
	} {
		s, err := Generate(DFZ, f, 100_000, 1)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		for _, p := range s.All() {
			fmt.Fprintln(sum, p)
		}
		if got := fmt.Sprintf("%.8x", sum.Sum(nil)); got != want {
			t.Errorf("%s: hash %s, want %s: a change of the model changes every dfz table of a seed", f, got, want)
		}
	}
}

func text(s *Set) string {
	var words []string
	for _, p := range s.All() {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}

func TestConsecutiveGoesRoundTheUnicastSpace(t *testing.T) {
	slash8 := uint64(1 << 16)
	for n, want := range map[uint64]string{
		107*slash8 - 1: "126.255.255.0",
		107 * slash8:   "128.0.0.0",
		203*slash8 - 1: "223.255.255.0",
		203 * slash8:   "1.0.0.0",
		222*slash8 - 1: "19.255.255.0",
	} {
		s := newSet(IPv4, 1)
		s.appendKey(nthConsecutive(IPv4, n, 24), 24)
		if got := s.At(0).Addr().String(); got != want {
			t.Errorf("/24 number %d: %s, want %s", n, got, want)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		family Family
		count  int
		want   string
	}{
		{Dense, IPv4, 20_000_000, "20000000 IPv4 prefixes were asked for, but layout dense holds at most 14548992"},
		{DFZ, IPv6, 5_000_000, "5000000 IPv6 prefixes were asked for, but layout dfz holds at most 4194304"},
		{Linear32, IPv6, 1 << 27, "at most 67108864"},
		{Random, IPv4, 0, "at least 1"},
		{Random, IPv4, -1, "at least 1"},
		{File, IPv4, 1, "read from a file"},
		{"round", IPv4, 1, "unknown"},
		{Dense, 5, 1, "neither IPv4 nor IPv6"},
	} {
		_, err := Generate(c.layout, c.family, c.count, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %d: %v, want %s", c.layout, c.family, c.count, err, c.want)
		}
	}
}

func TestParseLayout(t *testing.T) {
	for _, l := range Layouts() {
		if got, err := ParseLayout(string(l)); err != nil || got != l {
			t.Errorf("%s: %s, %v", l, got, err)
		}
	}
	if _, err := ParseLayout("round"); err == nil || !strings.Contains(err.Error(), "dense, sparse, random, linear32, dfz, file") {
		t.Errorf("round: %v", err)
	}
}

// A million of any layout is quick; the limit leaves room for a busy machine.
func TestGenerateMillion(t *testing.T) {
	for _, l := range generated {
		for _, f := range []Family{IPv4, IPv6} {
			start := time.Now()
			s, err := Generate(l, f, 1_000_000, 3)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			t.Logf("%s %s: %v", l, f, took)
			if s.Len() != 1_000_000 || !(l == Random || s.ascends() || l == Dense) {
				t.Errorf("%s %s: %d prefixes", l, f, s.Len())
			}
			if took > 5*time.Second {
				t.Errorf("%s %s: a million prefixes took %v", l, f, took)
			}
		}
	}
}

// A table larger than the snapshot keeps its rules and stays like the Internet.
func TestDFZBeyondTheSnapshot(t *testing.T) {
	for f, counts := range map[Family][]int{IPv4: {maxDFZ}, IPv6: {200_000, maxDFZ}} {
		for _, count := range counts {
			s, err := Generate(DFZ, f, count, 1)
			if err != nil {
				t.Fatal(err)
			}
			common, nested := 0, 0
			for i := range s.Len() {
				if i > 0 && s.compare(i-1, i) >= 0 {
					t.Fatalf("%s %d: prefix %d, %s, is not above %s", f, count, i, s.At(i), s.At(i-1))
				}
				if s.Bits(i) == map[Family]int{IPv4: 24, IPv6: 48}[f] {
					common++
				}
				if i > 0 && s.key(i).mask(s.Bits(i-1)) == s.key(i-1) {
					nested++
				}
			}
			share := 100 * common / count
			t.Logf("%s %d: %d %% of the common length, %d %% right below their cover", f, count, share, 100*nested/count)
			if share < 40 || share > 85 {
				t.Errorf("%s %d: %d %% of the common length", f, count, share)
			}
		}
	}
}

func TestSample(t *testing.T) {
	s, err := Generate(Linear32, IPv4, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{
		1:  "20.0.0.0/32",
		3:  "20.0.0.0/32 20.0.0.3/32 20.0.0.6/32",
		10: text(s),
	} {
		got, err := s.Sample(n)
		if err != nil || text(got) != want {
			t.Errorf("%d of 10: %s, %v", n, text(got), err)
		}
	}
	if _, err := s.Sample(11); err == nil || err.Error() != "11 IPv4 prefixes were asked for, but there are only 10" {
		t.Errorf("11 of 10: %v", err)
	}
	if _, err := s.Sample(0); err == nil {
		t.Error("0 of 10: no error")
	}
}
