package lctrie

import "net/netip"

// Events is what one operation did to the trie besides adding or removing its
// prefix. Its work is what the operation costs above a lookup.
type Events struct {
	Splits    int // compressed paths split by a new tnode (fib_insert_node)
	Inflates  int // tnodes doubled
	Halves    int // tnodes halved
	Collapses int // tnodes dropped, with one child or none left

	Resizes     int // calls of resize, also those that changed nothing
	Divided     int // full children that an inflate divided or dissolved
	Paired      int // tnodes of one bit that a halve made for two neighbours
	SuffixReads int // children read by update_suffix

	// FreedBytes is what the tnodes replaced by inflates and halves occupied in a
	// 64-bit kernel. The sum over all namespaces reaching fib_sync_mem makes the
	// operation wait for a grace period (tnode_free).
	FreedBytes int64

	Changes []Change // splits, inflates, halves and collapses, in order
}

// A Kind is a way in which a tnode changes.
type Kind int

// The ways in which a tnode changes.
const (
	Split    Kind = iota + 1 // a new tnode of one bit on a compressed path
	Inflate                  // doubled
	Halve                    // halved
	Collapse                 // dropped
)

// String is the kind in the kernel's words.
func (k Kind) String() string {
	switch k {
	case Split:
		return "split"
	case Inflate:
		return "inflate"
	case Halve:
		return "halve"
	case Collapse:
		return "collapse"
	}
	return "unknown"
}

// A Change is one change of one tnode.
type Change struct {
	Kind   Kind
	Tnode  netip.Prefix // the tnode's path: what all keys below it have in common
	Root   bool         // the tnode was, or became, the root
	Before int          // its bits before, 0 for a split
	After  int          // its bits after, 0 for a collapse
}

func (e *Events) split(n *node) {
	e.Splits++
	e.add(Split, n, 0, 1)
}

func (e *Events) inflate(n *node) {
	e.Inflates++
	e.free(n)
	e.add(Inflate, n, int(n.bits), int(n.bits)+1)
}

func (e *Events) halve(n *node) {
	e.Halves++
	e.free(n)
	e.add(Halve, n, int(n.bits), int(n.bits)-1)
}

func (e *Events) collapse(n *node) {
	e.Collapses++
	e.add(Collapse, n, int(n.bits), 0)
}

// divide records a full child that an inflate replaces by two tnodes, or by its
// own two children.
func (e *Events) divide(n *node) {
	e.Divided++
	e.free(n)
}

// free adds the size of a replaced tnode; a collapsed one is not counted by the
// kernel either (TNODE_SIZE, tnode_free).
func (e *Events) free(n *node) {
	const tnodeBytes, pointerBytes = 40, 8
	e.FreedBytes += tnodeBytes + pointerBytes<<n.bits
}

func (e *Events) add(kind Kind, n *node, before, after int) {
	e.Changes = append(e.Changes, Change{
		Kind:   kind,
		Tnode:  prefixOf(n.key, n.end()),
		Root:   n.parent == nil,
		Before: before,
		After:  after,
	})
}
