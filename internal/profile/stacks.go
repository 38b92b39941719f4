package profile

import (
	"encoding/binary"
	"slices"
)

// A stacks keeps every stack once: the addresses of a sample, innermost first, with
// the kernel's marks between those of the kernel and of the program
// (PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER).
type stacks struct {
	words []uint64
	ends  []int            // of stack i in words
	first map[uint64]int32 // by hash: the stack that came last
	next  []int32          // another of the same hash, -1 for none
}

// len is how many stacks there are.
func (s *stacks) len() int { return len(s.ends) }

// at are the words of stack i.
func (s *stacks) at(i int) []uint64 {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.words[start:s.ends[i]]
}

// add returns the number of a stack, of who and then the words in chain. It allocates
// what new ones take.
func (s *stacks) add(who uint64, chain []byte) int32 {
	start := len(s.words)
	s.words = append(s.words, who)
	for ; len(chain) >= 8; chain = chain[8:] {
		s.words = append(s.words, binary.NativeEndian.Uint64(chain))
	}
	added := s.words[start:]
	hash := uint64(14695981039346656037) // FNV-1a, by words
	for _, w := range added {
		hash = (hash ^ w) * 1099511628211
		hash ^= hash >> 32
	}
	if s.first == nil {
		s.first = map[uint64]int32{}
	}
	last, ok := s.first[hash]
	if !ok {
		last = -1
	}
	for i := last; i >= 0; i = s.next[i] {
		if slices.Equal(s.at(int(i)), added) {
			s.words = s.words[:start]
			return i
		}
	}
	s.ends, s.next = append(s.ends, len(s.words)), append(s.next, last)
	s.first[hash] = int32(len(s.ends) - 1)
	return s.first[hash]
}
