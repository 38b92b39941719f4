package results

import (
	"cmp"
	"fmt"
	"slices"
)

// The metrics of what single commands exist to measure.
const (
	metricOpP50       = "op-p50"
	metricOpP99       = "op-p99"
	metricRate        = "rate"
	metricLate        = "late"
	metricCrossing    = "crossing"
	metricCrossingNet = "crossing-net"
	metricPacket      = "packet"
	metricPacketCPU   = "packet-cpu"
)

// flapPhase is the phase by which a row names the whole of a run's flapping.
const flapPhase = "flap"

// maxTransitions is how many sorts of transitions are compared, those of most work.
const maxTransitions = 6

// workMetrics are those of single operations, of flapping and of rebalancing.
func workMetrics() []string {
	return []string{metricOpP50, metricOpP99, metricRate, metricLate, metricCrossing, metricCrossingNet, metricPacket, metricPacketCPU}
}

// workGauges returns the gauges of one of workMetrics.
func (s *strand) workGauges(metric string, asked bool, opts CompareOptions) []gauge {
	wanted := func(phase string) bool { return opts.Phases == nil || slices.Contains(opts.Phases, phase) }
	switch metric {
	case metricOpP50, metricOpP99:
		return s.eachGauges(metric, asked, opts)
	case metricRate, metricLate:
		if wanted(flapPhase) {
			return s.flapGauges(metric, asked)
		}
	case metricCrossing, metricCrossingNet:
		if len(s.base) > 0 && s.base[0].Resize != nil && wanted(s.base[0].Resize.Pattern) {
			return s.crossingGauges(metric, asked)
		}
	case metricPacket, metricPacketCPU:
		return s.packetGauges(metric, wanted)
	}
	return nil
}

// eachGauges are of the times of single operations, phase by phase. By default
// they are compared where a command is about them; elsewhere the phase's wall time
// is their sum.
func (s *strand) eachGauges(metric string, asked bool, opts CompareOptions) []gauge {
	if !asked && s.command != "flap" && s.command != "addrs" {
		return nil
	}
	var all []gauge
	for _, phase := range s.phases(opts) {
		all = append(all, gauge{phase, metric, func(r *Run) (float64, bool) {
			p := r.Phase(phase)
			switch {
			case p == nil || p.Each == nil || p.Each.Count == 0:
				return 0, false
			case metric == metricOpP99:
				return float64(p.Each.P99), true
			}
			return float64(p.Each.P50), true
		}})
	}
	return all
}

// timed reports whether a phase goes on for a given time: its wall and CPU times
// are then of as many operations as there was time for, and grow where the kernel
// is faster. The quiet stretches of lookup have none at all.
func (s *strand) timed(phase string) bool { return timedPhase(s.command, phase) }

func timedPhase(command, phase string) bool {
	switch command {
	case "flap":
		return phase == "withdraw" || phase == "announce"
	case "lookup":
		return phase != "add"
	case "forward", "flood":
		return true
	}
	return false
}

// flapGauges are of the flapping as a whole: the time from one operation to the
// next, which grows where the rate falls, and the share of operations that were
// late. By default they are compared where the command is about them, and the share
// where anything was late on any side.
func (s *strand) flapGauges(metric string, asked bool) []gauge {
	late := slices.ContainsFunc(slices.Concat(s.base, s.new), func(r Run) bool {
		f := r.flapping()
		return f != nil && f.Late > 0
	})
	if !asked && (s.command != "flap" || metric == metricLate && !late) {
		return nil
	}
	return []gauge{{flapPhase, metric, func(r *Run) (float64, bool) {
		f := r.flapping()
		switch {
		case f == nil || f.Operations == 0 || !(f.Reached > 0):
			return 0, false
		case metric == metricLate:
			return 100 * float64(f.Late) / float64(f.Operations), true
		}
		return 1e9 / f.Reached, true
	}}}
}

// crossingGauges are of the operations that change tnodes, by what they do to which
// sizes. By default that is net of the control, where there is one, and of the cell
// that crosses.
func (s *strand) crossingGauges(metric string, asked bool) []gauge {
	hasControl := len(s.controls[0]) > 0 && len(s.controls[1]) > 0
	net := metric == metricCrossingNet
	if net && !hasControl || !asked && (s.cell == cellControl || !net && hasControl) {
		return nil
	}
	partner := map[*Run]*Run{}
	for i, runs := range [][]Run{s.base, s.new} {
		for _, p := range pairsWith(runs, s.controls[i], func(r *Run) bool { return r.Resize != nil }) {
			partner[p.loaded] = p.empty
		}
	}
	var all []gauge
	for _, what := range s.transitions() {
		all = append(all, gauge{what, metric, func(r *Run) (float64, bool) {
			if !net {
				return r.Resize.typical(what, nil)
			}
			control := partner[r]
			if control == nil || control.Resize == nil {
				return 0, false
			}
			return r.Resize.typical(what, control.Resize)
		}})
	}
	return all
}

// transitions names the sorts of transitions of base's first run, those of most
// work alone.
func (s *strand) transitions() []string { return transitionSorts(s.base[0].Resize) }

func transitionSorts(r *Resize) []string {
	work := map[string]int64{}
	var names []string
	for i := range r.Transitions {
		t := &r.Transitions[i]
		name := t.sort()
		if _, known := work[name]; !known {
			names = append(names, name)
		}
		work[name] = max(work[name], t.Work())
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(work[b], work[a]) })
	return names[:min(len(names), maxTransitions)]
}

// sort names what a transition does, and the sizes of the largest tnode that it
// changes, whatever the size of the table: "add: inflate, 12 to 13 bits".
func (t *ResizeTransition) sort() string {
	name := t.Op + ": "
	for i, kind := range slices.DeleteFunc(kindOrder(), func(k string) bool { return t.Kinds[k] == 0 }) {
		if i > 0 {
			name += "+"
		}
		name += kind
	}
	if before, after := largest(t.Before), largest(t.After); before > 0 && after > 0 && before != after {
		name += fmt.Sprintf(", %d to %d bits", before, after)
	}
	return name
}

// typical is the median over a run's transitions of one sort of the median times
// of their operations, less those of the control where one is given. r may be nil.
func (r *Resize) typical(sort string, control *Resize) (ns float64, ok bool) {
	if r == nil {
		return 0, false
	}
	var times []float64
	for i := range r.Transitions {
		t := &r.Transitions[i]
		if t.sort() != sort {
			continue
		}
		cost := float64(t.P50)
		if control != nil {
			without := control.transition(t.key())
			if without == nil {
				continue
			}
			cost -= float64(without.P50)
		}
		times = append(times, cost)
	}
	return Summarize(times).Median, len(times) > 0
}
