package results

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	note string // how it is known, where that is not the usual way
}

// perOperation is the median of the CPU time of an operation of the phase. What sets a
// cell's lookups apart: see lookupClock.
func (c *watchedCell) perOperation(phase string) cost {
	scope, clock := c.watched[0].Profile.Scope, lookupClock(c.watched, phase)
	found := cost{note: clock.note}
	var s byBoot
	add := func(r *Run, ns float64, unit, why string) {
		if why != "" {
			found.why = why
			return
		}
		found.unit = unit
		s.add(r.Boot, ns)
	}
	if clock.bySamples && scope != scopeCPUs {
		for i := range c.watched {
			if ns, _ := c.watched[i].sampledGap(phase); ns > 0 {
				add(&c.watched[i], ns, "lookup", "")
			}
		}
	} else {
		for i := range c.bare {
			if r := &c.bare[i]; r.Sample() {
				ns, unit, why := r.cpuOf(phase, scope)
				add(r, ns, unit, cmp.Or(why, clock.why))
			}
		}
	}
	found.ns = s.summarize()
	switch {
	case found.ns.N > 0:
		found.why = ""
	case found.why == "":
		found.why = "no run without a profile has this phase"
	}
	return found
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
		return 0, "", "a run without a profile does not have this phase"
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

// A lookupTiming is how the time of a lookup is known.
type lookupTiming struct {
	bySamples bool
	note, why string
}

// leastOnCPU is the fraction of the time that a reader must have had its CPU for the gap
// from lookup to lookup to be its time on it.
const leastOnCPU = 0.9

// lookupClock decides how the CPU time of a lookup of the stretch is known. A reader
// that other work keeps from its CPU makes fewer lookups, which the gap between them
// cannot tell from slow ones; the samples can, for there are so many of a thread a
// second that it is on a CPU. Of a timer they are as many as were asked for, and tell the
// time themselves; of cycles the kernel only aims at that number.
func lookupClock(watched []Run, phase string) lookupTiming {
	var s byBoot
	event := ""
	for i := range watched {
		if ns, onCPU := watched[i].sampledGap(phase); ns > 0 {
			s.add(watched[i].Boot, onCPU)
			event = watched[i].Profile.Event
		}
	}
	had := s.summarize().Median
	if !(had < leastOnCPU) { // or there are no lookups
		return lookupTiming{}
	}
	text := fmt.Sprintf("the readers had their CPU for %.0f%s%% of the time", 100*had, nbsp)
	if event == "cpu-clock" {
		return lookupTiming{bySamples: true, note: text + ", so that the time on it is that of the samples in the profiled runs"}
	}
	return lookupTiming{why: text + " only"}
}

// sampledGap is the CPU time, in ns, of a lookup of the stretch by the number of samples of
// this profiled run, and the fraction that it is of the time; 0 where the run has no
// such lookups.
func (r *Run) sampledGap(phase string) (ns, onCPU float64) {
	found, p := r.lookupsIn(phase), r.profileOf(phase)
	if len(found) == 0 || p == nil || r.Profile.Hz == 0 || r.Profile.Scope == scopeCPUs {
		return 0, 0
	}
	gap, _, why := r.lookupGap(found)
	if why != "" || !(gap > 0) {
		return 0, 0
	}
	_, total := p.selfSamples()
	ns = float64(total) * 1e9 / float64(r.Profile.Hz) / float64(found[0].Count)
	return ns, ns / gap
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
