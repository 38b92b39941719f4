package results

import (
	"encoding/json"
	"fmt"
	"strings"
)

// lookupSentences say how much worse lookups are during the churn than before it,
// what the parameters that differ between cells cost, and how readers scale.
func lookupSentences(b block) []string {
	out := stoppedSentences(b)
	for i := range b.cells {
		out = append(out, churnSentences(&b, &b.cells[i])...)
	}
	for _, axis := range lookupAxes() {
		for i := range b.cells {
			out = append(out, axis.sentence(&b, &b.cells[i])...)
		}
	}
	return out
}

// stoppedSentences tell of runs that were ended early and are no samples.
func stoppedSentences(b block) []string {
	var out []string
	for i := range b.runs {
		r := &b.runs[i]
		if !r.Partial || !r.Held() || r.Instrumented() {
			continue
		}
		var parts []string
		for _, l := range r.Latency {
			parts = append(parts, fmt.Sprintf("%s, %s: %s, %s in the median, %s at the 99th percentile", plain(l.Probe), plain(l.Stretch),
				count(l.Count, "lookup", "lookups"), duration(float64(l.P50)), duration(float64(l.P99))))
		}
		if parts != nil {
			out = append(out, fmt.Sprintf("Run %d of cell %s was stopped; its answers were right. Until then %s.", r.Run, plain(r.Cell), strings.Join(parts, "; ")))
		}
	}
	return out
}

// churnSentences compares the stretches of one cell, probe by probe.
func churnSentences(b *block, c *cell) []string {
	p, ok := lookupParametersOf(c)
	if !ok {
		return nil
	}
	var worse, left []string
	runs := 0
	for _, during := range lookupKinds(c.runs) {
		before, after := during, during
		before.stretch, after.stretch = "before", "after"
		median := ratioOf(c.runs, before, during, latencyP50)
		if during.stretch != "during" || median.N == 0 {
			continue
		}
		runs = median.N
		if !median.HasInterval() {
			continue
		}
		worse = append(worse, fmt.Sprintf("%s %s and %s", plain(during.probe), timesWithin(median), timesWithin(ratioOf(c.runs, before, during, latencyP99))))
		if s := ratioOf(c.runs, before, after, latencyP50); s.HasInterval() {
			left = append(left, plain(during.probe)+" "+timesWithin(s))
		}
	}
	switch {
	case worse == nil && runs == 0:
		return nil
	case worse == nil:
		return []string{tooFewRatios(c, runs)}
	}
	text := fmt.Sprintf("Under %s a lookup takes, in the median and at the 99th percentile, so many times what it takes before (%s): %s.",
		plain(p.Under), ratioNote(runs, boots(c.runs)), strings.Join(worse, "; "))
	if left != nil {
		text += fmt.Sprintf(" Afterwards, in the median: %s.", strings.Join(left, "; "))
	}
	if len(b.cells) > 1 {
		text = plain(c.name) + ": " + text
	}
	return []string{text}
}

// tooFewRatios says why a cell has no ratios.
func tooFewRatios(c *cell, runs int) string {
	return fmt.Sprintf("%s: %s are too few for ratios of the stretches, which take %d.", plain(c.name), sampleSize(runs, boots(c.runs)), MinRuns)
}

// ratioOf summarises, run by run, what a figure of one kind of lookups is to that of
// another.
func ratioOf(runs []Run, base, new lookupKind, m latencyMetric) Summary {
	var s byBoot
	for i := range runs {
		x, y := runs[i].latency(base), runs[i].latency(new)
		if x != nil && y != nil && m(x) > 0 && runs[i].Sample() {
			s.add(runs[i].Boot, m(y)/m(x))
		}
	}
	return s.summarize()
}

// timesWithin renders a ratio and its interval, where there is one, e.g. "1.08 times
// (1.05 to 1.11)".
func timesWithin(s Summary) string {
	text := fixed(s.Median, 2) + nbsp + "times"
	if !s.HasInterval() {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, fixed(s.Lo, 2), fixed(s.Hi, 2))
}

// ratioNote says what the intervals of ratios over n runs or boots are.
func ratioNote(n, boots int) string {
	if n < MinRuns {
		return sampleSize(n, boots) + ", too few for intervals"
	}
	return "with 95" + nbsp + "% intervals"
}

// A lookupAxis is a parameter that cells of one command may differ in.
type lookupAxis struct {
	of      func(*lookupPoint) *int
	scaling bool // what counts is how many lookups are made, not how long one takes
}

func lookupAxes() []lookupAxis {
	return []lookupAxis{
		{of: func(p *lookupPoint) *int { return &p.rules }},
		{of: func(p *lookupPoint) *int { return &p.unmerge }},
		{of: func(p *lookupPoint) *int { return &p.direct }},
		{of: func(p *lookupPoint) *int { return &p.readers }, scaling: true},
	}
}

// base is the cell with the least value of the parameter that differs from c in
// nothing else, nil where that is c itself.
func (a lookupAxis) base(b *block, c *cell) *cell {
	p, ok := lookupPointOf(c)
	least := *a.of(&p)
	var base *cell
	for i := range b.cells {
		other, known := lookupPointOf(&b.cells[i])
		value := *a.of(&other)
		*a.of(&other) = *a.of(&p)
		if ok && known && other == p && value < least {
			least, base = value, &b.cells[i]
		}
	}
	return base
}

// sentence compares a cell with its base, e.g. "1000 (1 rule) against 1000 (0
// rules), a lookup in the median: bpf 31 ns more (95 % interval 29 to 33 ns).".
func (a lookupAxis) sentence(b *block, c *cell) []string {
	base := a.base(b, c)
	if base == nil {
		return nil
	}
	var parts []string
	for _, k := range lookupKinds(c.runs) {
		if k.stretch != "rest" && k.stretch != "before" {
			continue
		}
		compare := a.difference
		if a.scaling {
			compare = a.ratio
		}
		if text := compare(base, c, k); text != "" {
			parts = append(parts, plain(k.probe)+" "+text)
		}
	}
	if parts == nil {
		return nil
	}
	what := "a lookup in the median"
	if a.scaling {
		what = fmt.Sprintf("lookups a second (%s)", ratioNote(len(c.runs), boots(c.runs)))
	}
	return []string{fmt.Sprintf("%s against %s, %s: %s.", plain(c.name), plain(base.name), what, strings.Join(parts, "; "))}
}

// difference of the medians, run by run.
func (a lookupAxis) difference(base, c *cell, k lookupKind) string {
	var s byBoot
	for _, p := range lookupPairs(base, c, k) {
		s.add(p.loaded.Boot, latencyP50(p.loaded.latency(k))-latencyP50(p.empty.latency(k)))
	}
	d := s.summarize()
	switch {
	case d.N == 0:
		return ""
	case !d.HasInterval():
		return signed(d, sampleSize(d.N, boots(c.runs)))
	case d.Lo <= 0 && d.Hi >= 0:
		return "no measurable difference, " + signed(d, "")
	}
	return signed(d, "")
}

// signed renders a difference, e.g. "31 ns more (95 % interval 29 to 33 ns)"; the
// interval of what is less is one of how much less.
func signed(d Summary, note string) string {
	if d.Median >= 0 {
		return figure(d, " more", note)
	}
	d.Median, d.Lo, d.Hi = -d.Median, -d.Hi, -d.Lo
	return figure(d, " less", note)
}

// ratio of the lookups a second, run by run; the two themselves where the runs are
// too few.
func (a lookupAxis) ratio(base, c *cell, k lookupKind) string {
	var s, one, many byBoot
	for _, p := range lookupPairs(base, c, k) {
		if alone := p.empty.latency(k).Reached; alone > 0 {
			s.add(p.loaded.Boot, p.loaded.latency(k).Reached/alone)
			one.add(p.loaded.Boot, alone)
			many.add(p.loaded.Boot, p.loaded.latency(k).Reached)
		}
	}
	switch r := s.summarize(); {
	case r.N == 0:
		return ""
	case !r.HasInterval(): // too few for a ratio
		return fmt.Sprintf("%s against %s", fixed(many.summarize().Median, 0), fixed(one.summarize().Median, 0))
	default:
		return timesWithin(r)
	}
}

func lookupPairs(base, c *cell, k lookupKind) []pair {
	return pairsWith(c.runs, base.runs, func(r *Run) bool { return r.latency(k) != nil })
}

// A lookupPoint is where a cell stands.
type lookupPoint struct {
	count, family, rules, unmerge, direct, readers int // switches are 0 or 1
}

// lookupPointOf reads it from the spec; false where there is none.
func lookupPointOf(c *cell) (p lookupPoint, ok bool) {
	s, ok := lookupParametersOf(c)
	one := map[bool]int{true: 1}
	p = lookupPoint{s.Count, 0, s.Rules, one[s.Unmerge], one[s.Lookup.Direct], s.Lookup.Readers}
	for _, family := range s.Families {
		p.family = 10*p.family + family
	}
	return p, ok
}

// A lookupParameters is what of a spec the conclusion speaks about.
type lookupParameters struct {
	Count    int    `json:"count"`
	Families []int  `json:"families"`
	Rules    int    `json:"rules"`
	Unmerge  bool   `json:"unmerge"`
	Under    string `json:"under"`
	Lookup   struct {
		Readers int  `json:"readers"`
		Direct  bool `json:"direct"`
	} `json:"lookup"`
}

func lookupParametersOf(c *cell) (p lookupParameters, ok bool) {
	return p, len(c.runs) > 0 && json.Unmarshal(c.runs[0].Spec, &p) == nil
}
