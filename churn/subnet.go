package churn

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A pool is the range of addresses that a family's subnets come from.
type pool struct {
	first, end uint64 // IPv4: addresses; IPv6: upper halves of addresses
	minBits    int    // shortest prefix length
	maxBits    int    // longest
}

// poolOf returns 10.0.0.0 to 126.255.255.255, or 2001:db8::/32 (RFC 3849) and the
// 2001:db9:: to 2001:fff:: after it. The namespace has no other end, so who owns
// the addresses elsewhere does not matter; that they are no loopback, multicast or
// reserved ones does.
func poolOf(family int) pool {
	if family == 6 {
		return pool{0x20010db8_00000000, 0x20011000_00000000, 32, 128}
	}
	return pool{10 << 24, 127 << 24, 8, 32}
}

// capacity is how many subnets of that length the space holds, at most 1<<62.
func (s pool) capacity(bits int) uint64 {
	unit := s.unitBits()
	if bits <= unit {
		return (s.end - s.first) >> (unit - bits)
	}
	if bits-unit >= 20 { // more than an index holds
		return 1 << 62
	}
	return (s.end - s.first) << (bits - unit)
}

// unitBits is the prefix length of one unit of first and end.
func (s pool) unitBits() int {
	if s.maxBits == 128 {
		return 64
	}
	return 32
}

// subnet is the i-th subnet of that length of a family's pool, the network
// address itself.
func subnet(family, bits int, i uint64) netip.Prefix {
	s := poolOf(family)
	if family == 4 {
		return netip.PrefixFrom(ip4(uint32(s.first+i<<(32-bits))), bits)
	}
	high, low := s.first, uint64(0)
	if bits <= 64 {
		high += i << (64 - bits)
	} else {
		low = i << (128 - bits)
		high += i >> (bits - 64)
	}
	return netip.PrefixFrom(ip6(high, low), bits)
}

// usualBits is the prefix length of a local subnet, unless the spec says otherwise.
func usualBits(family int) int {
	if family == 6 {
		return 64
	}
	return 24
}

// host is the address number n (from 0) of a subnet that an interface may have:
// network address + 1 + n, and from the network address on where the subnet has
// no broadcast address (/31, /32, /127, /128).
func host(subnet netip.Prefix, n uint64) netip.Prefix {
	free := subnet.Addr().BitLen() - subnet.Bits()
	if free > 1 {
		n++
	}
	var a netip.Addr
	if subnet.Addr().Is4() {
		b := subnet.Addr().As4()
		a = ip4(binary.BigEndian.Uint32(b[:]) + uint32(n))
	} else {
		b := subnet.Addr().As16()
		a = ip6(binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])+n)
	}
	return netip.PrefixFrom(a, subnet.Bits())
}

// hosts is how many addresses of a subnet an interface may have, at most 1<<62.
func hosts(family, bits int) uint64 {
	free := poolOf(family).maxBits - bits
	switch {
	case free >= 62:
		return 1 << 62
	case free <= 1:
		return 1 << free
	}
	return 1<<free - 2
}

// bitsForHosts is the longest prefix length, at most usual, whose subnets hold n
// addresses.
func bitsForHosts(family, usual int, n uint64) (int, error) {
	for bits := usual; bits >= poolOf(family).minBits; bits-- {
		if hosts(family, bits) >= n {
			return bits, nil
		}
	}
	return 0, fmt.Errorf("no IPv%d subnet holds %d addresses", family, n)
}

func ip4(v uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	return netip.AddrFrom4(b)
}

func ip6(high, low uint64) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low)
	return netip.AddrFrom16(b)
}
