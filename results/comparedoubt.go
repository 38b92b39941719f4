package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comparisonDoubts returns what makes a comparison of two sides doubtful without making it
// meaningless. What the groups were made by is no doubt.
func comparisonDoubts(baseRuns, newRuns []Run, by string) []Warning {
	var all []Warning
	for _, p := range requiredProperties() {
		if w, ok := p.unknown(baseRuns, newRuns); ok {
			all = append(all, w)
		}
	}
	for _, p := range sharedProperties() {
		if w, ok := p.differs(baseRuns, newRuns); ok && p.key != by {
			all = append(all, w)
		}
	}
	if w, ok := bootOptions(baseRuns, newRuns); ok && by != "environment.command_line" {
		all = append(all, w)
	}
	if w, ok := notInterleaved(baseRuns, newRuns); ok {
		all = append(all, w)
	}
	return all
}

// sideDoubts returns what makes one side doubtful by itself.
func sideDoubts(side string, runs []Run, by string) []Warning {
	var all []Warning
	kernel := property{value: func(r *Run) string {
		return strings.TrimSpace(r.Environment.Kernel + " " + r.Environment.KernelVersion)
	}}
	if kernels := kernel.values(runs); len(kernels) > 1 && by != "cell" {
		all = append(all, Warning{"mixed", fmt.Sprintf("%s has runs of %s", side, listText(kernels))})
	}
	for _, text := range warningTexts(block{runs: runs}) {
		all = append(all, Warning{"run", side + ": " + strings.TrimPrefix(text, "warning: ")})
	}
	return all
}

// sharedProperties returns what figures depend on somewhat.
func sharedProperties() []property {
	return []property{
		{"environment.cpu", "CPU model", func(r *Run) string { return r.Environment.CPU }},
		{"environment.governor", "frequency governor", func(r *Run) string { return r.Environment.Governor }},
		{"environment.clock_source", "clock source", func(r *Run) string { return r.Environment.ClockSource }},
		{"environment.debug", "debug options", func(r *Run) string { return debugText(&r.Environment) }},
		{"environment.fib_sync_mem", "fib_sync_mem", func(r *Run) string {
			if r.Environment.FibSyncMem < 0 {
				return ""
			}
			return strconv.FormatInt(r.Environment.FibSyncMem, 10)
		}},
		{"environment.rootless", "rootless", func(r *Run) string { return strconv.FormatBool(r.Environment.Rootless) }},
		{"environment.fibchurn", "fibchurn version", func(r *Run) string { return r.Environment.Fibchurn }},
	}
}

func (q property) differs(base, new []Run) (w Warning, ok bool) {
	b, n := q.values(base), q.values(new)
	if len(union(b, n)) < 2 {
		return Warning{}, false
	}
	return Warning{"differs", fmt.Sprintf("%s: base has %s, new has %s", q.name, listText(b), listText(n))}, true
}

// unknown warns of a property that only one side knows.
func (q property) unknown(base, new []Run) (w Warning, ok bool) {
	b, n := q.values(base), q.values(new)
	if (len(b) == 0) == (len(n) == 0) {
		return Warning{}, false
	}
	return Warning{"unknown", fmt.Sprintf("%s: base has %s, new has %s", q.name, listText(b), listText(n))}, true
}

// debugText is the debug options in force, "" where they are unknown.
func debugText(e *Environment) string {
	if e.Debug == nil {
		return ""
	}
	return "[" + strings.Join(e.Debug, " ") + "]"
}

// bootWords returns the words of the kernel's command line but for those that name
// the kernel's own files, which differ by nature.
func bootWords(e *Environment) []string {
	return slices.DeleteFunc(strings.Fields(e.CommandLine), func(word string) bool {
		return strings.HasPrefix(word, "BOOT_IMAGE=") || strings.HasPrefix(word, "initrd=")
	})
}

// bootOptions names the words of the kernel command lines that are on one side
// only.
func bootOptions(base, new []Run) (w Warning, ok bool) {
	words := func(runs []Run) []string {
		var all []string
		for i := range runs {
			all = union(all, bootWords(&runs[i].Environment))
		}
		return all
	}
	b, n := words(base), words(new)
	onlyBase := slices.DeleteFunc(slices.Clone(b), func(word string) bool { return slices.Contains(n, word) })
	onlyNew := slices.DeleteFunc(slices.Clone(n), func(word string) bool { return slices.Contains(b, word) })
	if len(onlyBase)+len(onlyNew) == 0 {
		return Warning{}, false
	}
	side := func(only []string) string {
		if len(only) == 0 {
			return "nothing"
		}
		return plain(strings.Join(only, " "))
	}
	return Warning{"differs", fmt.Sprintf("boot options: only base has %s, only new has %s", side(onlyBase), side(onlyNew))}, true
}

// notInterleaved: what changed in the meantime (temperature, other load, free
// memory) then counts as a difference of the sides.
func notInterleaved(base, new []Run) (w Warning, ok bool) {
	span := func(runs []Run) (first, last time.Time) {
		first, last = runs[0].Time, runs[0].Time
		for i := range runs {
			if t := runs[i].Time; t.Before(first) {
				first = t
			} else if t.After(last) {
				last = t
			}
		}
		return first, last
	}
	firstBase, lastBase := span(base)
	firstNew, lastNew := span(new)
	switch {
	case lastBase.Before(firstNew):
		return Warning{"order", "all runs of base were before all of new: what changed meanwhile is in the differences; interleave them"}, true
	case lastNew.Before(firstBase):
		return Warning{"order", "all runs of new were before all of base: what changed meanwhile is in the differences; interleave them"}, true
	}
	return Warning{}, false
}

// bootWarning is of sides whose samples are runs of different boots.
func bootWarning(base, new Side) Warning {
	return Warning{"boots", fmt.Sprintf("base is of %s and new of %s: runs of one boot share its memory layout, so what differs between "+
		"these boots counts as a difference here; boot each several times", count(base.Boots, "boot", "boots"), count(new.Boots, "boot", "boots"))}
}

// machineText names what most of a heading names; the sides' first run stands for
// all, and what differs inside a side is a doubt or an error.
func machineText(samples []Run) string { return strings.Join(machineTexts(&samples[0]), ", ") }
