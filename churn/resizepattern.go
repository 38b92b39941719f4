package churn

import (
	"fmt"
	"net/netip"

	"fibchurn/internal/lctrie"
)

// A routeOp is the addition or removal of one route.
type routeOp struct {
	prefix netip.Prefix
	remove bool
	beside bool // none of the pattern's own routes, whose number is the size
	aside  bool // ballast: in the main table also where the pattern has its own
}

// growth is what the operation adds to the number of routes.
func (o routeOp) growth() int64 {
	if o.remove {
		return -1
	}
	return 1
}

// sizesOf sums up what operations add to the number of the pattern's own routes and
// to that of the others.
func sizesOf(ops []routeOp) (own, beside int64) {
	for _, op := range ops {
		if op.beside {
			beside += op.growth()
		} else {
			own += op.growth()
		}
	}
	return own, beside
}

func (o routeOp) verb() string {
	if o.remove {
		return "delete"
	}
	return "add"
}

// A sequence is a table to begin with and the operations on it: cycle, gone
// through cycles times.
type sequence struct {
	setup  []routeOp
	cycle  []routeOp
	cycles int
}

func (s *sequence) ops() int         { return len(s.cycle) * s.cycles }
func (s *sequence) at(i int) routeOp { return s.cycle[i%len(s.cycle)] }

// A resizeCells has the sequences of both cells. Their operations are the same
// and their tables have the same number of routes at each; they differ in what
// else is in the tables: the control holds the tnode in question open.
type resizeCells struct {
	crossing, control sequence
	// By the model: the number of dense routes at which the tnode of the pattern's
	// bits is inflated, and left at which it is halved again.
	inflateAt, halveAt int
}

// A block is where a pattern's dense routes are: the first 1<<bits prefixes of one
// length of 10.0.0.0/8, aligned, so that they come below one tnode.
type block struct {
	root bool
	bits int // of the tnode below the threshold
}

const blockKey = 10 << 24

// length is the dense routes' prefix length: /24 while the block has room in
// 10.0.0.0/8.
func (b block) length() int { return max(24, 8+b.bits) }

func (b block) step() uint32 { return 1 << (32 - b.length()) }

// route is the i-th dense route, half one in the upper half of its place: where
// the tnode has one bit more it has a child of its own.
func (b block) route(i int) netip.Prefix {
	return netip.PrefixFrom(ip4(blockKey+uint32(i)*b.step()), b.length())
}

func (b block) half(i int) netip.Prefix {
	return netip.PrefixFrom(ip4(blockKey+uint32(i)*b.step()+b.step()/2), b.length()+1)
}

// alias is a route of another length on the address of the block's first: one
// alias more in its leaf, and nothing else.
func (b block) alias(length int) netip.Prefix { return netip.PrefixFrom(ip4(blockKey), length) }

// cover is 10.0.0.0/8. With its suffix length below the tnode no removed leaf has
// the tnode's, so that removals do not search its children for the next
// (update_suffix), which would drown what resize costs.
func (b block) cover() routeOp { return routeOp{prefix: b.alias(8), beside: true} }

// dense are the operations that add the routes [0, n), or remove them from the
// last to the first.
func (b block) dense(from, to int, remove bool) []routeOp {
	ops := make([]routeOp, 0, to-from)
	for i := from; i < to; i++ {
		k := i
		if remove {
			k = to - 1 - (i - from)
		}
		ops = append(ops, routeOp{prefix: b.route(k), remove: remove})
	}
	return ops
}

// ballast are routes far from the block that make up for what the control has in
// it.
func (b block) ballast(n int) []routeOp {
	ops := make([]routeOp, n)
	for i := range ops {
		ops[i] = routeOp{prefix: netip.PrefixFrom(ip4(192<<24+uint32(i)*b.step()), b.length()), beside: true, aside: true}
	}
	return ops
}

// newResizeModel is the trie of a table before the first route: that of the main
// table has the loopback interface's local entries, as both tables share one
// until the first rule (fib_add_ifaddr, net/ipv4/fib_frontend.c).
func newResizeModel(root bool) (*lctrie.Trie, error) {
	t := lctrie.New()
	if root {
		return t, nil
	}
	for _, p := range []string{"127.0.0.1/32", "127.0.0.0/8", "127.255.255.255/32"} {
		if _, err := t.Insert(netip.MustParsePrefix(p)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// apply does to the model of the pattern's table what the operation does to the
// kernel's.
func apply(t *lctrie.Trie, op routeOp, root bool) (lctrie.Events, error) {
	switch {
	case op.aside && root:
		return lctrie.Events{}, nil // in another table
	case op.remove:
		return t.Delete(op.prefix)
	}
	return t.Insert(op.prefix)
}

// thresholds finds by the model at how many dense routes the tnode is inflated,
// and to how many they must then fall until it is halved again.
func (b block) thresholds() (inflateAt, halveAt int, err error) {
	t, err := newResizeModel(b.root)
	if err != nil {
		return 0, 0, err
	}
	if _, err := apply(t, b.cover(), b.root); err != nil {
		return 0, 0, err
	}
	n := 0
	for found := false; !found; n++ {
		if n == 1<<b.bits {
			return 0, 0, fmt.Errorf("%d routes do not inflate a tnode of %d bits", n, b.bits)
		}
		e, err := t.Insert(b.route(n))
		if err != nil {
			return 0, 0, err
		}
		found = b.changes(e, lctrie.Inflate, b.bits)
	}
	inflateAt = n
	for found := false; !found; {
		if n == 1 {
			return 0, 0, fmt.Errorf("a tnode of %d bits is not halved before it is dropped", b.bits+1)
		}
		n--
		e, err := t.Delete(b.route(n))
		if err != nil {
			return 0, 0, err
		}
		found = b.changes(e, lctrie.Halve, b.bits+1)
	}
	return inflateAt, n, nil
}

// changes says whether a tnode of the block and of that size was changed so.
func (b block) changes(e lctrie.Events, kind lctrie.Kind, bits int) bool {
	for _, c := range e.Changes {
		if c.Kind == kind && c.Before == bits && c.Tnode.Bits() >= 8 && b.alias(8).Contains(c.Tnode.Addr()) {
			return true
		}
	}
	return false
}
