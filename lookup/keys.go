package lookup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"fibchurn/internal/prefixes"
)

// Keys are the addresses that a probe asks for, in order, over and over.
type Keys struct {
	family prefixes.Family
	size   int // bytes of an address
	addrs  []byte
}

// Len is the number of keys.
func (k *Keys) Len() int { return len(k.addrs) / k.size }

// Family is the family of every key.
func (k *Keys) Family() prefixes.Family { return k.family }

// At returns key i.
func (k *Keys) At(i int) netip.Addr {
	a, _ := netip.AddrFromSlice(k.raw(i))
	return a
}

// raw is key i in network byte order.
func (k *Keys) raw(i int) []byte { return k.addrs[i*k.size : (i+1)*k.size] }

// The kinds of keys.
const (
	// Hit is addresses drawn from the prefixes: a prefix is drawn, then an address
	// in it. One in a longer prefix of the table matches that.
	Hit = "hit"
	// Miss is unicast addresses that no prefix of the table contains.
	Miss = "miss"
	// Mixed is hits and misses in turn.
	Mixed = "mixed"
	// Boundary is the addresses at the edges of prefixes: the last before it, the
	// first, the last, the first after it.
	Boundary = "boundary"
)

// The orders of keys.
const (
	Random = "random" // as drawn
	Scan   = "scan"   // ascending
	// Chain is as drawn, but which key is next depends on the last answer, so that
	// no lookup can begin before the one before it has ended.
	Chain = "chain"
)

// KeyKinds and KeyOrders list what a spec may name.
func KeyKinds() []string  { return []string{Hit, Miss, Mixed, Boundary} }
func KeyOrders() []string { return []string{Random, Scan, Chain} }

// MaxKeys bounds the keys of a probe: each takes up to 80 bytes with what is kept
// of its answers.
const MaxKeys = 1 << 20

// missPatience is how often an address may turn out to be covered before it is
// taken that none is free.
const missPatience = 10_000

// NewKeys draws the keys of a spec for a table of the prefixes of set; covered
// reports whether any prefix of the table contains an address. Equal arguments
// give equal keys.
//
// Addresses that the FIB's routes alone do not decide are left out: 0.0.0.0/8,
// 127.0.0.0/8, 224.0.0.0/3, and all outside 2000::/3 and fc00::/7.
func NewKeys(s *Spec, set *prefixes.Set, covered func(netip.Addr) bool) (*Keys, error) {
	d := drawing{
		set: set, covered: covered, family: s.family(),
		rng: rand.New(rand.NewPCG(s.Seed, uint64(s.family()))),
	}
	if s.Dst != "" {
		dst, err := parseDst(s.Dst)
		if err != nil {
			return nil, err
		}
		return d.keys(s, func() error { return d.add(d.within(dst)) })
	}
	if set.Len() == 0 && s.Keys != Miss {
		return nil, fmt.Errorf("--keys %s: the table is empty; --keys miss or --dst would do", s.Keys)
	}
	draws := map[string]func() error{
		Hit:      d.hit,
		Miss:     d.miss,
		Boundary: d.boundary,
		Mixed: func() error {
			if len(d.out)/d.size()%2 == 0 {
				return d.hit()
			}
			return d.miss()
		},
	}
	return d.keys(s, draws[s.Keys])
}

// parseDst reads an address or a prefix.
func parseDst(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("--dst %s: neither an address nor a prefix", text)
	}
	return p.Masked(), nil
}

// A drawing is keys being drawn.
type drawing struct {
	set     *prefixes.Set
	covered func(netip.Addr) bool
	family  prefixes.Family
	rng     *rand.Rand
	out     []byte
}

func (d *drawing) size() int { return d.family.Bits() / 8 }

// keys calls draw, each call of which adds none or more, until there are enough.
func (d *drawing) keys(s *Spec, draw func() error) (*Keys, error) {
	d.out = make([]byte, 0, (s.KeyCount+4)*d.size())
	for idle := 0; len(d.out) < s.KeyCount*d.size(); idle++ {
		before := len(d.out)
		if err := draw(); err != nil {
			return nil, err
		}
		if len(d.out) > before {
			idle = 0
		}
		if idle == missPatience {
			return nil, fmt.Errorf("--keys %s: the table holds no usable unicast address", s.Keys)
		}
	}
	k := &Keys{family: d.family, size: d.size(), addrs: d.out[:s.KeyCount*d.size()]}
	if s.Order == Scan {
		k.sort()
	}
	return k, nil
}

// add takes an address, unless it is none that routes alone decide about.
func (d *drawing) add(a netip.Addr) error {
	if usable(a) {
		d.out = append(d.out, a.AsSlice()...)
	}
	return nil
}

func (d *drawing) hit() error {
	return d.add(d.within(d.set.At(d.rng.IntN(d.set.Len()))))
}

func (d *drawing) miss() error {
	for range missPatience {
		if a := d.within(d.unicast()); usable(a) && !d.covered(a) {
			return d.add(a)
		}
	}
	return fmt.Errorf("--keys: of %d addresses drawn none missed the table: it covers them all", missPatience)
}

func (d *drawing) boundary() error {
	p := d.set.At(d.rng.IntN(d.set.Len()))
	first, last := p.Addr(), lastOf(p)
	for _, a := range []netip.Addr{first.Prev(), first, last, last.Next()} {
		if a.IsValid() {
			if err := d.add(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// unicast is the space that misses are drawn from.
func (d *drawing) unicast() netip.Prefix {
	if d.family == prefixes.IPv6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{}), 0)
}

// within draws an address of p.
func (d *drawing) within(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		free := min(8, max(0, 8*(i+1)-p.Bits())) // low bits of this byte
		b[i] |= byte(d.rng.UintN(1 << free))
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		b[i] |= byte(1<<min(8, max(0, 8*(i+1)-p.Bits())) - 1)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// usable reports whether the routes of a table alone decide about an address: no
// loopback, multicast, link-local or reserved one.
func usable(a netip.Addr) bool {
	b := a.AsSlice()
	if a.Is4() {
		return b[0] != 0 && b[0] != 127 && b[0] < 224
	}
	return b[0]>>5 == 1 || b[0]>>1 == 0xfc>>1
}

// sort puts the keys into ascending order.
func (k *Keys) sort() {
	order := make([]int, k.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(k.raw(a), k.raw(b)) })
	sorted := make([]byte, 0, len(k.addrs))
	for _, i := range order {
		sorted = append(sorted, k.raw(i)...)
	}
	k.addrs = sorted
}
