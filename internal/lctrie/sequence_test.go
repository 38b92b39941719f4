package lctrie

import (
	"math/rand/v2"
	"net/netip"
)

// randomPrefixes returns n different prefixes of mixed lengths, a part of them
// in a small universe, where they are dense, nest and share addresses.
func randomPrefixes(rng *rand.Rand, n int) []netip.Prefix {
	seen := map[netip.Prefix]bool{}
	var list []netip.Prefix
	universe := 1 + rng.IntN(12)     // random bits of a dense key
	lowest := rng.IntN(keyLength)    // where they begin
	base := rng.Uint32()             // what is above them
	anywhere := rng.IntN(4) == 0     // some prefixes from all of the address space
	fixed := rng.IntN(keyLength + 1) // length of the dense ones ...
	mixed := rng.IntN(2) == 0        // ... unless mixed
	for attempts := 0; len(list) < n && attempts < 20*n; attempts++ {
		key, length := base, fixed
		if anywhere && rng.IntN(3) == 0 {
			key, length = rng.Uint32(), rng.IntN(keyLength+1)
		}
		key ^= rng.Uint32N(1<<universe) << lowest
		if mixed {
			length = rng.IntN(keyLength + 1)
		} else {
			length = max(length, keyLength-lowest)
		}
		p := prefixOf(key, uint8(keyLength-length)).Masked()
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	return list
}
