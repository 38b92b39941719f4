package lctrie

// The thresholds of resize, in percent of the children of the tnode that is to
// be (inflate) or that is (halve). A root tnode is kept larger, because every
// lookup goes through it.
const (
	inflateThreshold     = 50
	inflateThresholdRoot = 30
	halveThreshold       = 25
	halveThresholdRoot   = 15

	// maxWork (MAX_WORK) bounds the inflates and halves of one call of resize.
	maxWork = 10
)

// rebalance resizes every tnode from n up to the root (trie_rebalance).
func (t *Trie) rebalance(n *node) {
	for n != nil {
		n = t.resize(n)
	}
}

// resize inflates the tnode while it is dense, or else halves it while it is
// sparse, and drops it when one child or none remains. It returns the parent
// (resize).
func (t *Trie) resize(n *node) *node {
	t.events.Resizes++
	parent := n.parent
	work := maxWork
	for ; work > 0 && n.shouldInflate(); work-- {
		n = t.inflate(n)
	}
	if work < maxWork {
		return parent
	}
	for ; work > 0 && n.shouldHalve(); work-- {
		n = t.halve(n)
	}
	if n.used() < 2 {
		t.collapse(n)
	}
	return parent
}

// shouldInflate says whether the tnode, doubled, would have enough children
// that are not nil. A full child becomes two, so it counts twice
// (should_inflate).
func (n *node) shouldInflate() bool {
	threshold := inflateThreshold
	if n.parent == nil {
		threshold = inflateThresholdRoot
	}
	used := n.used() + n.full
	return used > 1 && n.pos > 0 && 100*used >= threshold*2*len(n.child)
}

// shouldHalve says whether too few of the children are not nil (should_halve).
func (n *node) shouldHalve() bool {
	threshold := halveThreshold
	if n.parent == nil {
		threshold = halveThresholdRoot
	}
	return n.used() > 1 && n.bits > 1 && 100*n.used() < threshold*len(n.child)
}

// inflate replaces the tnode by one of twice the children, which takes one bit
// from each full child (inflate).
func (t *Trie) inflate(old *node) *node {
	t.events.inflate(old)
	n := newTnode(old.key, old.pos-1, old.bits+1)
	for i := len(old.child) - 1; i >= 0; i-- {
		c := old.child[i]
		switch {
		case c == nil:
		case old.isFullChild(c):
			t.events.divide(c)
			n.put(2*i, c.half(0))
			n.put(2*i+1, c.half(1))
		default:
			n.put(n.index(c.key), c)
		}
	}
	return t.replace(old, n)
}

// half returns a tnode with the lower (0) or upper (1) half of n's children; of
// a tnode with two children, the child itself (inflate).
func (n *node) half(upper int) *node {
	if n.bits == 1 {
		return n.child[upper]
	}
	size := len(n.child) / 2
	h := newTnode(n.key|uint32(upper*size)<<n.pos, n.pos, n.bits-1)
	for i := range size {
		h.put(i, n.child[upper*size+i])
	}
	return h
}

// halve replaces the tnode by one of half the children. Two neighbours of which
// neither is nil go below a new tnode of one bit (halve).
func (t *Trie) halve(old *node) *node {
	t.events.halve(old)
	n := newTnode(old.key, old.pos+1, old.bits-1)
	for i := len(n.child) - 1; i >= 0; i-- {
		low, high := old.child[2*i], old.child[2*i+1]
		switch {
		case low == nil:
			n.put(i, high)
		case high == nil:
			n.put(i, low)
		default:
			t.events.Paired++
			pair := newTnode(low.key, old.pos, 1)
			pair.put(0, low)
			pair.put(1, high)
			n.put(i, pair)
		}
	}
	return t.replace(old, n)
}

// replace puts n in the place of old and then resizes the full children, which
// are new or have a new parent, from the last to the first (replace).
func (t *Trie) replace(old, n *node) *node {
	t.link(old.parent, n)
	for i := len(n.child) - 1; i >= 0; i-- {
		if c := n.child[i]; n.isFullChild(c) {
			t.resize(c)
		}
	}
	return n
}

// collapse puts the tnode's only child, or nothing, in its place (collapse).
func (t *Trie) collapse(n *node) {
	t.events.collapse(n)
	if c := n.onlyChild(); c != nil {
		t.link(n.parent, c)
		return
	}
	t.unlink(n)
}
