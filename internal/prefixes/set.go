package prefixes

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"net/netip"
)

// A Family is an address family, named by its IP version.
type Family uint8

// The families a [Set] can be of.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// String returns "IPv4" or "IPv6".
func (f Family) String() string {
	switch f {
	case IPv4:
		return "IPv4"
	case IPv6:
		return "IPv6"
	}
	return fmt.Sprintf("Family(%d)", uint8(f))
}

// Bits is the length of an address in bits: 32 or 128.
func (f Family) Bits() int {
	if f == IPv6 {
		return 128
	}
	return 32
}

func (f Family) valid() error {
	if f != IPv4 && f != IPv6 {
		return fmt.Errorf("address family %d is neither IPv4 nor IPv6", uint8(f))
	}
	return nil
}

// MaxSet is the largest number of prefixes one [Set] may hold. It bounds what a
// mistyped count makes the process allocate (1.1 GB for IPv6).
const MaxSet = 1 << 26

// A Set is an ordered list of distinct, canonical prefixes of one family. It
// cannot be changed once made and may be read from several goroutines.
//
// It is compact, since it lives beside the measured table: 5 bytes for an IPv4
// prefix, 17 for an IPv6 one (a netip.Prefix has 32).
type Set struct {
	family Family
	v4     []uint32
	v6     []uint128
	bits   []uint8
}

// A uint128 is an IPv6 address as two words, the first bit of the address being
// the highest of hi.
type uint128 struct{ hi, lo uint64 }

func newSet(f Family, capacity int) *Set {
	s := &Set{family: f, bits: make([]uint8, 0, capacity)}
	if f == IPv6 {
		s.v6 = make([]uint128, 0, capacity)
	} else {
		s.v4 = make([]uint32, 0, capacity)
	}
	return s
}

// Family is the family of every prefix of the set.
func (s *Set) Family() Family { return s.family }

// Len is the number of prefixes.
func (s *Set) Len() int { return len(s.bits) }

// Bits is the length of prefix i, 0 to 32 or 0 to 128.
func (s *Set) Bits(i int) int { return int(s.bits[i]) }

// At returns prefix i.
func (s *Set) At(i int) netip.Prefix {
	if s.family == IPv6 {
		var b [16]byte
		s.v6[i].put(b[:])
		return netip.PrefixFrom(netip.AddrFrom16(b), int(s.bits[i]))
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], s.v4[i])
	return netip.PrefixFrom(netip.AddrFrom4(b), int(s.bits[i]))
}

// AppendAddr appends the address of prefix i to buf in network byte order, 4 or
// 16 bytes, as RTA_DST carries it. It allocates only where buf has no room.
func (s *Set) AppendAddr(buf []byte, i int) []byte {
	if s.family == IPv6 {
		buf = binary.BigEndian.AppendUint64(buf, s.v6[i].hi)
		return binary.BigEndian.AppendUint64(buf, s.v6[i].lo)
	}
	return binary.BigEndian.AppendUint32(buf, s.v4[i])
}

// All yields every index and prefix in order.
func (s *Set) All() iter.Seq2[int, netip.Prefix] {
	return func(yield func(int, netip.Prefix) bool) {
		for i := range s.Len() {
			if !yield(i, s.At(i)) {
				return
			}
		}
	}
}

// Sample returns n prefixes taken evenly from the whole set, in its order:
// prefix i of the sample is prefix i*Len/n of the set. It is an error to ask for
// more than there are, or for less than one.
func (s *Set) Sample(n int) (*Set, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("a sample of %d prefixes was asked for: at least 1 is needed", n)
	case n > s.Len():
		return nil, fmt.Errorf("%d %s prefixes were asked for, but there are only %d", n, s.family, s.Len())
	case n == s.Len():
		return s, nil
	}
	out := newSet(s.family, n)
	for i := range n {
		out.appendFrom(s, int(uint64(i)*uint64(s.Len())/uint64(n)))
	}
	return out, nil
}

func (s *Set) appendFrom(from *Set, i int) {
	if s.family == IPv6 {
		s.v6 = append(s.v6, from.v6[i])
	} else {
		s.v4 = append(s.v4, from.v4[i])
	}
	s.bits = append(s.bits, from.bits[i])
}

// appendKey adds the prefix whose address starts at the top of key: an IPv4
// address is the high 32 bits of key.hi.
func (s *Set) appendKey(key uint128, bits int) {
	if s.family == IPv6 {
		s.v6 = append(s.v6, key)
	} else {
		s.v4 = append(s.v4, uint32(key.hi>>32))
	}
	s.bits = append(s.bits, uint8(bits))
}

func (s *Set) appendPrefix(p netip.Prefix) {
	s.appendKey(keyOf(p.Addr()), p.Bits())
}

// key is the address of prefix i, left-aligned.
func (s *Set) key(i int) uint128 {
	if s.family == IPv6 {
		return s.v6[i]
	}
	return uint128{hi: uint64(s.v4[i]) << 32}
}

// compare orders prefixes by address, the shorter first where it is the same:
// the order of a routing table dump, in which a covering prefix precedes what
// it covers.
func (s *Set) compare(i, j int) int {
	if c := s.key(i).compare(s.key(j)); c != 0 {
		return c
	}
	return int(s.bits[i]) - int(s.bits[j])
}

func keyOf(a netip.Addr) uint128 {
	if a.Is4() {
		b := a.As4()
		return uint128{hi: uint64(binary.BigEndian.Uint32(b[:])) << 32}
	}
	b := a.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func (u uint128) put(b []byte) {
	binary.BigEndian.PutUint64(b[:8], u.hi)
	binary.BigEndian.PutUint64(b[8:], u.lo)
}

func (u uint128) compare(v uint128) int {
	switch {
	case u.hi < v.hi || u.hi == v.hi && u.lo < v.lo:
		return -1
	case u == v:
		return 0
	}
	return 1
}

// mask keeps the first bits of u.
func (u uint128) mask(bits int) uint128 {
	switch {
	case bits <= 64:
		return uint128{hi: u.hi & (math.MaxUint64 << (64 - bits))}
	default:
		return uint128{hi: u.hi, lo: u.lo & (math.MaxUint64 << (128 - bits))}
	}
}

// setBit sets bit i, counted from the first bit of the address.
func (u uint128) setBit(i int) uint128 {
	if i < 64 {
		u.hi |= 1 << (63 - i)
	} else {
		u.lo |= 1 << (127 - i)
	}
	return u
}

// bit is bit i, counted from the first bit of the address.
func (u uint128) bit(i int) bool {
	if i < 64 {
		return u.hi>>(63-i)&1 == 1
	}
	return u.lo>>(127-i)&1 == 1
}
