package lctrie

import (
	"math/bits"
	"slices"
)

// keyLength is KEYLENGTH: the bits of an IPv4 address.
const keyLength = 32

// A node is a leaf or a tnode (struct key_vector and struct tnode). A leaf has
// aliases and no children, and its bits are 0.
type node struct {
	parent *node // nil: the trie itself (IS_TRIE)
	key    uint32
	pos    uint8
	bits   uint8
	slen   uint8

	child []*node
	empty int // children that are nil
	full  int // children that are tnodes with no bits skipped before them

	aliases []uint8 // suffix lengths, ascending
}

// newLeaf returns a leaf with one alias (leaf_new).
func newLeaf(key uint32, slen uint8) *node {
	return &node{key: key, slen: slen, aliases: []uint8{slen}}
}

// newTnode returns a tnode without children (tnode_new). Its suffix length is
// its position, below which no prefix can end in a way that concerns it.
func newTnode(key uint32, pos, bits uint8) *node {
	return &node{
		key:   key &^ (1<<(uint(pos)+uint(bits)) - 1),
		pos:   pos,
		bits:  bits,
		slen:  pos,
		child: make([]*node, 1<<bits),
		empty: 1 << bits,
	}
}

// isLeaf is IS_LEAF.
func (n *node) isLeaf() bool { return n.bits == 0 }

// end is the first key bit above those the tnode looks at.
func (n *node) end() uint8 { return n.pos + n.bits }

// used is the number of children that are not nil.
func (n *node) used() int { return len(n.child) - n.empty }

// index is the place of key among the children, given that n covers it
// (get_index).
func (n *node) index(key uint32) int { return int((key ^ n.key) >> n.pos) }

// covers says whether key agrees with the tnode's path, skipped bits included
// (the test of the index in fib_find_node).
func (n *node) covers(key uint32) bool { return uint64(key^n.key)>>n.end() == 0 }

// isFullChild says whether c is a tnode that follows n without skipped bits
// (tnode_full).
func (n *node) isFullChild(c *node) bool {
	return c != nil && !c.isLeaf() && c.end() == n.pos
}

// put makes c, which may be nil, the child in place i and keeps the counts of
// empty and full children and the suffix length (put_child, node_set_parent).
func (n *node) put(i int, c *node) {
	old := n.child[i]
	n.empty += count(c == nil) - count(old == nil)
	n.full += count(n.isFullChild(c)) - count(n.isFullChild(old))
	n.child[i] = c
	if c != nil {
		c.parent = n
		n.slen = max(n.slen, c.slen)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// onlyChild returns the child with the highest index, nil if there is none
// (collapse).
func (n *node) onlyChild() *node {
	for _, c := range slices.Backward(n.child) {
		if c != nil {
			return c
		}
	}
	return nil
}

func (n *node) hasAlias(slen uint8) bool {
	_, found := slices.BinarySearch(n.aliases, slen)
	return found
}

// addAlias keeps the list in order of suffix length, as the kernel does, whose
// longest match comes first (fib_insert_alias).
func (n *node) addAlias(slen uint8) {
	i, _ := slices.BinarySearch(n.aliases, slen)
	n.aliases = slices.Insert(n.aliases, i, slen)
}

// removeAlias takes the last alias of that suffix length from the list and says
// whether it was the last of all.
func (n *node) removeAlias(slen uint8) (wasLast bool) {
	i, _ := slices.BinarySearch(n.aliases, slen+1)
	n.aliases = slices.Delete(n.aliases, i-1, i)
	return i-1 == len(n.aliases)
}

// highestBit is the number of the highest bit set in x (__fls).
func highestBit(x uint32) uint8 { return uint8(bits.Len32(x) - 1) }
