// Package trend follows figures of runs over nights and finds where they changed.
package trend

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fibchurn/results"
)

// MinNights is how many nights make a trend. Below 8 no change can be shown
// (Changes): 4 are worth a look.
const MinNights = 4

// A Series is one figure, night after night.
type Series struct {
	Command, Cell string
	Spec          string // parameters of the last run, for people
	Side          string // label of the kernel, or its release where one night has several; "" where one series goes over all kernels
	Figure        string // "delete", or "netlink, during" for lookups
	Metric        string // "wall time", "p50", "p99"
	Points        []Point
	Changes       []Change // in order
}

// A Point is the runs of one night. Figures are ns.
type Point struct {
	Night   time.Time // noon UTC, at which the night begins
	Kernel  string
	Summary results.Summary // of the runs, or of their boots where there are several
}

// Medians are those of the points.
func (s *Series) Medians() []float64 {
	m := make([]float64, len(s.Points))
	for i, p := range s.Points {
		m[i] = p.Summary.Median
	}
	return m
}

// Night is the noon, in UTC, before a time: runs from one noon to the next are of one
// night, also where it goes past midnight.
func Night(t time.Time) time.Time {
	const half = 12 * time.Hour
	return t.UTC().Add(-half).Truncate(2 * half).Add(half)
}

// Of returns the series that have at least MinNights, in order of first appearance,
// with their changes (Mark). Only samples enter.
func Of(runs []results.Run) []Series {
	var all []Series
	for _, line := range lines(runs) {
		all = append(all, line.series()...)
	}
	Mark(all)
	return all
}

// Latest returns the runs without those of earlier nights, where a line of runs goes
// over at least MinNights. Reports whether any was left out.
func Latest(runs []results.Run) (kept []results.Run, cut bool) {
	keys := keyer{}
	last := map[key]time.Time{}
	nights := map[key]map[time.Time]bool{}
	for i := range runs {
		r := &runs[i]
		k, n := keys.of(r), Night(r.Time)
		if nights[k] == nil {
			nights[k] = map[time.Time]bool{}
		}
		if r.Sample() {
			nights[k][n] = true
		}
		if n.After(last[k]) {
			last[k] = n
		}
	}
	for i := range runs {
		k := keys.of(&runs[i])
		if len(nights[k]) >= MinNights && Night(runs[i].Time).Before(last[k]) {
			cut = true
			continue
		}
		kept = append(kept, runs[i])
	}
	return kept, cut
}

// A key is what runs of one line share.
type key struct {
	work, label, cpu, governor string
	cpus                       int
}

// A keyer makes keys. Runs of one work are many, and their specs the same text.
type keyer map[string]string

func (k keyer) of(r *results.Run) key {
	e := &r.Environment
	text := strings.Join([]string{r.Command, r.Cell, string(r.Spec), e.Virtualisation, e.LinkKind, e.Arch}, "\x00")
	work, ok := k[text]
	if !ok {
		work = r.WorkKey()
		k[text] = work
	}
	return key{work, e.Label, e.CPU, e.Governor, e.CPUs}
}

// A line is samples of one work on one machine, of one kernel or of those that
// followed one another, in the order of time.
type line struct {
	side string
	runs []results.Run
}

func lines(runs []results.Run) []line {
	var order []key
	byKey := map[key][]results.Run{}
	keys := keyer{}
	for i := range runs {
		if r := &runs[i]; r.Sample() {
			k := keys.of(r)
			if byKey[k] == nil {
				order = append(order, k)
			}
			byKey[k] = append(byKey[k], *r)
		}
	}
	var all []line
	for _, k := range order {
		of := byKey[k]
		slices.SortStableFunc(of, func(a, b results.Run) int { return a.Time.Compare(b.Time) })
		if k.label != "" || !kernelsMeet(of) {
			all = append(all, line{results.Plain(k.label), of})
			continue
		}
		for _, kernel := range kernels(of) {
			all = append(all, line{results.Plain(kernel), slices.DeleteFunc(slices.Clone(of), func(r results.Run) bool { return r.Environment.Kernel != kernel })})
		}
	}
	return all
}

// kernelsMeet reports whether one night has runs of several kernels, which then do not
// follow one another.
func kernelsMeet(runs []results.Run) bool {
	of := map[time.Time]string{}
	for i := range runs {
		night, kernel := Night(runs[i].Time), runs[i].Environment.Kernel
		if known, ok := of[night]; ok && known != kernel {
			return true
		}
		of[night] = kernel
	}
	return false
}

func kernels(runs []results.Run) []string {
	var names []string
	for i := range runs {
		if k := runs[i].Environment.Kernel; !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

// series are those of the line's phases and lookups.
func (l line) series() []Series {
	var nights [][]results.Run
	for i := range l.runs {
		if i == 0 || Night(l.runs[i].Time) != Night(l.runs[i-1].Time) {
			nights = append(nights, nil)
		}
		last := len(nights) - 1
		nights[last] = append(nights[last], l.runs[i])
	}
	if len(nights) < MinNights {
		return nil
	}
	newest := &l.runs[len(l.runs)-1]
	var all []Series
	add := func(figure, metric string, night []results.Run, s results.Summary) {
		if s.N == 0 || !(s.Median > 0) {
			return
		}
		i := slices.IndexFunc(all, func(x Series) bool { return x.Figure == figure && x.Metric == metric })
		if i < 0 {
			i = len(all)
			all = append(all, Series{Command: results.Plain(newest.Command), Cell: results.Plain(newest.Cell), Spec: newest.SpecText(),
				Side: l.side, Figure: figure, Metric: metric})
		}
		all[i].Points = append(all[i].Points, Point{Night(night[0].Time), results.Plain(night[0].Environment.Kernel), s})
	}
	for _, night := range nights {
		for _, phase := range results.PhaseNames(night) {
			add(results.Plain(phase), "wall time", night, results.Of(night, phase, results.WallTime))
		}
		for _, set := range results.Lookups(night) {
			figure := strings.Join([]string{set.Probe, set.Stretch}, ", ")
			add(figure, "p50", night, set.P50)
			add(figure, "p99", night, set.P99)
		}
	}
	all = slices.DeleteFunc(all, func(s Series) bool { return len(s.Points) < MinNights })
	slices.SortStableFunc(all, func(a, b Series) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// rank keeps a phase's series together whatever night had it first.
func (s *Series) rank() int {
	if s.Metric == "wall time" {
		return 0
	}
	return 1
}
