package lctrie

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// These tests compare the model with the kernel's own trie, and the kernel is
// right. They need root, or a user namespace that may make network namespaces.

// inserts returns the inserts of the prefixes in order.
func inserts(prefixes []netip.Prefix) []step {
	steps := make([]step, len(prefixes))
	for i, p := range prefixes {
		steps[i] = step{prefix: p}
	}
	return steps
}

// deletes returns the deletes of the prefixes in order.
func deletes(prefixes []netip.Prefix) []step {
	steps := inserts(prefixes)
	for i := range steps {
		steps[i].remove = true
	}
	return steps
}

func reversed(prefixes []netip.Prefix) []netip.Prefix {
	r := slices.Clone(prefixes)
	slices.Reverse(r)
	return r
}

func shuffled(rng *rand.Rand, prefixes []netip.Prefix) []netip.Prefix {
	r := slices.Clone(prefixes)
	rng.Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
	return r
}

// TestKernelDense grows and shrinks dense tables in every order, with the shape
// compared after every operation.
func TestKernelDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	layouts := map[string][]netip.Prefix{
		"aligned /24":         dense("10.0.0.0", 24, 600),
		"/24 across a border": dense("10.0.250.0", 24, 150),
		"/32":                 dense("10.0.0.0", 32, 200),
		"/28":                 dense("192.0.2.0", 28, 150),
		"/8":                  dense("0.0.0.0", 8, 200),
	}
	for name, prefixes := range layouts {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t)
			for _, sequence := range [][]step{
				slices.Concat(inserts(prefixes), deletes(prefixes)),
				slices.Concat(inserts(reversed(prefixes)), deletes(prefixes)),
				slices.Concat(inserts(prefixes), deletes(reversed(prefixes))),
				slices.Concat(inserts(shuffled(rng, prefixes)), deletes(shuffled(rng, prefixes))),
			} {
				k.replay(sequence, 1)
			}
		})
	}
}

// TestKernelOscillation goes back and forth over every size at which the dense
// root tnode changes.
func TestKernelOscillation(t *testing.T) {
	k := newKernel(t)
	prefixes := dense("10.0.0.0", 24, 170)
	var steps []step
	for i, p := range prefixes {
		steps = append(steps, step{prefix: p})
		last := prefixes[max(0, i-2) : i+1]
		steps = slices.Concat(steps, deletes(reversed(last)), inserts(last))
	}
	for i := len(prefixes) - 1; i >= 0; i-- {
		last := prefixes[max(0, i-2) : i+1]
		steps = slices.Concat(steps, deletes(reversed(last)), inserts(last))
		steps = append(steps, step{prefix: prefixes[i], remove: true})
	}
	k.replay(steps, 1)
}

// TestKernelRandom replays many random sequences of mixed prefix lengths, with
// the shape compared after every operation.
func TestKernelRandom(t *testing.T) {
	k := newKernel(t)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		k.replay(randomSteps(rng, 10+rng.IntN(90)), 1)
	}
}

// randomSteps inserts and deletes prefixes of a pool of that size, and deletes
// what is left at the end.
func randomSteps(rng *rand.Rand, size int) []step {
	pool := randomPrefixes(rng, size)
	have := map[netip.Prefix]bool{}
	var steps []step
	for range 2 * size {
		p := pool[rng.IntN(len(pool))]
		steps = append(steps, step{prefix: p, remove: have[p]})
		have[p] = !have[p]
	}
	left := slices.DeleteFunc(pool, func(p netip.Prefix) bool { return !have[p] })
	return slices.Concat(steps, deletes(shuffled(rng, left)))
}

// TestKernelLarge replays larger tables: dense ones in order, where single
// operations reach MAX_WORK or rebuild the whole trie, and a spread one.
func TestKernelLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	k := newKernel(t)
	prefixes := dense("10.0.0.0", 24, 5000)
	k.replay(slices.Concat(inserts(prefixes), deletes(prefixes)), 97)
	k.replay(slices.Concat(inserts(prefixes), deletes(reversed(prefixes))), 97)
	spread := map[netip.Prefix]bool{}
	for len(spread) < 3000 {
		spread[prefixOf(rng.Uint32(), uint8(8+rng.IntN(8))).Masked()] = true
	}
	mixed := shuffled(rng, sorted(spread))
	k.replay(slices.Concat(inserts(mixed), deletes(shuffled(rng, mixed))), 97)
}

// TestKernelFlush takes down one of two links that the routes are spread over:
// the flush of the main table, and of the local one where it is there.
func TestKernelFlush(t *testing.T) {
	k := newKernel(t)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 4))
		prefixes := randomPrefixes(rng, 10+rng.IntN(150))
		if seed%3 == 0 {
			prefixes = dense("10.0.0.0", 24, 1+rng.IntN(500))
		}
		steps := inserts(prefixes)
		local := func(p netip.Prefix) bool { return seed%2 == 0 && p.Bits() == keyLength }
		onSecond := map[netip.Prefix]bool{}
		share := rng.IntN(9) // of 8 routes that many are on the link that goes down
		for i, p := range prefixes {
			steps[i].local = local(p)
			if rng.IntN(8) < share {
				onSecond[p] = true
				steps[i].link = secondLink
			}
		}
		k.replay(steps, 10)
		k.flush(func(p netip.Prefix) bool { return onSecond[p] }, local)
		left := slices.DeleteFunc(steps, func(s step) bool { return onSecond[s.prefix] })
		for i := range left {
			left[i].remove = true
		}
		k.replay(left, 10)
	}
}

// TestKernelUnmerge adds the first rule of a namespace, which moves the local
// table out of the trie it shares with the main one.
func TestKernelUnmerge(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		k := newKernel(t)
		steps := inserts(append(randomPrefixes(rng, 20+rng.IntN(100)), dense("10.9.0.0", 32, 90)...))
		steps = uniqueSteps(steps)
		for i := range steps {
			steps[i].local = steps[i].prefix.Bits() == keyLength
		}
		k.replay(steps, 10)
		k.unmerge(func(p netip.Prefix) bool { return p.Bits() == keyLength })
	}
}

func uniqueSteps(steps []step) []step {
	seen := map[netip.Prefix]bool{}
	return slices.DeleteFunc(steps, func(s step) bool {
		was := seen[s.prefix]
		seen[s.prefix] = true
		return was
	})
}

// TestKernelAddresses adds and removes addresses, each of which is a prefix, a
// host and a broadcast entry. In between the link goes down, which flushes the
// prefixes from the main table and the broadcasts from the local one, and up.
func TestKernelAddresses(t *testing.T) {
	k := newKernel(t)
	rng := rand.New(rand.NewPCG(6, 6))
	subnets := shuffled(rng, dense("10.0.0.0", 24, 150))
	for _, p := range subnets {
		k.addAddress(p)
	}
	k.setLink(secondLink, 0)
	k.model.Flush(func(p netip.Prefix) bool { return p.Bits() == 24 })
	k.model.Flush(func(p netip.Prefix) bool { return p.Addr().As4()[3] == 255 })
	k.compare("link down")
	k.setLink(secondLink, unix.IFF_UP)
	for _, p := range subnets {
		_, prefix, broadcast := addressEntries(p)
		k.insert(prefix, broadcast)
	}
	k.compare("link up")
	for _, p := range shuffled(rng, subnets) {
		k.deleteAddress(p)
	}
}

// sorted returns the prefixes of a set in order of address and length.
func sorted(set map[netip.Prefix]bool) []netip.Prefix {
	var list []netip.Prefix
	for p := range set {
		list = append(list, p)
	}
	slices.SortFunc(list, netip.Prefix.Compare)
	return list
}
