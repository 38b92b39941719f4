package lctrie

// updateSuffix finds the tnode's suffix length anew from its children and
// returns it (update_suffix).
//
// A prefix that ends s bits above the tnode's position can only be below a child
// whose index is a multiple of 1<<s, so the walk starts with every second child
// and takes longer strides with every suffix length it finds. Where it finds
// none it reads half of the children: this is what makes deletes slow.
func (t *Trie) updateSuffix(n *node) uint8 {
	slen := n.pos
	// Only child 0 can have more than end-1; the walk ends when it has read that.
	longest := min(n.end()-1, n.slen)
	for i, stride := uint64(0), uint64(2); i < uint64(len(n.child)); i += stride {
		t.events.SuffixReads++
		c := n.child[i]
		if c == nil || c.slen <= slen {
			continue
		}
		stride <<= c.slen - slen
		slen = c.slen
		i &^= stride - 1
		if slen >= longest {
			break
		}
	}
	n.slen = slen
	return slen
}

// pullSuffix lowers suffix lengths from n upwards, as far as they change, after
// one below n fell to slen (node_pull_suffix).
func (t *Trie) pullSuffix(n *node, slen uint8) {
	for n != nil && n.slen > n.pos && n.slen > slen {
		before := n.slen
		slen = t.updateSuffix(n)
		if slen == before {
			return
		}
		n = n.parent
	}
}

// pushSuffix raises suffix lengths from n upwards to slen at least
// (node_push_suffix).
func pushSuffix(n *node, slen uint8) {
	for ; n != nil && n.slen < slen; n = n.parent {
		n.slen = slen
	}
}
