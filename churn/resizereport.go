package churn

import (
	"cmp"
	"slices"
	"time"

	"fibchurn/results"
)

// Bounds of what a record keeps of single operations.
const (
	maxTransitions = 48
	maxCrossings   = 48
	maxSpikes      = 16
	curveBins      = 16
)

// report puts what the timed operations cost into the record.
func (r *resizeRun) report(run *results.Run, _ []time.Duration) {
	f := r.spec.forecast
	run.Resize = &results.Resize{
		Pattern: r.spec.Pattern, NodeBits: r.spec.NodeBits, Root: r.spec.Root,
		Operations: int64(len(r.times)), Beside: f.beside,
		InflateAt: int64(f.inflateAt), HalveAt: int64(f.halveAt),
		Events: f.events, Waits: waitsOf(r.times),
		Crossed: f.crossed, Transitions: r.transitions(), TransitionsTotal: int64(len(f.transitions)),
		Crossings: r.crossings(), Spikes: r.spikes(), Curve: r.curve(),
		Adds: r.distribution(false), Deletes: r.distribution(true),
	}
}

func waitsOf(times []operationTime) results.ResizeWaits {
	var w results.ResizeWaits
	for _, t := range times {
		if t.blocked > 0 {
			w.Count++
			w.Blocked += t.blocked.Nanoseconds()
		}
	}
	return w
}

// transitions takes the times of the operations of each sort.
func (r *resizeRun) transitions() []results.ResizeTransition {
	f := r.spec.forecast
	times := make([][]operationTime, len(f.transitions))
	for _, c := range f.crossings {
		times[c.transition] = append(times[c.transition], r.times[c.op])
	}
	list := []results.ResizeTransition{}
	for _, n := range f.chief(maxTransitions) {
		t := f.transitions[n]
		d := distribute(times[n])
		t.Ops, t.P50, t.Min, t.Max, t.Waits = d.Count, d.P50, d.Min, d.Max, waitsOf(times[n])
		list = append(list, t)
	}
	return list
}

// distribute is the distribution of times without waits.
func distribute(times []operationTime) *results.Distribution {
	busy := make([]time.Duration, len(times))
	for i, t := range times {
		busy[i] = t.busy()
	}
	return results.Distribute(busy)
}

// distribution is that of all additions or all removals, nil where there are none.
func (r *resizeRun) distribution(remove bool) *results.Distribution {
	var times []operationTime
	for i, t := range r.times {
		if r.spec.forecast.pattern.at(i).remove == remove {
			times = append(times, t)
		}
	}
	return distribute(times)
}

// crossings are the slowest operations that changed a tnode, in their order.
func (r *resizeRun) crossings() []results.ResizeOperation {
	f := r.spec.forecast
	if f.crossed == 0 {
		return []results.ResizeOperation{} // a control's are another cell's
	}
	slow := slices.Clone(f.crossings)
	slices.SortStableFunc(slow, func(a, b crossing) int { return cmp.Compare(r.times[b.op].wall, r.times[a.op].wall) })
	slow = slow[:min(len(slow), maxCrossings)]
	slices.SortFunc(slow, func(a, b crossing) int { return cmp.Compare(a.op, b.op) })
	list := make([]results.ResizeOperation, len(slow))
	for i, c := range slow {
		t := f.transitions[c.transition]
		list[i] = r.operation(c.op)
		list[i].Kinds, list[i].Before, list[i].After = t.Kinds, t.Before, t.After
	}
	return list
}

// spikes are the slowest operations that changed no tnode, in their order.
func (r *resizeRun) spikes() []results.ResizeOperation {
	f := r.spec.forecast
	var slow []int // by time, the slowest first
	changes := f.crossings
	if f.crossed == 0 {
		changes = nil
	}
	for i, t := range r.times {
		if len(changes) > 0 && changes[0].op == i {
			changes = changes[1:]
			continue
		}
		at, _ := slices.BinarySearchFunc(slow, t.wall, func(k int, wall time.Duration) int { return cmp.Compare(wall, r.times[k].wall) })
		if at < maxSpikes {
			slow = slices.Insert(slow, at, i)
			slow = slow[:min(len(slow), maxSpikes)]
		}
	}
	slices.Sort(slow)
	list := make([]results.ResizeOperation, len(slow))
	for i, op := range slow {
		list[i] = r.operation(op)
	}
	return list
}

// operation is operation i without what it changed.
func (r *resizeRun) operation(i int) results.ResizeOperation {
	f, op, t := r.spec.forecast, r.spec.forecast.pattern.at(i), r.times[i]
	return results.ResizeOperation{
		Index: int64(i), Op: op.verb(), Prefix: op.prefix.String(), Size: f.size(i),
		Wall: t.wall.Nanoseconds(), Blocked: t.blocked.Nanoseconds(),
	}
}

// curve is the cost by table size, additions before removals in each bin.
func (r *resizeRun) curve() []results.ResizeBin {
	f := r.spec.forecast
	bins := binsOf(slices.Min(f.sizes), slices.Max(f.sizes))
	times := make([][2][]operationTime, len(bins))
	for i, t := range r.times {
		size := f.size(i)
		at, _ := slices.BinarySearchFunc(bins, size, func(b [2]int64, size int64) int { return cmp.Compare(b[1], size) })
		sort := 0
		if f.pattern.at(i).remove {
			sort = 1
		}
		times[at][sort] = append(times[at][sort], t)
	}
	list := []results.ResizeBin{}
	for i, bin := range bins {
		for sort, verb := range []string{"add", "delete"} {
			if d := distribute(times[i][sort]); d != nil {
				list = append(list, results.ResizeBin{Op: verb, From: bin[0], To: bin[1], Ops: d.Count, P50: d.P50, Max: d.Max})
			}
		}
	}
	return list
}

// binsOf divides table sizes from lo to hi: into equal parts, or where hi is many
// times lo at the powers of two.
func binsOf(lo, hi int64) [][2]int64 {
	var bins [][2]int64
	if hi > 8*max(lo, 1) {
		for from := lo; from <= hi; {
			to := int64(1)
			for to < from {
				to *= 2
			}
			bins = append(bins, [2]int64{from, min(to, hi)})
			from = to + 1
		}
		return bins
	}
	n := min(curveBins, hi-lo+1)
	for i := range n {
		bins = append(bins, [2]int64{lo + i*(hi-lo+1)/n, lo + (i+1)*(hi-lo+1)/n - 1})
	}
	return bins
}
