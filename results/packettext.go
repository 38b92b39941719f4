package results

import (
	"fmt"
	"slices"
	"strings"
)

// A packetFigure takes one figure of a run; ok is false where it has none.
type packetFigure func(*Run) (x float64, ok bool)

// perSecond makes packets a second of a time from one to the next.
func perSecond(f packetFigure) packetFigure {
	return func(r *Run) (float64, bool) {
		ns, ok := f(r)
		return 1e9 / ns, ok && ns > 0
	}
}

// ofPackets summarises a figure over the samples, boots as in Of.
func ofPackets(runs []Run, of packetFigure) Summary {
	var s byBoot
	for i := range runs {
		if x, ok := of(&runs[i]); ok && runs[i].Sample() {
			s.add(runs[i].Boot, x)
		}
	}
	return s.summarize()
}

// differencePackets summarises, run by run, how much more a figure is in some runs
// than in the runs of another cell that have their boot and number.
func differencePackets(runs, base []Run, of packetFigure) Summary {
	var s byBoot
	has := func(r *Run) bool { _, ok := of(r); return ok }
	for _, p := range pairsWith(runs, base, has) {
		x, _ := of(p.loaded)
		y, _ := of(p.empty)
		s.add(p.loaded.Boot, x-y)
	}
	return s.summarize()
}

// A packetRow is a row of a table of packets.
type packetRow struct {
	texts         []string // before the figures
	rate          Summary  // a second
	gap, cpu      Summary  // ns
	in, out, lost Summary  // packets of a run
}

// packetGrid has a row for each cell and stretch.
func packetGrid(rows []packetRow, columns []column, thing string) grid {
	g := grid{columns: append(columns,
		column{title: thing + "\n/s"},
		column{title: "95 % interval\n/s", drop: 3},
		column{title: "ns a\npacket"},
		column{title: "95 % interval\nns", drop: 4},
		column{title: "CPU ns\na packet", drop: 2},
		column{title: "injected\na run", drop: 6},
		column{title: thing + "\na run", drop: 5},
		column{title: "dropped\na run", drop: 1},
	)}
	var rates, gaps [2][]string
	for _, r := range rows {
		for i, bound := range []func(Summary) float64{func(s Summary) float64 { return s.Lo }, func(s Summary) float64 { return s.Hi }} {
			rate, ns := "", ""
			if r.rate.HasInterval() {
				rate, ns = fixed(bound(r.rate), 0), fixed(bound(r.gap), 1)
			}
			rates[i], gaps[i] = append(rates[i], rate), append(gaps[i], ns)
		}
	}
	rateTexts, gapTexts := alignPairs(rates[0], rates[1]), alignPairs(gaps[0], gaps[1])
	for i, r := range rows {
		g.rows = append(g.rows, append(slices.Clone(r.texts),
			orBlank(r.rate.Median, 0), rateTexts[i], orBlank(r.gap.Median, 1), gapTexts[i], orBlank(r.cpu.Median, 1),
			orBlank(r.in.Median, 0), orBlank(r.out.Median, 0), orBlank(r.lost.Median, 0)))
	}
	return g
}

// dropText says why packets of all runs together were dropped, "" where none was.
func dropText(runs []Run, of func(*Run) []Drop) string {
	var all []Drop
	for i := range runs {
		for _, d := range of(&runs[i]) {
			at := slices.IndexFunc(all, func(o Drop) bool { return o.Reason == d.Reason })
			if at < 0 {
				at = len(all)
				all = append(all, Drop{Reason: d.Reason})
			}
			all[at].Packets = plus(all[at].Packets, d.Packets)
		}
	}
	if all == nil {
		return ""
	}
	slices.SortStableFunc(all, func(x, y Drop) int { return int(y.Packets - x.Packets) })
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%s %d", plain(d.Reason), d.Packets))
	}
	return fmt.Sprintf("dropped in all runs together: %s", strings.Join(texts, ", "))
}

// millions renders packets a second.
func millions(x float64) string {
	if x < 1e6 {
		return fixed(x, 0)
	}
	return fixed(x/1e6, 2) + nbsp + "million"
}
