// Package lctrie models the shape of Linux's IPv4 FIB trie, so that what a
// sequence of route inserts and deletes does to it can be predicted and
// compared with what /proc/net/fib_triestat shows.
//
// The structure is a level-compressed, path-compressed trie (Nilsson and
// Karlsson, "IP-address lookup using LC-tries", IEEE JSAC 17(6), 1999; the
// dynamic resizing is from Nilsson and Tikkanen, "Implementing a dynamic
// compressed trie", 1998). The rules are those of net/ipv4/fib_trie.c. For the
// shape they are the same in 4.4, 4.19 and 6.x; 4.4 keeps suffix lengths in
// another way, on which only Events.SuffixReads depends.
//
// A prefix is one alias in the leaf of its address. A node's position (pos) is
// the lowest key bit it looks at, its bits how many: it has 1<<bits children.
// The suffix length (slen) of a prefix is 32 minus its length; a node's is the
// greatest that may be found below it.
//
// The model leaves out what has no effect on the shape: RCU, next hops,
// allocation failures, and tnodes of 32 bits, whose child vector of 32 GiB no
// kernel can allocate.
package lctrie

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// ErrAbsent is what Delete returns for a prefix that is not in the trie; the
// kernel says ESRCH.
var ErrAbsent = errors.New("no such prefix in the trie")

// A Trie is the model of one IPv4 table, or of the one trie that the local and
// main tables share until the first rule is added. It is not safe for
// concurrent use.
type Trie struct {
	root   *node
	events *Events // of the operation in progress
}

// New returns an empty trie, as a table has it in a fresh namespace.
func New() *Trie { return &Trie{} }

// Insert adds one alias for p (fib_table_insert). A prefix may be in the trie
// several times, as when the local and main tables both have it. It fails only
// for what is no IPv4 prefix or has bits set after its length, which the kernel
// refuses too (fib_valid_key_len).
func (t *Trie) Insert(p netip.Prefix) (Events, error) {
	key, slen, err := keyOf(p)
	if err != nil {
		return Events{}, err
	}
	return t.record(func() { t.insert(key, slen) }), nil
}

// Delete removes one alias of p (fib_table_delete), the last one if there are
// several. The error is ErrAbsent where there is none.
func (t *Trie) Delete(p netip.Prefix) (Events, error) {
	key, slen, err := keyOf(p)
	if err != nil {
		return Events{}, err
	}
	leaf, _ := t.find(key)
	if leaf == nil || !leaf.hasAlias(slen) {
		return Events{}, fmt.Errorf("delete %v: %w", p, ErrAbsent)
	}
	return t.record(func() { t.removeAlias(leaf, slen) }), nil
}

// record returns the events of one operation.
func (t *Trie) record(operation func()) Events {
	var e Events
	t.events = &e
	operation()
	t.events = nil
	return e
}

// insert adds an alias to the leaf of key, which it makes where there is none
// (fib_insert_alias).
func (t *Trie) insert(key uint32, slen uint8) {
	leaf, parent := t.find(key)
	if leaf == nil {
		t.insertLeaf(parent, key, slen)
		return
	}
	leaf.addAlias(slen)
	if leaf.slen < slen {
		leaf.slen = slen
		pushSuffix(parent, slen)
	}
}

// insertLeaf adds a new leaf below parent, the deepest node whose path is the
// key's. Where something else is in its place, the compressed path to that is
// split at the first bit that differs (fib_insert_node).
func (t *Trie) insertLeaf(parent *node, key uint32, slen uint8) {
	if other := t.childAt(parent, key); other != nil {
		split := newTnode(key, highestBit(key^other.key), 1)
		split.put(split.index(key)^1, other)
		t.link(parent, split)
		t.events.split(split)
		parent = split
	}
	pushSuffix(parent, slen)
	t.link(parent, newLeaf(key, slen))
	t.rebalance(parent)
}

// removeAlias takes an alias from its leaf, and the leaf from the trie with its
// last alias (fib_remove_alias). The suffix lengths above are updated while the
// leaf is still in place, so those a leaf alone accounts for stay as they are.
func (t *Trie) removeAlias(leaf *node, slen uint8) {
	parent := leaf.parent
	wasLast := leaf.removeAlias(slen)
	if len(leaf.aliases) == 0 {
		if parent != nil && parent.slen == leaf.slen {
			t.pullSuffix(parent, parent.pos)
		}
		t.unlink(leaf)
		t.rebalance(parent)
		return
	}
	if wasLast {
		leaf.slen = leaf.aliases[len(leaf.aliases)-1]
		t.pullSuffix(parent, leaf.slen)
	}
}

// find returns the leaf of key, or nil, and the deepest tnode on its path, nil
// if that is the trie itself (fib_find_node).
func (t *Trie) find(key uint32) (leaf, parent *node) {
	for n := t.root; n != nil; {
		if n.isLeaf() {
			if n.key == key {
				return n, parent
			}
			break
		}
		if !n.covers(key) {
			break
		}
		parent, n = n, n.child[n.index(key)]
	}
	return nil, parent
}

// childAt returns what is below parent in key's place; a nil parent is the trie
// itself (get_child with get_index).
func (t *Trie) childAt(parent *node, key uint32) *node {
	if parent == nil {
		return t.root
	}
	return parent.child[parent.index(key)]
}

// link puts n below parent in the place of its key (put_child_root).
func (t *Trie) link(parent, n *node) {
	if parent == nil {
		n.parent = nil
		t.root = n
		return
	}
	parent.put(parent.index(n.key), n)
}

// unlink takes n from its parent (put_child_root with NULL).
func (t *Trie) unlink(n *node) {
	if n.parent == nil {
		t.root = nil
		return
	}
	n.parent.put(n.parent.index(n.key), nil)
}

// keyOf returns the key and the suffix length of a prefix.
func keyOf(p netip.Prefix) (key uint32, slen uint8, err error) {
	if !p.IsValid() || !p.Addr().Is4() {
		return 0, 0, fmt.Errorf("%v is not an IPv4 prefix", p)
	}
	if p != p.Masked() {
		return 0, 0, fmt.Errorf("%v has bits set after its length", p)
	}
	addr := p.Addr().As4()
	return binary.BigEndian.Uint32(addr[:]), uint8(keyLength - p.Bits()), nil
}

// prefixOf is the inverse of keyOf.
func prefixOf(key uint32, slen uint8) netip.Prefix {
	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], key)
	return netip.PrefixFrom(netip.AddrFrom4(addr), keyLength-int(slen))
}
