package churn

import (
	"cmp"
	"fmt"
	"slices"

	"fibchurn/internal/lctrie"
	"fibchurn/results"
)

// A resizeForecast is what the model says of one cell's operations.
type resizeForecast struct {
	pattern            sequence
	inflateAt, halveAt int

	sizes       []int64 // the pattern's own routes after each operation of a cycle
	beside      int64   // other routes
	events      results.ResizeEvents
	crossed     int64
	crossings   []crossing // of the crossing cell, in order of operations
	transitions []results.ResizeTransition
}

// A crossing is an operation that changes a tnode, or would in the crossing cell.
type crossing struct{ op, transition int }

// size is the number of the pattern's own routes after operation i.
func (f *resizeForecast) size(i int) int64 { return f.sizes[i%len(f.sizes)] }

// forecast goes through both cells' sequences in the model. Both have the places
// of the crossing cell's crossings; the events are those of the cell itself.
func forecast(cells *resizeCells, root bool, cell string, suffix bool) (*resizeForecast, error) {
	crossing := &resizeForecast{pattern: cells.crossing, inflateAt: cells.inflateAt, halveAt: cells.halveAt}
	if err := crossing.walk(root, suffix); err != nil {
		return nil, err
	}
	if crossing.crossed == 0 {
		return nil, fmt.Errorf("the pattern changes no tnode")
	}
	if cell == resizeCrossing {
		return crossing, nil
	}
	control := &resizeForecast{pattern: cells.control, inflateAt: cells.inflateAt, halveAt: cells.halveAt}
	if err := control.walk(root, suffix); err != nil {
		return nil, err
	}
	if control.crossed != 0 {
		return nil, fmt.Errorf("the pattern's control changes tnodes %d times", control.crossed)
	}
	control.crossings, control.transitions = crossing.crossings, crossing.transitions
	return control, nil
}

// walk does all operations in the model.
func (f *resizeForecast) walk(root, suffix bool) error {
	model, err := f.filled(root)
	if err != nil {
		return err
	}
	var size int64
	size, f.beside = sizesOf(f.pattern.setup)
	for _, op := range f.pattern.cycle {
		size += op.growth()
		f.sizes = append(f.sizes, size)
	}
	known := map[string]int{} // transitions by what they are
	var first []int           // operation of each
	for i := range f.pattern.ops() {
		op := f.pattern.at(i)
		e, err := apply(model, op, root)
		if err != nil {
			return err
		}
		f.add(e)
		kinds := kindsOf(e, suffix)
		if len(kinds) == 0 {
			continue
		}
		key := fmt.Sprint(op.remove, f.size(i), kinds)
		n, seen := known[key]
		if !seen {
			n = len(first)
			known[key], first = n, append(first, i)
			f.transitions = append(f.transitions, results.ResizeTransition{Op: op.verb(), Size: f.size(i), Kinds: kinds})
		}
		f.crossed++
		f.crossings = append(f.crossings, crossing{i, n})
	}
	return f.shapes(root, first)
}

// filled is a model after setup.
func (f *resizeForecast) filled(root bool) (*lctrie.Trie, error) {
	model, err := newResizeModel(root)
	if err != nil {
		return nil, err
	}
	for _, op := range f.pattern.setup {
		if _, err := apply(model, op, root); err != nil {
			return nil, err
		}
	}
	return model, nil
}

// shapes takes the sizes of tnodes around the first operation of each transition.
// To walk the trie at each of them is too much, and which are first was not known
// before.
func (f *resizeForecast) shapes(root bool, first []int) error {
	model, err := f.filled(root)
	if err != nil {
		return err
	}
	next := 0
	for n, i := range first {
		for ; next < i; next++ {
			if _, err := apply(model, f.pattern.at(next), root); err != nil {
				return err
			}
		}
		before := model.Shape().TnodesByBits
		if _, err := apply(model, f.pattern.at(next), root); err != nil {
			return err
		}
		next++
		t := &f.transitions[n]
		t.Before, t.After = changedSizes(before, model.Shape().TnodesByBits)
	}
	return nil
}

// add counts the events of one operation.
func (f *resizeForecast) add(e lctrie.Events) {
	f.events.Resizes += int64(e.Resizes)
	f.events.Splits += int64(e.Splits)
	f.events.Inflates += int64(e.Inflates)
	f.events.Halves += int64(e.Halves)
	f.events.Collapses += int64(e.Collapses)
	f.events.SuffixReads += int64(e.SuffixReads)
	f.events.FreedBytes += e.FreedBytes
}

// kindsOf counts what an operation did to tnodes, and with suffix the children it
// read for a suffix length.
func kindsOf(e lctrie.Events, suffix bool) map[string]int64 {
	kinds := map[string]int64{}
	for _, c := range e.Changes {
		kinds[c.Kind.String()]++
	}
	if suffix && e.SuffixReads > 0 {
		kinds["suffix"] = int64(e.SuffixReads)
	}
	return kinds
}

// changedSizes returns the sizes of tnodes of which the number changed, with both
// numbers.
func changedSizes(before, after map[int]int64) (was, is map[int]int64) {
	was, is = map[int]int64{}, map[int]int64{}
	for _, sizes := range []map[int]int64{before, after} {
		for bits := range sizes {
			if before[bits] != after[bits] {
				was[bits], is[bits] = before[bits], after[bits]
			}
		}
	}
	return was, is
}

// chief are the indexes of the transitions that are recorded, in order: those of
// most work, as far as the tnodes before and after tell.
func (f *resizeForecast) chief(most int) []int {
	order := make([]int, len(f.transitions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.transitions[b].Work(), f.transitions[a].Work()) })
	order = order[:min(len(order), most)]
	slices.Sort(order)
	return order
}
