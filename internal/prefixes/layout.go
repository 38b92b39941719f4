package prefixes

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Layout says how the prefixes of a table lie in the address space, which
// decides the shape of the trie the kernel makes of them.
type Layout string

// The layouts. All but File can be generated.
const (
	// Dense is consecutive /24s from 20.0.0.0, or /64s from 2001:db8::. Its trie
	// is full: few, large tnodes.
	Dense Layout = "dense"
	// Sparse is /24s, or /64s, at equal distances over the whole unicast space
	// (IPv6: 2000::/3). Its trie is shallow: gaps are as wide as they can be.
	Sparse Layout = "sparse"
	// Random is /24s, or /64s, drawn uniformly from the same space without
	// repetition, in the order drawn.
	Random Layout = "random"
	// Linear32 is consecutive host routes: /32s from 20.0.0.0, /128s from
	// 2001:db8::.
	Linear32 Layout = "linear32"
	// DFZ is a table like that of the Internet's default-free zone: see
	// dfz.go for its source.
	DFZ Layout = "dfz"
	// File is what [ReadFile] has read.
	File Layout = "file"
)

// Layouts returns every layout, in the order a help text shows them.
func Layouts() []Layout {
	return []Layout{Dense, Sparse, Random, Linear32, DFZ, File}
}

// ParseLayout returns the layout of that name. The error lists the names.
func ParseLayout(name string) (Layout, error) {
	if l := Layout(name); slices.Contains(Layouts(), l) {
		return l, nil
	}
	var names []string
	for _, l := range Layouts() {
		names = append(names, string(l))
	}
	return "", fmt.Errorf("layout %q is none of %s", name, strings.Join(names, ", "))
}

// Generate returns count prefixes of a layout. Equal arguments give equal sets,
// on every machine; seed is used by Random and DFZ only. The prefixes are
// distinct and canonical, and none is in 0.0.0.0/8, 127.0.0.0/8 or 224.0.0.0/3,
// or outside 2000::/3. Dense, Sparse, Linear32 (but see below) and DFZ ascend;
// Dense and Linear32 go on at 128.0.0.0 after 126.255.255.255, and at 1.0.0.0
// after 223.255.255.255.
//
// It is an error to ask for less than one prefix, for more than [Capacity], or
// for File.
func Generate(l Layout, f Family, count int, seed uint64) (*Set, error) {
	most, err := Capacity(l, f)
	if err != nil {
		return nil, err
	}
	if count < 1 {
		return nil, fmt.Errorf("%d prefixes were asked for: at least 1 is needed", count)
	}
	if count > most {
		return nil, fmt.Errorf("%d %s prefixes were asked for, but layout %s holds at most %d", count, f, l, most)
	}
	switch l {
	case Dense:
		return consecutive(f, count, subnetBits(f)), nil
	case Linear32:
		return consecutive(f, count, f.Bits()), nil
	case Sparse:
		return spread(f, count), nil
	case Random:
		return random(f, count, seed), nil
	default:
		return generateDFZ(f, count, seed), nil
	}
}

// Capacity is the largest count [Generate] accepts for a layout: the size of its
// address space, and never more than [MaxSet].
func Capacity(l Layout, f Family) (int, error) {
	if err := f.valid(); err != nil {
		return 0, err
	}
	switch l {
	case Dense, Sparse, Random:
		return min(MaxSet, int(space(f, subnetBits(f)))), nil
	case Linear32:
		return MaxSet, nil
	case DFZ:
		return maxDFZ, nil
	case File:
		return 0, fmt.Errorf("layout %s is read from a file, not generated", l)
	}
	return 0, fmt.Errorf("layout %q is unknown", string(l))
}

// subnetBits is the prefix length of the layouts of subnets: the longest that
// is common in the Internet's IPv4 table, and that of an IPv6 link.
func subnetBits(f Family) int {
	if f == IPv6 {
		return 64
	}
	return 24
}

// Usable IPv4 unicast space: 1.0.0.0/8 to 126.0.0.0/8 and 128.0.0.0/8 to
// 223.0.0.0/8.
const (
	usableSlash8s = 126 + 96
	firstSlash8   = 20 // where consecutive layouts begin
)

// space is the number of prefixes of a length in the unicast space: for IPv6,
// that of 2000::/3, and of /64s at most.
func space(f Family, bits int) uint64 {
	if f == IPv6 {
		return 1 << (min(bits, 64) - 3)
	}
	return usableSlash8s << (bits - 8)
}

// unicast returns the nth prefix address of a length in the unicast space, in
// ascending order.
func unicast(f Family, n uint64, bits int) uint128 {
	if f == IPv6 {
		return uint128{hi: 1<<61 + n<<(64-bits)}
	}
	n += 1 << (bits - 8) // 0.0.0.0/8
	if n>>(bits-8) >= 127 {
		n += 1 << (bits - 8)
	}
	return uint128{hi: n << (64 - bits)}
}

func consecutive(f Family, count, bits int) *Set {
	s := newSet(f, count)
	for i := range uint64(count) {
		s.appendKey(nthConsecutive(f, i, bits), bits)
	}
	return s
}

// nthConsecutive counts on from 20.0.0.0, round the end of the unicast space, or
// from 2001:db8::, whose /32 has room for 2^32 /64s.
func nthConsecutive(f Family, n uint64, bits int) uint128 {
	if f == IPv6 {
		key := uint128{hi: 0x20010db8 << 32}
		if bits <= 64 {
			key.hi += n << (64 - bits)
		} else {
			key.lo = n << (128 - bits)
		}
		return key
	}
	start := uint64(firstSlash8-1) << (bits - 8)
	return unicast(f, (start+n)%space(f, bits), bits)
}

func spread(f Family, count int) *Set {
	length := subnetBits(f)
	s := newSet(f, count)
	for i := range uint64(count) {
		hi, lo := bits.Mul64(i, space(f, length))
		n, _ := bits.Div64(hi, lo, uint64(count))
		s.appendKey(unicast(f, n, length), length)
	}
	return s
}

// random draws again what it has drawn before. Which have been drawn it knows
// from a bitmap where the space is small, and otherwise from a sorted copy: both
// cost less than a hash table of a million entries.
func random(f Family, count int, seed uint64) *Set {
	rng := newRand(seed, "random", f)
	length := subnetBits(f)
	var drawn []uint64
	if f == IPv4 {
		drawn = distinctByBitmap(rng, space(f, length), count)
	} else {
		drawn = distinctBySorting(rng, space(f, length), count)
	}
	s := newSet(f, count)
	for _, n := range drawn {
		s.appendKey(unicast(f, n, length), length)
	}
	return s
}

func distinctByBitmap(rng *rand.Rand, space uint64, count int) []uint64 {
	seen := make([]uint64, (space+63)/64)
	out := make([]uint64, 0, count)
	for len(out) < count {
		n := rng.Uint64N(space)
		if seen[n/64]>>(n%64)&1 == 0 {
			seen[n/64] |= 1 << (n % 64)
			out = append(out, n)
		}
	}
	return out
}

func distinctBySorting(rng *rand.Rand, space uint64, count int) []uint64 {
	out := make([]uint64, count)
	for i := range out {
		out[i] = rng.Uint64N(space)
	}
	for {
		sorted := slices.Clone(out)
		slices.Sort(sorted)
		repeated := make(map[uint64]bool)
		for i := 1; i < len(sorted); i++ {
			if sorted[i] == sorted[i-1] {
				repeated[sorted[i]] = true
			}
		}
		if len(repeated) == 0 {
			return out
		}
		for i, n := range out {
			if repeated[n] {
				out[i] = rng.Uint64N(space)
			}
		}
	}
}

// newRand gives each use of a seed a stream of its own, so that the IPv4 and
// IPv6 tables of one seed are not alike.
func newRand(seed uint64, use string, f Family) *rand.Rand {
	stream := uint64(f)
	for _, c := range []byte(use) {
		stream = stream*257 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, stream))
}
