package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxFrames is the length from which on a stack's inner frames are left out. The
// kernel takes 127 of each side (PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h),
// so only what no kernel recorded is longer.
const maxFrames = 512

// A profileSet is the stacks of one phase of one cell, of all its profiled runs
// together.
type profileSet struct {
	names   []string // the phase's, after the cell's, and before it the block's where there are several
	stacks  map[string]int64
	samples int64
	runs    int
}

// profileSets returns those with samples, in the order of the tables.
func profileSets(runs []Run) []profileSet {
	var sets []profileSet
	var all []block
	for _, b := range blocks(runs) {
		if len(watchedCells(b, (*Run).profiled)) > 0 {
			all = append(all, b)
		}
	}
	for i, b := range all {
		for _, c := range watchedCells(b, (*Run).profiled) {
			for _, phase := range profilePhases(c.watched) {
				set := profileSet{names: []string{frame(c.name), frame(phase)}, stacks: map[string]int64{}}
				if len(all) > 1 {
					set.names = slices.Insert(set.names, 0, frame(blockName(b, i)))
				}
				set.add(c.watched, phase)
				if set.samples > 0 {
					sets = append(sets, set)
				}
			}
		}
	}
	return sets
}

// blockName tells the n-th of several blocks from the others.
func blockName(b block, n int) string {
	e := &b.runs[0].Environment
	name := e.Label
	if name == "" {
		name = e.Kernel
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %s %s", n+1, b.runs[0].Command, name))
}

func (s *profileSet) add(runs []Run, phase string) {
	for i := range runs {
		p := runs[i].profileOf(phase)
		if p == nil {
			continue
		}
		s.runs++
		for _, stack := range p.Stacks {
			frames := strings.Split(stack.Frames, ";")
			frames = ownInnermost(frames)
			frames = frames[:min(len(frames), maxFrames)]
			for i, f := range frames {
				frames[i] = frame(f)
			}
			key := strings.Join(frames, ";")
			s.stacks[key], s.samples = plus(s.stacks[key], stack.Samples), plus(s.samples, stack.Samples)
		}
	}
}

// ownInnermost leaves of fibchurn's frames the innermost, and what that called: those
// outside of it tell how a thread came to be, which differs from run to run, and would
// have one and the same path through the kernel in several places.
func ownInnermost(frames []string) []string {
	for i := len(frames) - 1; i >= 0; i-- {
		if f := frames[i]; strings.HasSuffix(f, userSuffix) && (strings.HasPrefix(f, "fibchurn/") || strings.HasPrefix(f, "main.")) {
			outside := slices.DeleteFunc(slices.Clone(frames[:i]), func(f string) bool { return strings.HasSuffix(f, userSuffix) })
			return append(outside, frames[i:]...)
		}
	}
	return frames
}

// frame makes a name harmless as a frame of a stack.
func frame(name string) string {
	if name = strings.ReplaceAll(plain(name), ";", ":"); name == "" {
		return "[unknown]"
	}
	return name
}

// WriteFolded writes the profiles of the runs as folded stacks, which the tools for
// flame graphs read: a line "cell;phase;function;function N" for each stack, outermost
// function first, with the number of samples that ended there in all profiled runs of
// the cell. Runs of several commands, kernels, machines or specs have a frame before
// the cell that tells them apart. The lines of a phase are in alphabetical order. The
// error is w's.
func WriteFolded(w io.Writer, runs []Run) error {
	out := bufio.NewWriter(w)
	for _, set := range profileSets(runs) {
		prefix := strings.Join(set.names, ";")
		for _, frames := range sortedKeys(set.stacks) {
			if n := set.stacks[frames]; n > 0 {
				fmt.Fprintf(out, "%s;%s %d\n", prefix, frames, n)
			}
		}
	}
	return out.Flush()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// HasProfile reports whether any of the runs has a profile that WriteFolded and
// WriteFlameGraph show: one with samples, of a run whose checks held.
func HasProfile(runs []Run) bool { return len(profileSets(runs)) > 0 }
