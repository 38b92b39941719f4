package results

import "fmt"

// identity tells a run from every other: no two begin in one boot at one time.
func (r *Run) identity() string {
	return fmt.Sprintf("%s\n%d\n%s\n%s\n%d", r.Boot, r.Time.UnixNano(), r.Command, r.Cell, r.Run)
}

// Distinct returns the runs without those that repeat one before them, as happens where
// files overlap, and how many these are.
func Distinct(runs []Run) (distinct []Run, twice int) {
	seen := map[string]bool{}
	for i := range runs {
		id := runs[i].identity()
		if !seen[id] {
			distinct = append(distinct, runs[i])
		}
		seen[id] = true
	}
	return distinct, len(runs) - len(distinct)
}

// refuseSameRuns refuses to compare runs with themselves, and warns where some are
// on both sides: what is shared hides a difference.
func (p *pairing) refuseSameRuns() error {
	known := map[string]bool{}
	for i := range p.base {
		known[p.base[i].identity()] = true
	}
	shared := 0
	for i := range p.new {
		if known[p.new[i].identity()] {
			shared++
		}
	}
	switch {
	case shared == 0:
		return nil
	case shared == len(p.base) && shared == len(p.new):
		runs := fmt.Sprintf("%d", shared)
		return p.refused(&IncomparableError{What: "runs", Base: runs, New: "the same " + runs, Forcible: true})
	}
	p.warnings = append(p.warnings, Warning{"same", fmt.Sprintf("%d of the runs of new are in base too", shared)})
	return nil
}
