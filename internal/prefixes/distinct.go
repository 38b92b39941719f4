package prefixes

import "slices"

// distinct returns the set without repetitions, each prefix where it was first.
// It sorts indices, 4 bytes a prefix, rather than fill a hash table; what ascends
// already, as dumps do, costs one pass.
func (s *Set) distinct() *Set {
	if s.ascends() {
		return s
	}
	order := make([]uint32, s.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return s.compare(int(a), int(b)) })
	repeated := make([]bool, s.Len())
	count := 0
	for i := 1; i < len(order); i++ {
		if s.compare(int(order[i-1]), int(order[i])) == 0 {
			repeated[order[i]] = true
			count++
		}
	}
	if count == 0 {
		return s
	}
	out := newSet(s.family, s.Len()-count)
	for i, again := range repeated {
		if !again {
			out.appendFrom(s, i)
		}
	}
	return out
}

// ascends reports whether every prefix is above the one before it.
func (s *Set) ascends() bool {
	for i := 1; i < s.Len(); i++ {
		if s.compare(i-1, i) >= 0 {
			return false
		}
	}
	return true
}
