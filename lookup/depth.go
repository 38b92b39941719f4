package lookup

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"

	"fibchurn/internal/prefixes"
	"fibchurn/results"
)

// IPv6Depth computes how deep the prefixes of a set lie in the tree that the kernel
// makes of them: a binary radix tree whose nodes are the prefixes, and one
// intermediate node without a route wherever two part (fib6_add_1,
// net/ipv6/ip6_fib.c). The root is ::/0. The tree does not depend on the order in
// which routes were added. What else is in the table (fe80::/64 of each interface)
// is not counted.
//
// A Depth is the mean and the largest number of nodes above a route.
func IPv6Depth(set *prefixes.Set, table uint32) (results.Depth, error) {
	if set.Family() != prefixes.IPv6 {
		return results.Depth{}, fmt.Errorf("the depth of %s routes is the kernel's to tell", set.Family())
	}
	t := radixOf(set)
	d := results.Depth{Table: table, Max: int(t.max), Computed: true}
	if t.routes > 0 {
		d.Average = float64(t.sum) / float64(t.routes)
	}
	return d, nil
}

// A radix is a subtree: what is known of it is all that its depth takes.
type radix struct {
	addr   netip.Addr
	bits   int   // fn_bit
	routes int64 // in the subtree
	nodes  int64
	sum    int64 // of the routes' depths below this node
	max    int64
}

// take makes sub a child.
func (r *radix) take(sub radix) {
	r.routes += sub.routes
	r.nodes += sub.nodes
	r.sum += sub.sum + sub.routes
	if sub.routes > 0 {
		r.max = max(r.max, sub.max+1)
	}
}

// radixOf builds the tree in ascending order of prefixes, keeping only the path
// from the root to the last one: a subtree is complete when a prefix comes that is
// not in it.
func radixOf(set *prefixes.Set) radix {
	path := []radix{{addr: netip.IPv6Unspecified(), nodes: 1}}
	for _, i := range ascending(set) {
		p := set.At(int(i))
		path = climb(path, p)
		if p.Bits() == 0 {
			path[0].routes++
			continue
		}
		path = append(path, radix{addr: p.Addr(), bits: p.Bits(), routes: 1, nodes: 1})
	}
	for len(path) > 1 {
		last := len(path) - 1
		path[last-1].take(path[last])
		path = path[:last]
	}
	return path[0]
}

// climb closes subtrees until the last of the path contains p, and puts an
// intermediate node where p parts from one.
func climb(path []radix, p netip.Prefix) []radix {
	for {
		last := len(path) - 1
		common := min(commonBits(path[last].addr, p.Addr()), p.Bits())
		if path[last].bits <= common {
			return path
		}
		closed := path[last]
		path = path[:last]
		if path[last-1].bits < common {
			path = append(path, radix{addr: p.Addr(), bits: common, nodes: 1})
		}
		path[len(path)-1].take(closed)
	}
}

// commonBits is how many first bits two addresses share (__ipv6_addr_diff).
func commonBits(a, b netip.Addr) int {
	x, y := a.As16(), b.As16()
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			return 8*i + bits.LeadingZeros8(d)
		}
	}
	return 128
}

// ascending is the indexes of a set in ascending order, a shorter prefix before
// the longer ones of the same address.
func ascending(set *prefixes.Set) []uint32 {
	order := make([]uint32, set.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return set.At(int(a)).Compare(set.At(int(b))) })
	return order
}
