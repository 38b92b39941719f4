package results

import "math"

// A Metric takes one figure from a phase.
type Metric func(*Phase) float64

// WallTime is the phase's wall time in ns.
func WallTime(p *Phase) float64 { return float64(p.Wall) }

// CPUTime is the phase's user and system time in ns, NaN where it is unknown.
func CPUTime(p *Phase) float64 { return knownCPU(p, p.User+p.System) }

// BlockedTime is the phase's blocked time in ns, NaN where it is unknown.
func BlockedTime(p *Phase) float64 { return knownCPU(p, p.Blocked) }

func knownCPU(p *Phase, ns int64) float64 {
	if p.CPUUnknown {
		return math.NaN()
	}
	return float64(ns)
}

// tickedCPU reports whether the run's CPU times come in timer ticks, of 10 ms, also
// for a phase that takes but some: User-Mode Linux has no finer clock of a thread.
func tickedCPU(r *Run) bool { return r.Environment.Virtualisation == "uml" }

// Of summarises a metric of the named phase over the runs that are samples and
// have the phase. Where they are of several boots, each boot enters with its
// median, since runs of one boot share that boot's memory layout, and N counts
// boots; Min and Max are of all runs all the same.
func Of(runs []Run, phase string, m Metric) Summary {
	var s byBoot
	for i := range runs {
		r := &runs[i]
		if p := r.Phase(phase); p != nil && r.Sample() {
			s.add(r.Boot, m(p))
		}
	}
	return s.summarize()
}

// Net summarises how much more the named phase cost in the loaded runs than in
// the empty ones, the calibration. Runs are interleaved, so a loaded run is
// compared with the empty run of its boot and number, and the differences are
// summarised; a run without partner stays out. A negative difference stays
// negative. Several boots enter as in Of.
func Net(loaded, empty []Run, phase string, m Metric) Summary {
	var s byBoot
	for _, p := range pairs(loaded, empty, phase) {
		s.add(p.loaded.Boot, m(p.loaded.Phase(phase))-m(p.empty.Phase(phase)))
	}
	return s.summarize()
}

type pair struct{ loaded, empty *Run }

// pairs matches runs by boot and number. A file of two invocations on one boot
// has every number twice: then the runs nearest in time belong together.
func pairs(loaded, empty []Run, phase string) []pair {
	return pairsWith(loaded, empty, func(r *Run) bool { return r.Phase(phase) != nil })
}

// pairsWith matches the samples that have something.
func pairsWith(loaded, empty []Run, has func(*Run) bool) []pair {
	sample := func(r *Run) bool { return r.Sample() && has(r) }
	return match(loaded, empty, sample, sample)
}

// match pairs those of the runs that may be paired, by boot and number.
func match(loaded, empty []Run, mayLoaded, mayEmpty func(*Run) bool) []pair {
	type key struct {
		boot string
		run  int
	}
	partners := map[key][]*Run{}
	for i := range empty {
		if r := &empty[i]; mayEmpty(r) {
			k := key{r.Boot, r.Run}
			partners[k] = append(partners[k], r)
		}
	}
	var found []pair
	for i := range loaded {
		r := &loaded[i]
		k := key{r.Boot, r.Run}
		free := partners[k]
		if len(free) == 0 || !mayLoaded(r) {
			continue
		}
		n := nearest(free, r)
		found = append(found, pair{r, free[n]})
		partners[k] = append(free[:n:n], free[n+1:]...)
	}
	return found
}

// nearest returns the index of the run that started nearest to r.
func nearest(runs []*Run, r *Run) int {
	best := 0
	for i := range runs {
		if runs[i].Time.Sub(r.Time).Abs() < runs[best].Time.Sub(r.Time).Abs() {
			best = i
		}
	}
	return best
}

// byBoot collects values by the boot they were measured in.
type byBoot struct {
	boots  []string
	values map[string][]float64
}

// add leaves out what is unknown.
func (b *byBoot) add(boot string, v float64) {
	if math.IsNaN(v) {
		return
	}
	if b.values == nil {
		b.values = map[string][]float64{}
	}
	if _, ok := b.values[boot]; !ok {
		b.boots = append(b.boots, boot)
	}
	b.values[boot] = append(b.values[boot], v)
}

func (b *byBoot) summarize() Summary {
	if len(b.boots) <= 1 {
		var all []float64
		for _, boot := range b.boots {
			all = b.values[boot]
		}
		return Summarize(all)
	}
	medians := make([]float64, len(b.boots))
	var all []float64
	for i, boot := range b.boots {
		medians[i] = Summarize(b.values[boot]).Median
		all = append(all, b.values[boot]...)
	}
	s, whole := Summarize(medians), Summarize(all)
	s.Min, s.Max = whole.Min, whole.Max
	return s
}
