package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// traceNotes says what the tables of a trace have no rows for: calls by other threads
// while a phase went on, and functions that could not be traced.
func traceNotes(b block) []string {
	var notes, untraced []string
	for _, of := range verifiedCells(b, func(r *Run) bool { return r.Trace != nil }) {
		for _, p := range of[0].Trace.Phases {
			if calls := elsewhereText(of, p.Phase); calls != "" {
				notes = append(notes, fmt.Sprintf("calls by other threads during %s, phase %s, a run: %s", plain(of[0].Cell), plain(p.Phase), calls))
			}
		}
		for i := range of {
			for _, u := range of[i].Trace.Untraced {
				if text := plain(u.Function) + " (" + plain(u.Why) + ")"; !slices.Contains(untraced, text) {
					untraced = append(untraced, text)
				}
			}
		}
	}
	if len(untraced) > 0 {
		notes = append(notes, "not traced: "+strings.Join(untraced, ", "))
	}
	return notes
}

// elsewhereText lists functions, most calls first, with the mean of the runs' calls.
func elsewhereText(runs []Run, phase string) string {
	type calls struct {
		function string
		n        int64
	}
	var all []calls
	for i := range runs {
		for _, p := range runs[i].Trace.Phases {
			if p.Phase != phase {
				continue
			}
			for _, f := range p.Functions {
				at := slices.IndexFunc(all, func(c calls) bool { return c.function == f.Function })
				if at < 0 {
					at = len(all)
					all = append(all, calls{function: f.Function})
				}
				all[at].n = plus(all[at].n, f.Elsewhere)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b calls) int { return cmp.Compare(b.n, a.n) })
	var texts []string
	for _, c := range all {
		if c.n > 0 {
			texts = append(texts, plain(c.function)+nbsp+countText(float64(c.n)/float64(len(runs))))
		}
	}
	return strings.Join(texts, ", ")
}
