package lctrie

// A Shape is what /proc/net/fib_triestat says of one trie (struct trie_stat,
// trie_show_stats). The shapes of a model and of a kernel are equal field by
// field.
type Shape struct {
	// AverageDepth is the mean number of tnodes above a leaf, cut to hundredths
	// as the kernel prints it.
	AverageDepth float64
	MaxDepth     int           // tnodes above the deepest leaf
	Leaves       int64         // addresses with at least one prefix
	Prefixes     int64         // aliases
	Tnodes       int64         // "Internal nodes"
	TnodesByBits map[int]int64 // key vector bits -> tnodes of that size; never nil
	Pointers     int64         // children of all tnodes
	NullPointers int64         // children that are nil
}

// Shape measures the trie as it is, by a walk over every node
// (trie_collect_stats).
func (t *Trie) Shape() Shape {
	s := Shape{TnodesByBits: map[int]int64{}}
	total := s.collect(t.root, 0)
	if s.Leaves > 0 {
		// unsigned int in the kernel, also where it overflows
		s.AverageDepth = float64(total*100/uint32(s.Leaves)) / 100
	}
	return s
}

// collect adds n and what is below it and returns the sum of the leaves' depths.
func (s *Shape) collect(n *node, depth int) (total uint32) {
	switch {
	case n == nil:
		return 0
	case n.isLeaf():
		s.Leaves++
		s.Prefixes += int64(len(n.aliases))
		s.MaxDepth = max(s.MaxDepth, depth)
		return uint32(depth)
	}
	s.Tnodes++
	s.TnodesByBits[int(n.bits)]++
	s.Pointers += int64(len(n.child))
	s.NullPointers += int64(n.empty)
	for _, c := range n.child {
		total += s.collect(c, depth+1)
	}
	return total
}

// RootBits is the size of the root tnode, 0 while the trie has no tnode.
func (t *Trie) RootBits() int {
	if t.root == nil {
		return 0
	}
	return int(t.root.bits)
}

// aliasBytes is sizeof(struct fib_alias) of a 64-bit kernel, which
// fib_triestat does not show.
const aliasBytes = 56

// SizeKB is "Total size" in KiB, rounded up, for a 64-bit kernel whose leaf and
// tnode have the sizes on the first line of fib_triestat (trie_show_stats).
func (s Shape) SizeKB(leafBytes, tnodeBytes int) int64 {
	const pointerBytes = 8
	bytes := int64(leafBytes)*s.Leaves + aliasBytes*s.Prefixes +
		int64(tnodeBytes)*s.Tnodes + pointerBytes*s.Pointers
	return (bytes + 1023) / 1024
}
