package chart

import (
	"fmt"
	"math"
	"slices"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"fibchurn/results"
)

// A LatencyCurve is the lookups of one series.
type LatencyCurve struct {
	Key    Key
	Counts *Counts
}

// Counts are the lookups of several runs by the time they took.
type Counts struct {
	bins  []hdrhistogram.Bar // with lookups, in order
	total int64
	Runs  int // whose histograms are in it
	Of    int // runs that there are
}

// mergedRuns is how many runs' histograms are read.
const mergedRuns = 100

// Merge adds the histograms of the runs, or of mergedRuns evenly chosen ones, together.
// The error is of a histogram that cannot be read.
func Merge(set results.LookupSet) (*Counts, error) {
	n := min(len(set.Latencies), mergedRuns)
	all := map[int64]hdrhistogram.Bar{}
	c := &Counts{Runs: n, Of: len(set.Latencies)}
	for i := range n {
		l := set.Latencies[i*len(set.Latencies)/n]
		h, err := hdrhistogram.Decode([]byte(l.HDR))
		if err != nil {
			return nil, fmt.Errorf("histogram of %s, %s: %w", set.Probe, set.Stretch, err)
		}
		for _, bar := range h.Distribution() {
			if bar.Count > 0 {
				bar.Count += all[bar.From].Count
				all[bar.From] = bar
			}
		}
	}
	for _, bar := range all {
		c.bins = append(c.bins, bar)
		c.total += bar.Count
	}
	slices.SortFunc(c.bins, func(a, b hdrhistogram.Bar) int { return int(min(1, max(-1, a.From-b.From))) })
	if c.total == 0 {
		return nil, fmt.Errorf("histogram of %s, %s: it is empty", set.Probe, set.Stretch)
	}
	return c, nil
}

// at is the time that a share of the lookups did not exceed.
func (c *Counts) at(share float64) float64 {
	rank, sum := int64(math.Ceil(share*float64(c.total)-1e-6)), int64(0)
	for _, b := range c.bins {
		if sum += b.Count; sum >= rank {
			return math.Max(1, float64(b.To))
		}
	}
	return math.Max(1, float64(c.bins[len(c.bins)-1].To))
}

// Percentiles draws time against percentile as HdrHistogram does: the axis stretches
// towards 100 %, every nine as wide as the one before. A curve ends where one lookup
// is left.
func Percentiles(title string, curves []LatencyCurve) *Chart {
	lo, hi, widest := math.Inf(1), 0.0, 1.0
	for _, c := range curves {
		lo, hi = min(lo, c.Counts.at(0)), max(hi, c.Counts.at(1))
		widest = max(widest, math.Log10(float64(c.Counts.total)))
	}
	c := &Chart{Title: title, height: usual, Explain: "Time that a share of the lookups did not exceed; both axes are logarithmic, every further nine is as wide as the one before." + merged(curves)}
	for _, curve := range curves {
		c.Keys = append(c.Keys, curve.Key)
	}
	c.add = func(p *plot.Plot) {
		lo, hi := spread(lo, hi, true)
		timeAxis(&p.Y, lo, hi, true, "")
		p.X.Min, p.X.Max = 0, widest
		p.X.Tick.Marker = plot.TickerFunc(func(_, hi float64) []plot.Tick { return nines(hi) })
		p.Add(rules{true, true})
		for _, curve := range curves {
			p.Add(line(curve.Counts.curve(), curve.Key))
		}
	}
	return c
}

func merged(curves []LatencyCurve) string {
	for _, c := range curves {
		if c.Counts.Runs < c.Counts.Of {
			return fmt.Sprintf(" Of more than %d runs that many, evenly chosen, are in a curve.", mergedRuns)
		}
	}
	return ""
}

func nines(hi float64) []plot.Tick {
	ticks := []plot.Tick{{Value: math.Log10(2), Label: "50 %"}}
	label := "9"
	for n := 1.0; n <= hi; n++ {
		switch n {
		case 1:
			label = "90"
		case 2:
			label = "99"
		case 3:
			label = "99.9"
		default:
			label += "9"
		}
		t := plot.Tick{Value: n, Label: label}
		if n > 5 {
			t.Label = ""
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// curve has points enough for its steps to be seen.
func (c *Counts) curve() plotter.XYs {
	const steps = 140
	widest := math.Log10(float64(c.total))
	var xys plotter.XYs
	sum, k := int64(0), 0
	for _, b := range c.bins {
		sum += b.Count
		for ; k <= steps; k++ {
			x := widest * float64(k) / steps
			if share := 1 - math.Pow(10, -x); math.Ceil(share*float64(c.total)-1e-6) > float64(sum) && k < steps {
				break
			} else if k == steps && sum < c.total {
				break
			}
			xys = append(xys, plotter.XY{X: x, Y: math.Max(1, float64(b.To))})
		}
	}
	return xys
}

func line(xys plotter.XYs, key Key) plot.Plotter {
	l := &plotter.Line{XYs: xys}
	l.LineStyle.Color, l.LineStyle.Width, l.LineStyle.Dashes = seriesInk(key.Ink), 1.6, dashes(key.Dashed)
	return l
}

// Histogram draws which share of the lookups took how long, on a logarithmic axis as
// far as the slowest of a thousand.
func Histogram(title string, curves []LatencyCurve) *Chart {
	lo, hi := math.Inf(1), 0.0
	for _, c := range curves {
		lo, hi = min(lo, c.Counts.at(0)), max(hi, c.Counts.at(0.999))
	}
	if hi < 2*lo {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/math.Sqrt2, middle*math.Sqrt2
	}
	const bins = 48
	highest := 0.0
	shares := make([]plotter.XYs, len(curves))
	for i, c := range curves {
		shares[i] = c.Counts.shares(lo, hi, bins)
		for _, xy := range shares[i] {
			highest = max(highest, xy.Y)
		}
	}
	c := &Chart{Title: title, height: usual, Explain: "Share of the lookups that took so long; the slowest of a thousand are beyond the axis, which is logarithmic." + merged(curves)}
	for _, curve := range curves {
		c.Keys = append(c.Keys, curve.Key)
	}
	c.add = func(p *plot.Plot) {
		timeAxis(&p.X, lo, hi, true, "")
		p.Y.Min, p.Y.Max = 0, highest*1.05
		p.Y.Tick.Marker = linear(4, func(x float64) string { return figure(x) + " %" })
		p.Add(rules{horizontal: true})
		for i, curve := range curves {
			if area, err := plotter.NewPolygon(shares[i]); err == nil && i == 0 {
				area.Color, area.LineStyle.Width = seriesInk(curve.Key.Ink).faded(0.16), 0
				p.Add(area)
			}
			p.Add(line(shares[i], curve.Key))
		}
	}
	return c
}

// shares is an outline of bins of equal factors from lo to hi, in %.
func (c *Counts) shares(lo, hi float64, bins int) plotter.XYs {
	counts := make([]int64, bins)
	for _, b := range c.bins {
		// A bar of the record's histogram is narrower than a bin, or 1 ns.
		if i := int(math.Log(math.Max(1, float64(b.To))/lo) / math.Log(hi/lo) * float64(bins)); i >= 0 && i < bins {
			counts[i] += b.Count
		} else if i == bins && float64(b.To) <= hi*(1+1e-9) {
			counts[bins-1] += b.Count
		}
	}
	edge := func(i int) float64 { return lo * math.Pow(hi/lo, float64(i)/float64(bins)) }
	xys := plotter.XYs{{X: lo}}
	for i, n := range counts {
		y := 100 * float64(n) / float64(c.total)
		xys = append(xys, plotter.XY{X: edge(i), Y: y}, plotter.XY{X: edge(i + 1), Y: y})
	}
	return append(xys, plotter.XY{X: hi})
}
