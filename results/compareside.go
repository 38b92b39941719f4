package results

// A Side is a group as it entered a comparison.
type Side struct {
	Name    string
	Machine string // kernel, processor and link kind, for people; "" without samples
	Runs    int    // all runs of the group, but those that were profiled or traced
	Samples int    // of these, what may be compared
	Boots   int    // boots of the samples
	Partial int    // left out: interrupted
	Failed  int    // left out: failed their checks; those that were profiled or traced are not counted
	Twice   int    // left out: lines that repeat a run
	Watched int    // beside them: profiled or traced, which tell no times
}

// newSide counts the runs of a group and returns its samples, and the runs that were
// profiled or traced beside them, each once.
func newSide(g Group) (side Side, samples, watched []Run) {
	side = Side{Name: g.Name}
	seen := map[string]bool{}
	for i := range g.Runs {
		r := &g.Runs[i]
		id := r.identity()
		if r.Instrumented() { // it was never meant to tell the times
			if r.Held() && !r.Partial && !seen[id] {
				seen[id] = true
				watched = append(watched, *r)
			}
			continue
		}
		side.Runs++
		switch {
		case r.Partial:
			side.Partial++
		case !r.Held():
			side.Failed++
		case seen[id]:
			side.Twice++
		default:
			seen[id] = true
			samples = append(samples, *r)
		}
	}
	side.Samples, side.Boots, side.Watched = len(samples), boots(samples), len(watched)
	if len(samples) > 0 {
		side.Machine = machineText(samples)
	}
	return side, samples, watched
}
