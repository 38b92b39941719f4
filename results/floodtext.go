package results

import (
	"encoding/json"
	"fmt"
)

// floodPhase is the phase of flood.
const floodPhase = "flood"

// cookieGap is the time from one cookie to the next, and cookieCPU the CPU time of
// one, ns.
func cookieGap(r *Run) (float64, bool) {
	if r.Flood == nil {
		return 0, false
	}
	return r.Flood.Gap()
}

func cookieCPU(r *Run) (float64, bool) {
	p := r.Phase(floodPhase)
	if r.Flood == nil || p == nil || p.CPUUnknown || tickedCPU(r) {
		return 0, false
	}
	return gap(p.User+p.System, r.Flood.Cookies)
}

func ofFlood(of func(*Flood) int64) packetFigure {
	return func(r *Run) (float64, bool) {
		if r.Flood == nil {
			return 0, false
		}
		return float64(of(r.Flood)), true
	}
}

// flood writes what became of the SYNs of flood.
func (p *page) flood(b block) {
	var rows []packetRow
	for _, c := range b.cells {
		if c.runs[0].Flood == nil {
			continue
		}
		rows = append(rows, packetRow{
			texts: []string{plain(c.name)},
			rate:  ofPackets(c.runs, perSecond(cookieGap)), gap: ofPackets(c.runs, cookieGap), cpu: ofPackets(c.runs, cookieCPU),
			in:   ofPackets(c.runs, ofFlood(func(f *Flood) int64 { return f.Injected })),
			out:  ofPackets(c.runs, ofFlood(func(f *Flood) int64 { return f.Cookies })),
			lost: ofPackets(c.runs, ofFlood(func(f *Flood) int64 { return dropped(f.Drops) })),
		})
	}
	p.grid(packetGrid(rows, []column{{title: "cell", left: true}}, "cookies"))
	for _, c := range b.cells {
		text := dropText(c.runs, func(r *Run) []Drop {
			if r.Flood == nil {
				return nil
			}
			return r.Flood.Drops
		})
		if text != "" {
			p.paragraph(plain(c.name)+": "+text, 2, none)
		}
	}
}

// A floodSpec is what the conclusion needs to know of a cell's spec.
type floodSpec struct {
	Families []int `json:"families"`
	Rules    int   `json:"rules"`
}

func floodSpecOf(c *cell) (s floodSpec, ok bool) {
	return s, len(c.runs) > 0 && json.Unmarshal(c.runs[0].Spec, &s) == nil && len(s.Families) == 1
}

// floodSentences say how many cookies each cell makes, and what rules cost against
// the fewest of the family.
func floodSentences(b block) []string {
	var out []string
	for i := range b.cells {
		c := &b.cells[i]
		s, ok := floodSpecOf(c)
		rate, each := ofPackets(c.runs, perSecond(cookieGap)), ofPackets(c.runs, cookieGap)
		if !ok || rate.N == 0 {
			continue
		}
		text := fmt.Sprintf("IPv%d, %s: %s SYN cookies a second on one CPU, one in %s%s.", s.Families[0], count(s.Rules, "rule", "rules"),
			millions(rate.Median), packetsText(each, c), cpuText(ofPackets(c.runs, cookieCPU), c))
		if base, rules := fewestRules(b, s); base != nil {
			if d := differencePackets(c.runs, base.runs, cookieGap); d.HasInterval() {
				text += fmt.Sprintf(" Against %s that is a difference of %s%s.", count(rules, "rule", "rules"), figure(d, "", ""),
					cpuText(differencePackets(c.runs, base.runs, cookieCPU), c))
			}
		}
		out = append(out, text)
	}
	return out
}

// fewestRules is the cell of the same family with the fewest rules, nil where that
// has as many.
func fewestRules(b block, of floodSpec) (fewest *cell, rules int) {
	rules = of.Rules
	for i := range b.cells {
		s, ok := floodSpecOf(&b.cells[i])
		if ok && s.Families[0] == of.Families[0] && s.Rules < rules {
			fewest, rules = &b.cells[i], s.Rules
		}
	}
	return fewest, rules
}
