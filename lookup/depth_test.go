package lookup

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"fibchurn/internal/prefixes"
)

// A fib6Node is a node as net/ipv6/ip6_fib.c has it.
type fib6Node struct {
	key         netip.Addr
	bit         int
	route       bool
	left, right *fib6Node
}

// add is fib6_add_1, in the words of the kernel.
func (root *fib6Node) add(p netip.Prefix) {
	var parent *fib6Node
	fn := root
	for fn != nil {
		if p.Bits() < fn.bit || commonBits(fn.key, p.Addr()) < fn.bit {
			insertAbove(parent, fn, p)
			return
		}
		if p.Bits() == fn.bit {
			fn.route = true
			return
		}
		parent, fn = fn, *fn.child(p.Addr())
	}
	*parent.child(p.Addr()) = &fib6Node{key: p.Addr(), bit: p.Bits(), route: true}
}

func (n *fib6Node) child(a netip.Addr) **fib6Node {
	b := a.As16()
	if b[n.bit/8]>>(7-n.bit%8)&1 == 1 {
		return &n.right
	}
	return &n.left
}

func insertAbove(parent, fn *fib6Node, p netip.Prefix) {
	leaf := &fib6Node{key: p.Addr(), bit: p.Bits(), route: true}
	bit := commonBits(p.Addr(), fn.key)
	if p.Bits() > bit {
		in := &fib6Node{key: p.Addr(), bit: bit}
		*parent.child(p.Addr()) = in
		*in.child(p.Addr()), *in.child(fn.key) = leaf, fn
		return
	}
	*parent.child(p.Addr()) = leaf
	*leaf.child(fn.key) = fn
}

func (n *fib6Node) walk(depth int, f func(n *fib6Node, depth int)) {
	if n != nil {
		f(n, depth)
		n.left.walk(depth+1, f)
		n.right.walk(depth+1, f)
	}
}

func TestIPv6DepthAgreesWithTheKernelsInsertion(t *testing.T) {
	for _, layout := range []prefixes.Layout{prefixes.DFZ, prefixes.Random, prefixes.Dense, prefixes.Linear32, prefixes.Sparse} {
		for _, count := range []int{1, 2, 3, 100, 5000} {
			set, err := prefixes.Generate(layout, prefixes.IPv6, count, 3)
			if err != nil {
				t.Fatal(err)
			}
			compareDepth(t, set)
		}
	}
}

// Nested prefixes at random, ::/0 among them.
func TestIPv6DepthOfNestedPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		seen := map[netip.Prefix]bool{}
		var list strings.Builder
		for range 1 + rng.IntN(60) {
			p := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, byte(rng.UintN(4)), byte(rng.UintN(256))}), rng.IntN(129)).Masked()
			if !seen[p] {
				seen[p] = true
				list.WriteString(p.String() + "\n")
			}
		}
		path := t.TempDir() + "/prefixes"
		writeFile(t, path, list.String())
		content, err := prefixes.ReadFile(path, prefixes.IPv6)
		if err != nil {
			t.Fatal(err)
		}
		compareDepth(t, content.Set)
	}
}

func compareDepth(t *testing.T, set *prefixes.Set) {
	t.Helper()
	root := &fib6Node{key: netip.IPv6Unspecified()}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(set.Len()) {
		root.add(set.At(i))
	}
	nodes, routes, sum, deepest := 0, 0, 0, 0
	root.walk(0, func(n *fib6Node, depth int) {
		nodes++
		if n.route {
			routes, sum, deepest = routes+1, sum+depth, max(deepest, depth)
		}
	})
	got, err := IPv6Depth(set, 254)
	if err != nil {
		t.Fatal(err)
	}
	tree := radixOf(set)
	if routes != set.Len() || int(tree.routes) != routes || int(tree.nodes) != nodes || got.Max != deepest ||
		math.Abs(got.Average-float64(sum)/float64(routes)) > 1e-9 || !got.Computed || got.Table != 254 {
		t.Errorf("%d prefixes: %+v with %d nodes; the kernel's insertion gives %d nodes, average %g, max %d", set.Len(), got, tree.nodes, nodes, float64(sum)/float64(routes), deepest)
	}
}

func TestIPv6DepthRefusesIPv4(t *testing.T) {
	if d, err := IPv6Depth(generate(t, prefixes.IPv4, 10), 254); err == nil {
		t.Errorf("%+v", d)
	}
}
