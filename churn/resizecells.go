package churn

import (
	"fmt"
	"net/netip"
	"slices"
)

// resizePattern makes the sequences of a pattern.
func resizePattern(pattern string, root bool, bits, cycles int) (*resizeCells, error) {
	b := block{root: root, bits: bits}
	up, down, err := b.thresholds()
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	cells := &resizeCells{inflateAt: up, halveAt: down}
	switch pattern {
	case patternOscillate:
		b.oscillate(cells)
	case patternGrow:
		b.grow(cells)
	case patternShrink:
		b.shrink(cells)
	case patternSplit:
		b.split(cells)
	case patternSuffix:
		b.suffix(cells)
	}
	cells.crossing.cycles, cells.control.cycles = cycles, cycles
	return cells, nil
}

// oscillate removes routes, the last first, until the tnode is halved, and adds
// them again until it is inflated. The kernel's thresholds are apart by a factor
// of two, so that is half of the routes each way, whatever their order. The
// control has one leaf more below the tnode, which is then never sparse enough;
// the crossing cell has one alias more instead.
func (b block) oscillate(c *resizeCells) {
	filled := append([]routeOp{b.cover()}, b.dense(0, c.inflateAt, false)...)
	c.crossing.setup = append(slices.Clip(filled), routeOp{prefix: b.alias(9), beside: true})
	c.control.setup = append(slices.Clip(filled), routeOp{prefix: b.half(0), beside: true})
	cycle := append(b.dense(c.halveAt, c.inflateAt, true), b.dense(c.halveAt, c.inflateAt, false)...)
	c.crossing.cycle, c.control.cycle = cycle, cycle
}

// held are the routes that keep the control's tnode from being halved when all
// dense routes are gone.
func (b block) held(c *resizeCells) []routeOp {
	ops := make([]routeOp, c.halveAt+1)
	for i := range ops {
		ops[i] = routeOp{prefix: b.half(i * c.inflateAt / len(ops)), beside: true}
	}
	return ops
}

// grow adds the dense routes, in order, to a table that has nothing there but the
// cover. The control's tnode has its final size from the start.
func (b block) grow(c *resizeCells) {
	cover, held := []routeOp{b.cover()}, b.held(c)
	c.crossing.setup = slices.Concat(cover, b.ballast(len(held)))
	c.control.setup = slices.Concat(cover, b.dense(0, c.inflateAt, false), held, b.dense(0, c.inflateAt, true))
	c.crossing.cycle = b.dense(0, c.inflateAt, false)
	c.control.cycle = c.crossing.cycle
}

// shrink removes the dense routes, the last first. The control's tnode keeps its
// size to the end.
func (b block) shrink(c *resizeCells) {
	cover, held, dense := []routeOp{b.cover()}, b.held(c), b.dense(0, c.inflateAt, false)
	c.crossing.setup = slices.Concat(cover, b.ballast(len(held)), dense)
	c.control.setup = slices.Concat(cover, dense, held)
	c.crossing.cycle = b.dense(0, c.inflateAt, true)
	c.control.cycle = c.crossing.cycle
}

// siblings are enough routes that one more below their tnode finds an empty place
// in it: 5 of 8 are taken, and 6 neither inflate nor halve it.
const siblings = 5

// split adds a route whose address leaves the compressed path above the dense
// tnode, two bits and more above it, and removes it again. In the control that
// path was split before, by siblings of the route.
func (b block) split(c *resizeCells) {
	end := 32 - b.length() + b.bits // first bit above the tnode
	far := uint32(blockKey) ^ 1<<(end+3)
	beside := func(i uint32) netip.Prefix { return netip.PrefixFrom(ip4(far+i*b.step()), b.length()) }
	filled := append([]routeOp{b.cover()}, b.dense(0, c.inflateAt, false)...)
	c.crossing.setup = slices.Concat(filled, b.ballast(siblings))
	c.control.setup = slices.Clip(filled)
	for i := range uint32(siblings) {
		c.control.setup = append(c.control.setup, routeOp{prefix: beside(1 + i), beside: true})
	}
	c.crossing.cycle = []routeOp{{prefix: beside(0)}, {prefix: beside(0), remove: true}}
	c.control.cycle = c.crossing.cycle
}

// suffix adds 10.0.0.0/9 to the leaf of the first dense route and removes it
// again: the suffix lengths of the tnodes above rise, and for the fall the kernel
// searches the tnode's children for the next (node_pull_suffix, update_suffix).
// In the control 10.0.0.0/8 in the same leaf has a longer suffix all the time.
func (b block) suffix(c *resizeCells) {
	dense := b.dense(0, c.inflateAt, false)
	c.crossing.setup = append(slices.Clip(dense), routeOp{prefix: b.alias(b.length() + 1), beside: true})
	c.control.setup = append(slices.Clip(dense), b.cover())
	c.crossing.cycle = []routeOp{{prefix: b.alias(9)}, {prefix: b.alias(9), remove: true}}
	c.control.cycle = c.crossing.cycle
}
