package results

import (
	"encoding/json"
	"math"
	"strings"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// A cost is the time that an operation of a phase takes on a CPU, by the runs that
// were not watched.
type cost struct {
	ns   Summary
	unit string // "route": what an operation is called
	why  string // why it is not known, "" where it is
}

// perOperation is the median of the CPU time, user and system, of an operation of the
// phase, over the samples among runs.
func perOperation(runs []Run, phase, scope string) cost {
	var c cost
	var s byBoot
	for i := range runs {
		r := &runs[i]
		if !r.Sample() {
			continue
		}
		ns, unit, why := r.cpuOf(phase, scope)
		if why != "" {
			c.why = why
			continue
		}
		c.unit = unit
		s.add(r.Boot, ns)
	}
	c.ns = s.summarize()
	switch {
	case c.ns.N > 0:
		c.why = ""
	case c.why == "":
		c.why = "no run without a profile has this phase"
	}
	return c
}

// scopeCPUs is the Scope of a profile of all CPUs.
const scopeCPUs = "cpus"

// cpuOf is the CPU time, in ns, that an operation of the phase took in this run, and
// what an operation is called; why says why that is not known.
func (r *Run) cpuOf(phase, scope string) (ns float64, unit, why string) {
	if scope == scopeCPUs {
		return 0, "", "the samples are of all CPUs, and no one knows how much time those spent on an operation"
	}
	if found := r.lookupsIn(phase); found != nil {
		return r.lookupGap(found)
	}
	p := r.Phase(phase)
	switch {
	case p == nil:
		return 0, "", ""
	case p.CPUUnknown:
		return 0, "", "the thread that was timed did nothing itself"
	case tickedCPU(r):
		return 0, "", "User-Mode Linux counts CPU time in ticks"
	}
	operations, unit := r.operationsOf(phase)
	if operations == 0 || p.User+p.System == 0 {
		return 0, "", "the phase has no operation, or no CPU time, of its own"
	}
	return float64(p.User+p.System) / float64(operations), unit, ""
}

// lookupGap is the time of a lookup that the samples of a stretch are of. In a closed
// loop the reader, pinned to its CPU, is on it all the time, as a core is that forwards
// packets as fast as it can. A lookup from user space is timed, and sampled, from
// asking to the answer: that is the mean of the times. Of lookups that the kernel makes
// many a call the calls are: there it is the gap from one lookup to the next.
func (r *Run) lookupGap(found []*Latency) (ns float64, unit, why string) {
	switch {
	case len(found) > 1:
		return 0, "", "the samples are of the turns of several probes: profile one (--probe netlink, or --probe bpf --kernel-batch 1)"
	case found[0].Rate > 0:
		return 0, "", "with a rate the readers also wait for lookups to be due: profile with --rate max"
	}
	var p lookupParameters
	if json.Unmarshal(r.Spec, &p) != nil {
		return 0, "", "the record does not say how many readers there were"
	}
	if !strings.HasPrefix(found[0].Probe, "bpf") {
		h, err := hdrhistogram.Decode([]byte(found[0].HDR))
		if err != nil {
			return 0, "", "the histogram of the lookups cannot be read"
		}
		return h.Mean(), "lookup", ""
	}
	return float64(max(1, p.Lookup.Readers)) * 1e9 / found[0].Reached, "lookup", ""
}

// timesShare is a function's time of an operation: its share times the whole. The
// bounds are those of a product of two independent estimates, recovered from the
// bounds of each on the logarithmic scale (G. Y. Zou, A. Donner, Construction of
// Confidence Limits About Effect Measures, Statistics in Medicine 27 (2008),
// 1693-1702); -Inf and +Inf where the whole has none.
func timesShare(s portion, whole Summary) (ns, lo, hi float64) {
	ns = s.of * whole.Median
	if !whole.HasInterval() || !(whole.Lo > 0) || !(s.of > 0) {
		return ns, math.Inf(-1), math.Inf(1)
	}
	down := math.Hypot(math.Log(s.of/s.lo), math.Log(whole.Median/whole.Lo))
	up := math.Hypot(math.Log(s.hi/s.of), math.Log(whole.Hi/whole.Median))
	return ns, ns * math.Exp(-down), ns * math.Exp(up)
}
