package lctrie

import "net/netip"

// Flush removes every prefix that dead accepts and resizes each tnode once, when
// everything below it is done, from the last key to the first
// (fib_table_flush). The kernel flushes each table of the namespace, also where
// nothing is dead in it, the main table before the local one: of a trie that two
// tables share, each needs its own call.
func (t *Trie) Flush(dead func(netip.Prefix) bool) Events {
	return t.record(func() { t.flush(t.root, dead) })
}

// FlushExternal removes every prefix that foreign accepts: those of the local
// table, when the first rule separates the main table from it. It walks as Flush
// does (fib_table_flush_external).
func (t *Trie) FlushExternal(foreign func(netip.Prefix) bool) Events {
	return t.Flush(foreign)
}

// Unmerge moves the prefixes that local accepts to a trie of their own, which it
// returns with the events of filling it and those of removing them from t, as
// the first rule of a namespace does (fib_unmerge, fib_trie_unmerge). A prefix
// that both tables have moves with all its aliases, which the kernel tells apart
// by table.
func (t *Trie) Unmerge(local func(netip.Prefix) bool) (own *Trie, filled, removed Events) {
	own = New()
	filled = own.record(func() { own.copyFrom(t.root, local) })
	return own, filled, t.FlushExternal(local)
}

// copyFrom inserts the accepted prefixes at and below n, in order of their keys.
func (t *Trie) copyFrom(n *node, accept func(netip.Prefix) bool) {
	if n == nil {
		return
	}
	for _, c := range n.child {
		t.copyFrom(c, accept)
	}
	for _, slen := range n.aliases {
		if accept(prefixOf(n.key, slen)) {
			t.insert(n.key, slen)
		}
	}
}

// flush empties the leaves at and below n and resizes on the way back. Resizing
// a child leaves its parent where it is, so the walk over the parent's children
// goes on.
func (t *Trie) flush(n *node, dead func(netip.Prefix) bool) {
	if n == nil {
		return
	}
	if n.isLeaf() {
		t.flushLeaf(n, dead)
		return
	}
	for i := len(n.child) - 1; i >= 0; i-- {
		t.flush(n.child[i], dead)
	}
	if n.slen > n.pos {
		t.updateSuffix(n)
	}
	t.resize(n)
}

// flushLeaf removes dead aliases, and the leaf when none remains. Unlike a
// delete it leaves suffix lengths above to the tnode's turn.
func (t *Trie) flushLeaf(leaf *node, dead func(netip.Prefix) bool) {
	alive := leaf.aliases[:0]
	leaf.slen = 0
	for _, slen := range leaf.aliases {
		if !dead(prefixOf(leaf.key, slen)) {
			alive = append(alive, slen)
			leaf.slen = slen
		}
	}
	leaf.aliases = alive
	if len(alive) == 0 {
		t.unlink(leaf)
	}
}
