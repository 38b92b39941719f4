package prefixes

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// statistics are shares of all prefixes, in percent.
type statistics struct {
	length    [129]float64 // by prefix length
	above     [129]float64 // by how much longer than its nearest cover
	nested    float64      // with a cover
	siblings  float64      // whose sibling of the same length is there too
	addresses float64      // distinct addresses: the leaves of an IPv4 trie
}

// statisticsOf needs an ascending set.
func statisticsOf(s *Set) statistics {
	var st statistics
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	has := func(key uint128, bits int) bool {
		_, found := slices.BinarySearchFunc(order, key, func(i int, key uint128) int {
			return cmp.Or(s.key(i).compare(key), s.Bits(i)-bits)
		})
		return found
	}
	one := 100 / float64(s.Len())
	var covers []int
	for i := range s.Len() {
		key, bits := s.key(i), s.Bits(i)
		st.length[bits] += one
		for len(covers) > 0 {
			c := covers[len(covers)-1]
			if key.mask(s.Bits(c)) == s.key(c) {
				break
			}
			covers = covers[:len(covers)-1]
		}
		if len(covers) > 0 {
			st.nested += one
			st.above[bits-s.Bits(covers[len(covers)-1])] += one
		}
		covers = append(covers, i)
		if has(flip(key, bits-1), bits) {
			st.siblings += one
		}
		if i == 0 || s.key(i-1) != key {
			st.addresses += one
		}
	}
	return st
}

func flip(u uint128, bit int) uint128 {
	v := uint128{}.setBit(bit)
	return uint128{u.hi ^ v.hi, u.lo ^ v.lo}
}

func compareStatistics(t *testing.T, real *Set) {
	want := statisticsOf(real)
	for seed := range uint64(3) {
		made, err := Generate(DFZ, real.Family(), real.Len(), seed)
		if err != nil {
			t.Fatal(err)
		}
		compareWith(t, want, statisticsOf(made))
	}
}

func compareWith(t *testing.T, want, got statistics) {
	for bits := range want.length {
		if want.length[bits] > 1 && math.Abs(want.length[bits]-got.length[bits]) > 1 {
			t.Errorf("/%d: %.2f %% of the snapshot, %.2f %% generated", bits, want.length[bits], got.length[bits])
		}
		if d := math.Abs(want.above[bits] - got.above[bits]); d > 1.5 {
			t.Errorf("%d bits longer than the cover: %.2f %% of the snapshot, %.2f %% generated", bits, want.above[bits], got.above[bits])
		}
	}
	for _, c := range []struct {
		name           string
		want, got, off float64
	}{
		{"with a cover", want.nested, got.nested, 3},
		{"with their sibling", want.siblings, got.siblings, 5},
		{"distinct addresses", want.addresses, got.addresses, 3},
	} {
		t.Logf("%s: snapshot %.2f %%, generated %.2f %%", c.name, c.want, c.got)
		if math.Abs(c.want-c.got) > c.off {
			t.Errorf("%s: %.2f %% of the snapshot, %.2f %% generated", c.name, c.want, c.got)
		}
	}
}
