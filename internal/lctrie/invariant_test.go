package lctrie

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

// check recounts everything a trie keeps incrementally and compares it with a
// plain list of what was inserted.
func check(trie *Trie, want map[netip.Prefix]int) error {
	found := map[netip.Prefix]int{}
	if trie.root != nil && trie.root.parent != nil {
		return fmt.Errorf("the root has a parent")
	}
	if err := checkNode(trie.root, found); err != nil {
		return err
	}
	addresses := map[netip.Addr]bool{}
	var prefixes int64
	for p, n := range want {
		if found[p] != n {
			return fmt.Errorf("%v is there %d times, want %d", p, found[p], n)
		}
		prefixes += int64(n)
		addresses[p.Addr()] = true
		key, _, _ := keyOf(p)
		if leaf, _ := trie.find(key); leaf == nil {
			return fmt.Errorf("%v is not found by its key", p)
		}
	}
	s := trie.Shape()
	if s.Prefixes != prefixes || s.Leaves != int64(len(addresses)) {
		return fmt.Errorf("%d prefixes in %d leaves, want %d in %d", s.Prefixes, s.Leaves, prefixes, len(addresses))
	}
	// every node but the root is a child
	if s.Leaves > 0 && s.Pointers-s.NullPointers != s.Leaves+s.Tnodes-1 {
		return fmt.Errorf("pointers do not add up: %+v", s)
	}
	return nil
}

func checkNode(n *node, found map[netip.Prefix]int) error {
	if n == nil {
		return nil
	}
	if n.isLeaf() {
		return checkLeaf(n, found)
	}
	var empty, full int
	longest := n.pos
	for i, c := range n.child {
		if c == nil {
			empty++
			continue
		}
		full += count(n.isFullChild(c))
		longest = max(longest, longestSuffix(c))
		if c.parent != n || !n.covers(c.key) || n.index(c.key) != i || c.end() > n.pos {
			return fmt.Errorf("%v is misplaced below %v", prefixOf(c.key, c.end()), prefixOf(n.key, n.end()))
		}
		if err := checkNode(c, found); err != nil {
			return err
		}
	}
	path := prefixOf(n.key, n.end())
	switch {
	case empty != n.empty || full != n.full:
		return fmt.Errorf("%v has %d empty, %d full, counted %d, %d", path, n.empty, n.full, empty, full)
	case len(n.child) != 1<<n.bits || n.used() < 1 || path != path.Masked():
		return fmt.Errorf("%v with %d bits has %d of %d children", path, n.bits, n.used(), len(n.child))
	case n.slen < longest:
		return fmt.Errorf("%v has suffix length %d, below it is %d", path, n.slen, longest)
	}
	return nil
}

func checkLeaf(n *node, found map[netip.Prefix]int) error {
	for i, slen := range n.aliases {
		found[prefixOf(n.key, slen)]++
		if i > 0 && slen < n.aliases[i-1] {
			return fmt.Errorf("aliases of %v out of order: %v", prefixOf(n.key, 0), n.aliases)
		}
	}
	if len(n.aliases) == 0 || n.slen != n.aliases[len(n.aliases)-1] {
		return fmt.Errorf("leaf %v has suffix length %d of %v", prefixOf(n.key, 0), n.slen, n.aliases)
	}
	return nil
}

// longestSuffix is the greatest suffix length of the prefixes at and below n.
func longestSuffix(n *node) uint8 {
	var longest uint8
	for _, slen := range n.aliases {
		longest = max(longest, slen)
	}
	for _, c := range n.child {
		if c != nil {
			longest = max(longest, longestSuffix(c))
		}
	}
	return longest
}

// checkEvents compares what an operation reports with the change of the shape.
func checkEvents(e Events, before, after Shape) error {
	// An inflate makes two tnodes of a full child, or none of one with one bit.
	divided := after.Tnodes - before.Tnodes - int64(e.Splits+e.Paired-e.Collapses)
	if divided > int64(e.Divided) || divided < -int64(e.Divided) {
		return fmt.Errorf("%d tnodes became %d, events %+v", before.Tnodes, after.Tnodes, e)
	}
	if n := e.Splits + e.Inflates + e.Halves + e.Collapses; n != len(e.Changes) {
		return fmt.Errorf("%d changes counted, %d listed", n, len(e.Changes))
	}
	if e.Inflates+e.Halves+e.Collapses > 0 && e.Resizes == 0 {
		return fmt.Errorf("changes without a resize: %+v", e)
	}
	return nil
}

// A checked trie is checked against a plain count of prefixes after every
// operation.
type checked struct {
	trie *Trie
	have map[netip.Prefix]int
}

func newChecked() *checked { return &checked{New(), map[netip.Prefix]int{}} }

// toggle deletes p where it is, else inserts it.
func (c *checked) toggle(p netip.Prefix) error {
	before := c.trie.Shape()
	operation := c.trie.Insert
	if c.have[p] > 0 {
		operation = c.trie.Delete
		c.have[p]--
		if c.have[p] == 0 {
			delete(c.have, p)
		}
	} else {
		c.have[p]++
	}
	e, err := operation(p)
	if err != nil {
		return err
	}
	if err := checkEvents(e, before, c.trie.Shape()); err != nil {
		return err
	}
	return check(c.trie, c.have)
}

func (c *checked) flush(dead func(netip.Prefix) bool) error {
	for p := range c.have {
		if dead(p) {
			delete(c.have, p)
		}
	}
	before := c.trie.Shape()
	e := c.trie.Flush(dead)
	if err := checkEvents(e, before, c.trie.Shape()); err != nil {
		return err
	}
	return check(c.trie, c.have)
}

func TestInvariants(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pool := randomPrefixes(rng, 60)
		c := newChecked()
		for range 300 {
			if err := c.toggle(pool[rng.IntN(len(pool))]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if err := c.flush(func(p netip.Prefix) bool { return slices.Index(pool, p)%3 > 0 }); err != nil {
			t.Fatalf("seed %d: flush: %v", seed, err)
		}
	}
}

func TestDuplicateAliases(t *testing.T) {
	p := netip.MustParsePrefix("10.0.0.0/24")
	trie := filled(t, []netip.Prefix{p, p, netip.MustParsePrefix("10.0.1.0/24")})
	for n := 2; n >= 1; n-- {
		want := map[netip.Prefix]int{p: n, netip.MustParsePrefix("10.0.1.0/24"): 1}
		if err := check(trie, want); err != nil {
			t.Error(err)
		}
		mustDelete(t, trie, p)
	}
}

func TestUnmerge(t *testing.T) {
	local := func(p netip.Prefix) bool { return p.Bits() == 32 }
	rng := rand.New(rand.NewPCG(7, 1))
	for range 20 {
		main, own := map[netip.Prefix]int{}, map[netip.Prefix]int{}
		trie := New()
		for _, p := range append(randomPrefixes(rng, 50), dense("10.1.0.0", 32, 20)...) {
			if main[p]+own[p] > 0 {
				continue
			}
			if _, err := trie.Insert(p); err != nil {
				t.Fatal(err)
			}
			if local(p) {
				own[p]++
			} else {
				main[p]++
			}
		}
		separate, _, _ := trie.Unmerge(local)
		if err := check(separate, own); err != nil {
			t.Fatal("local: ", err)
		}
		if err := check(trie, main); err != nil {
			t.Fatal("main: ", err)
		}
	}
}

// FuzzTrie takes five bytes an operation: an address and a prefix length, or
// with the top bit of the length set a flush of what agrees with the address in
// the parity of its third byte. Minimising inputs takes most of the time: fuzz
// with -fuzzminimizetime 10x.
func FuzzTrie(f *testing.F) {
	f.Add([]byte{10, 0, 0, 0, 24, 10, 0, 1, 0, 24, 10, 0, 2, 0, 24, 10, 0, 0, 0, 0x80})
	f.Add([]byte{0, 0, 0, 0, 0, 255, 255, 255, 255, 32, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		c := newChecked()
		program = program[:min(len(program), 5*200)] // checking is quadratic
		for ; len(program) >= 5; program = program[5:] {
			addr := netip.AddrFrom4([4]byte(program[:4]))
			var err error
			if length := program[4]; length&0x80 != 0 {
				parity := program[2] & 1
				err = c.flush(func(p netip.Prefix) bool { return p.Addr().As4()[2]&1 == parity })
			} else {
				err = c.toggle(netip.PrefixFrom(addr, int(length)%(keyLength+1)).Masked())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
