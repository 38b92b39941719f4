package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A gauge takes one figure of a run, in ns, or in % where the metric is a share; ok
// is false where the run has none.
type gauge struct {
	phase  string // as the row names it
	metric string // one of MetricNames
	value  func(*Run) (x float64, ok bool)
}

// The metrics of phases and of latencies.
const (
	metricWall    = "wall"
	metricCPU     = "cpu"
	metricBlocked = "blocked"
	metricPerOp   = "wall/op"
	metricP50     = "p50"
	metricP99     = "p99"
	metricNet     = "net-p50"
)

// MetricNames returns the names that CompareOptions.Metrics takes.
func MetricNames() []string {
	names := append([]string{metricWall, metricCPU, metricBlocked, metricPerOp}, latencyMetrics()...)
	return append(names, workMetrics()...)
}

func latencyMetrics() []string { return []string{metricP50, metricP99, metricNet} }

// metricTitle is a metric in words.
func metricTitle(metric string) string {
	switch metric {
	case metricWall:
		return "wall time"
	case metricCPU:
		return "CPU time"
	case metricBlocked:
		return "blocked time"
	case metricPerOp:
		return "wall time per op"
	case metricP50, metricP99:
		return "lookup latency " + metric
	case metricNet:
		return "lookup latency p50, net of calibration"
	case metricOpP50, metricOpP99:
		return "time of an operation, " + strings.TrimPrefix(metric, "op-")
	case metricRate:
		return "time from one operation to the next (1/rate)"
	case metricLate:
		return "share of late operations"
	case metricCrossing:
		return "operations that change tnodes, median"
	case metricCrossingNet:
		return "operations that change tnodes, median, net of the control"
	case metricPacket:
		return "time from one packet to the next"
	case metricPacketCPU:
		return "CPU time of a packet"
	}
	return metric
}

// gauges returns what can be measured on both sides of s, metric by metric.
func (s *strand) gauges(opts CompareOptions) []gauge {
	var all []gauge
	for _, metric := range MetricNames() {
		asked := slices.Contains(opts.Metrics, metric)
		if opts.Metrics != nil && !asked {
			continue
		}
		if slices.Contains(latencyMetrics(), metric) {
			if opts.Phases == nil {
				all = append(all, s.latencyGauges(metric)...)
			}
			continue
		}
		if slices.Contains(workMetrics(), metric) {
			all = append(all, s.workGauges(metric, asked, opts)...)
			continue
		}
		for _, phase := range s.phases(opts) {
			if asked || s.byDefault(metric, phase) {
				all = append(all, phaseGauge(phase, metric))
			}
		}
	}
	return all
}

// phases returns the phases that both sides have and that were asked for.
func (s *strand) phases(opts CompareOptions) []string {
	new := PhaseNames(s.new)
	return slices.DeleteFunc(PhaseNames(s.base), func(name string) bool {
		return !slices.Contains(new, name) || opts.Phases != nil && !slices.Contains(opts.Phases, name)
	})
}

// byDefault: CPU time that comes in ticks is mostly chance. Time per operation says
// more than wall time only where the operations differ; elsewhere it is the same
// comparison a second time, which the correction would have to pay for.
func (s *strand) byDefault(metric, phase string) bool {
	switch {
	case metric == metricBlocked, s.timed(phase):
		return false
	case metric == metricPerOp:
		return s.opsDiffer(phase)
	case metric == metricCPU:
		return !s.ticks()
	}
	return true
}

// ticks reports whether some run knows CPU times to a timer tick alone.
func (s *strand) ticks() bool {
	return slices.ContainsFunc(slices.Concat(s.base, s.new), func(r Run) bool { return tickedCPU(&r) })
}

func (s *strand) opsDiffer(phase string) bool {
	ops := int64(-1)
	for _, runs := range [][]Run{s.base, s.new} {
		for i := range runs {
			p := runs[i].Phase(phase)
			switch {
			case p == nil:
			case ops >= 0 && p.Ops != ops:
				return true
			default:
				ops = p.Ops
			}
		}
	}
	return false
}

func phaseGauge(phase, metric string) gauge {
	value := map[string]Metric{
		metricWall: WallTime, metricCPU: CPUTime, metricBlocked: BlockedTime,
		metricPerOp: func(p *Phase) float64 { return WallTime(p) / float64(p.Ops) },
	}[metric]
	return gauge{phase, metric, func(r *Run) (float64, bool) {
		p := r.Phase(phase)
		if p == nil || metric == metricPerOp && p.Ops == 0 {
			return 0, false
		}
		x := value(p)
		return x, !math.IsNaN(x)
	}}
}

// latencyGauges has one gauge for each probe, stretch and rate.
func (s *strand) latencyGauges(metric string) []gauge {
	type kind struct {
		probe, stretch string
		rate           int64
	}
	var kinds []kind
	for i := range s.base {
		for _, l := range s.base[i].Latency {
			if k := (kind{l.Probe, l.Stretch, l.Rate}); l.Count > 0 && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	var all []gauge
	for _, k := range kinds {
		name := k.probe + " " + k.stretch
		if k.rate > 0 {
			name += fmt.Sprintf(" at %d/s", k.rate)
		}
		all = append(all, gauge{name, metric, func(r *Run) (float64, bool) {
			for i := range r.Latency {
				if l := &r.Latency[i]; l.Count > 0 && k == (kind{l.Probe, l.Stretch, l.Rate}) {
					return latencyFigure(l, metric), true
				}
			}
			return 0, false
		}})
	}
	return all
}

func latencyFigure(l *Latency, metric string) float64 {
	switch metric {
	case metricP50:
		return float64(l.P50)
	case metricP99:
		return float64(l.P99)
	}
	return float64(l.NetP50)
}
