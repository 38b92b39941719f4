package prefixes

import (
	"math"
	"math/bits"
)

// The DFZ layout draws tables like a snapshot of the Internet's full table of
// 901,899 IPv4 and 160,147 IPv6 prefixes: the list that the Go module
// github.com/gaissmai/bart ships as testdata/prefixes.txt.gz.
//
// The model is a cascade over the binary trie of the address space. It begins at
// blocks of at most 4000 (IPv6: 120) prefixes, which have the snapshot's place and
// number. A node with n prefixes in its subtree then is a prefix itself with a
// probability that depends on its depth, on n and on its cover, the nearest prefix
// above it; what is left is a run, prefixes of one length, or is dealt to the two
// halves, by a distribution that depends on the same three. Runs are dealt on by a
// distribution of their own, as they are often complete. That keeps what the kernel's trie is sensitive to: the lengths,
// nesting (more than half of the prefixes have a cover), the clustering of
// allocations at every scale, and leaves that hold several prefixes (a cover and
// a more specific prefix at the same address).
//
// The figures are in dfz_ipv4.go and dfz_ipv6.go, derived from the list by
//
//	go test ./internal/prefixes -run TestDFZStatistics -update
//
// How the kernel's trie (Linux 6.18) of the two compare, snapshot to seed 0:
//
//	routes     average depth   leaves             tnodes
//	  200,000  2.17    2.16    199,974 / 199,994   46,782 /  46,557
//	  901,899  2.22    2.22    840,393 / 839,387  148,594 / 149,615
//
// A table smaller than the snapshot is an even sample of a generated one of the
// snapshot's size. A larger one has more in every block: it gets denser, as the
// Internet's does, until a block is half full.

// maxDFZ is the largest table for which the model was looked at: above it, most
// blocks are filled with /24s (or /48s) and there is little of the Internet left.
const maxDFZ = 1 << 22

// A dfzModel is the cascade of one family.
type dfzModel struct {
	family   Family
	snapshot int // prefixes of the snapshot
	blocks   []dfzBlock
	// commonBits is the length a full block is filled with: longer prefixes are
	// rare.
	commonBits int
	cells      []dfzCell
	runs       []dfzRun
}

// A dfzBlock is a node at which the drawing begins. Blocks ascend, do not overlap
// and have all prefixes of the snapshot: those on the way to them are blocks of
// one prefix.
type dfzBlock struct {
	start  uint64 // the first 64 bits of the address
	depth  uint8
	cover  uint8
	run    uint8 // the prefixes' length, where they all have the same; or 0
	number int   // prefixes of the snapshot
}

// A dfzCell has the figures for nodes of one kind: of a depth, with so many
// prefixes in the subtree, under such a cover. Probabilities and quantiles are
// in 1/10,000.
type dfzCell struct {
	depth, size, cover uint8
	prefix             uint16            // the node is a prefix
	run                uint16            // what is left is a run: prefixes of one length
	runBits            [dfzRunBits]uint8 // equally likely lengths of the run
	split              dfzSplit
}

// A dfzRun has the figures for the part of a run under a node, by how much
// longer than the node's its prefixes are, and by their number.
type dfzRun struct {
	height, size uint8
	split        dfzSplit
}

// A dfzSplit says how prefixes are dealt to the two halves of a node.
type dfzSplit struct {
	leftEmpty   uint16 // probability that all go to the right half
	rightEmpty  uint16 // probability that all go to the left half
	leftSmaller uint16 // where neither is empty, probability that the left gets fewer
	// smaller describes the number in the smaller half where neither is empty. Up
	// to dfzExact prefixes: the probability that it is at most 1, 2... Above: equally
	// likely values, a number where it is at most dfzExact, and otherwise a share
	// of all. Small numbers are kept as such since they are lumpy: blocks are
	// divided at powers of two.
	smaller [dfzSmaller]uint16
}

// A dfzCellRow and a dfzRunRow are how the generated files have cells and runs:
// the fields in order.
type (
	dfzCellRow [5 + dfzRunBits + 3 + dfzSmaller]uint16
	dfzRunRow  [2 + 3 + dfzSmaller]uint16
)

func dfzCells(rows []dfzCellRow) []dfzCell {
	cells := make([]dfzCell, len(rows))
	for i, r := range rows {
		c := &cells[i]
		c.depth, c.size, c.cover, c.prefix, c.run = uint8(r[0]), uint8(r[1]), uint8(r[2]), r[3], r[4]
		for j := range c.runBits {
			c.runBits[j] = uint8(r[5+j])
		}
		c.split = splitOfRow(r[5+dfzRunBits:])
	}
	return cells
}

func dfzRuns(rows []dfzRunRow) []dfzRun {
	runs := make([]dfzRun, len(rows))
	for i, r := range rows {
		runs[i] = dfzRun{uint8(r[0]), uint8(r[1]), splitOfRow(r[2:])}
	}
	return runs
}

func splitOfRow(r []uint16) dfzSplit {
	return dfzSplit{r[0], r[1], r[2], [dfzSmaller]uint16(r[3:])}
}

const (
	dfzRunBits = 5
	dfzSmaller = dfzExact / 2
	dfzOne     = 10000
)

// The kinds of cover.
const (
	coverNone  = iota // no prefix above
	coverStart        // same address as the nearest prefix above
	coverHalf         // the right half of a prefix
	coverInner        // elsewhere under a prefix
	coverSelf         // the node is a prefix: for dealing what is left only
	coverKinds
)

// Size classes: 1 to dfzExact have one each, then every doubling has four: just
// above the power of two, in between, just below the next one, and exactly that.
// Full blocks and nearly full ones behave unlike others.
const (
	dfzExact = 16
	dfzSizes = dfzExact + 4*15
)

// sizeClass is the class of a subtree of n prefixes, n at least 1.
func sizeClass(n int) int {
	if n <= dfzExact {
		return n - 1
	}
	doubling := bits.Len(uint(n-1)) - 1 // 2^doubling < n <= 2^(doubling+1)
	low, high := 1<<doubling, 2<<doubling
	class := dfzExact + 4*(doubling-4)
	switch {
	case n <= low+low/16:
	case n == high:
		class += 3
	case n >= high-high/16:
		class += 2
	default:
		class++
	}
	return min(class, dfzSizes-1)
}

func generateDFZ(f Family, count int, seed uint64) *Set {
	if f == IPv6 {
		return dfzIPv6().generate(count, seed)
	}
	return dfzIPv4().generate(count, seed)
}

// generate draws a table of at least the snapshot's size and samples it down.
func (m *dfzModel) generate(count int, seed uint64) *Set {
	full := max(count, m.snapshot)
	d := dealer{
		model: m,
		cells: m.table(),
		runs:  m.runTable(),
		rng:   newRand(seed, "dfz", m.family),
		out:   newSet(m.family, full),
	}
	for i, n := range m.shares(full) {
		b := m.blocks[i]
		if b.run > 0 {
			d.dealRun(uint128{hi: b.start}, int(b.depth), n, int(b.run))
		} else {
			d.deal(uint128{hi: b.start}, int(b.depth), n, int(b.cover))
		}
	}
	s, err := d.out.Sample(count)
	if err != nil {
		panic(err) // shares add up to what was asked for
	}
	return s
}

// shares deals count, at least the snapshot's, to the blocks as the snapshot has
// it. What would fill a block more than half goes to the others.
func (m *dfzModel) shares(count int) []int {
	shares := make([]int, len(m.blocks))
	for left := count; left > 0; {
		weight := 0
		for i, b := range m.blocks {
			if shares[i] < m.limit(b) {
				weight += b.number
			}
		}
		before, target := 0, left
		for i, b := range m.blocks {
			limit := m.limit(b)
			if shares[i] >= limit {
				continue
			}
			// Rounding what is dealt so far makes a round's shares add up to its
			// target.
			upTo := before + b.number
			n := min(target*upTo/weight-target*before/weight, limit-shares[i])
			before = upTo
			shares[i] += n
			left -= n
		}
	}
	return shares
}

// limit is the largest number of prefixes that a block may be dealt.
func (m *dfzModel) limit(b dfzBlock) int {
	if b.run > 0 {
		return 1 << min(b.run-b.depth, 40)
	}
	return max(b.number, m.room(int(b.depth))/2)
}

// room is the number of prefixes of common lengths that fit under a node.
func (m *dfzModel) room(depth int) int {
	if depth > m.commonBits {
		return 0
	}
	return 1<<(min(m.commonBits-depth, 40)+1) - 1
}

// table lays the cells out by depth, size and cover, each filled with the
// nearest figures there are.
func (m *dfzModel) table() []dfzCell {
	all := make([]dfzCell, (m.family.Bits()+1)*dfzSizes*coverKinds)
	known := make([]bool, len(all))
	for _, c := range m.cells {
		i := cellIndex(int(c.depth), int(c.size), int(c.cover))
		all[i], known[i] = c, true
	}
	for depth := range m.family.Bits() + 1 {
		for size := range dfzSizes {
			for cover := range coverKinds {
				i := cellIndex(depth, size, cover)
				if !known[i] {
					all[i] = nearest(m.cells, depth, size, cover)
				}
			}
		}
	}
	return all
}

// runTable is table for runs.
func (m *dfzModel) runTable() []dfzRun {
	all := make([]dfzRun, (m.family.Bits()+1)*dfzSizes)
	for i := range all {
		height, size := i/dfzSizes, i%dfzSizes
		bestDistance := math.MaxInt
		for _, r := range m.runs {
			distance := 3*abs(height-int(r.height)) + sizeDistance(size, int(r.size))
			if distance < bestDistance {
				all[i], bestDistance = r, distance
			}
		}
	}
	return all
}

func cellIndex(depth, size, cover int) int {
	return (depth*dfzSizes+size)*coverKinds + cover
}

// nearest finds the cell most like the one that is missing. The depth weighs
// least: neighbouring depths are alike.
func nearest(cells []dfzCell, depth, size, cover int) dfzCell {
	best, bestDistance := dfzCell{}, math.MaxInt
	for _, c := range cells {
		distance := 3*abs(depth-int(c.depth)) + sizeDistance(size, int(c.size))
		if int(c.cover) != cover {
			distance += 2
			if cover == coverSelf || c.cover == coverSelf {
				distance += 1000 // has no figure for prefix
			}
		}
		if distance < bestDistance {
			best, bestDistance = c, distance
		}
	}
	return best
}

// sizeDistance never takes figures of an exact size for those of another kind.
func sizeDistance(a, b int) int {
	if (a < dfzExact) != (b < dfzExact) {
		return 10000
	}
	return 4 * abs(a-b)
}

func abs(n int) int { return max(n, -n) }
