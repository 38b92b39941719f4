package prefixes

import (
	"math"
	"math/rand/v2"
)

// A dealer walks the cascade and appends the prefixes it draws, ascending.
type dealer struct {
	model *dfzModel
	cells []dfzCell
	runs  []dfzRun
	rng   *rand.Rand
	out   *Set
}

func (d *dealer) chance(p uint16) bool {
	return d.rng.Uint32N(dfzOne) < uint32(p)
}

// deal draws n prefixes, n at least 1, in the subtree of the node at key.
func (d *dealer) deal(key uint128, depth, n, cover int) {
	half := d.halfRoom(depth, n)
	cell := &d.cells[cellIndex(depth, sizeClass(n), cover)]
	if n > 2*half || d.chance(cell.prefix) {
		d.out.appendKey(key, depth)
		n--
		cover = coverSelf
	}
	if n == 0 {
		return
	}
	cell = &d.cells[cellIndex(depth, sizeClass(n), cover)]
	if n > 1 && d.chance(cell.run) {
		if runBits := int(cell.runBits[d.rng.IntN(dfzRunBits)]); runBits > depth && n <= 1<<min(runBits-depth, 40) {
			d.dealRun(key, depth, n, runBits)
			return
		}
	}
	left := d.split(depth, n, half, cover)
	if left > 0 {
		d.deal(key, depth+1, left, coverOfLeft(cover))
	}
	if left < n {
		d.deal(key.setBit(depth), depth+1, n-left, coverOfRight(cover))
	}
}

// halfRoom is the number of prefixes each half of a node may be dealt: only
// common lengths, where they are enough.
func (d *dealer) halfRoom(depth, n int) int {
	if half := d.model.room(depth + 1); n <= 2*half+1 && half > 0 {
		return half
	}
	below := d.model.family.Bits() - depth
	return 1<<min(below, 40) - 1
}

func coverOfLeft(cover int) int {
	if cover == coverSelf {
		return coverStart
	}
	return cover
}

func coverOfRight(cover int) int {
	switch cover {
	case coverNone:
		return coverNone
	case coverSelf:
		return coverHalf
	}
	return coverInner
}

// split draws how many of n go to the left half, again where a half would be
// fuller than halves are: sizes of one class differ, so the class's shares do
// not all suit n.
func (d *dealer) split(depth, n, half, cover int) int {
	cell := &d.cells[cellIndex(depth, sizeClass(n), cover)]
	usual := half
	if n > dfzExact {
		usual = min(half, half/2+half/16+1)
	}
	for range 20 {
		if left := d.draw(n, &cell.split); max(left, n-left) <= usual {
			return left
		}
	}
	return min(max(d.draw(n, &cell.split), n-half), half)
}

// dealRun draws n prefixes of one length under the node at key.
func (d *dealer) dealRun(key uint128, depth, n, runBits int) {
	if depth == runBits {
		d.out.appendKey(key, depth)
		return
	}
	half := 1 << min(runBits-depth-1, 40)
	run := &d.runs[(runBits-depth)*dfzSizes+sizeClass(n)]
	left := d.draw(n, &run.split)
	for try := 0; try < 20 && max(left, n-left) > half; try++ {
		left = d.draw(n, &run.split)
	}
	left = min(max(left, n-half), half)
	if left > 0 {
		d.dealRun(key, depth+1, left, runBits)
	}
	if left < n {
		d.dealRun(key.setBit(depth), depth+1, n-left, runBits)
	}
}

// draw draws how many of n go to the left half.
func (d *dealer) draw(n int, split *dfzSplit) int {
	switch r := uint16(d.rng.Uint32N(dfzOne)); {
	case r < split.leftEmpty:
		return 0
	case r < split.leftEmpty+split.rightEmpty:
		return n
	case n == 1:
		return int(d.rng.Uint32N(2)) // figures of larger subtrees
	}
	smaller := min(max(1, d.drawSmaller(n, split)), n/2)
	if d.chance(split.leftSmaller) {
		return smaller
	}
	return n - smaller
}

func (d *dealer) drawSmaller(n int, split *dfzSplit) int {
	if n <= dfzExact {
		r := uint16(d.rng.Uint32N(dfzOne))
		for i, upTo := range split.smaller {
			if r < upTo {
				return i + 1
			}
		}
		return n / 2
	}
	// The conversions keep a compiler from fusing operations, which would round
	// otherwise on some machines and draw another table.
	at := min(max(0, float64(d.rng.Float64()*dfzSmaller)-0.5), dfzSmaller-1)
	i := int(at + 0.5)
	if split.smaller[i] <= dfzExact {
		return int(split.smaller[i])
	}
	// Shares are straight between the values given.
	i = int(at)
	low, high := split.smaller[i], split.smaller[min(i+1, dfzSmaller-1)]
	if low <= dfzExact {
		low = high
	}
	share := float64(low) + float64((at-float64(i))*(float64(high)-float64(low)))
	return int(math.Round(share / dfzOne * float64(n)))
}
