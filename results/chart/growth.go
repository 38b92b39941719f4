package chart

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fibchurn/results"
)

// A GrowthSeries is times of tables of several sizes.
type GrowthSeries struct {
	Key          Key
	Sizes, Times []float64 // of each run; ns
	Fit          *results.Growth
}

// Growth draws time against the size of the table, both logarithmic. A fitted line is
// drawn where there is a fit, else one through the medians.
func Growth(title, caption, what string, series []GrowthSeries) *Chart {
	var sizes, times []float64
	c := &Chart{Title: title, Caption: caption, height: usual}
	for _, s := range series {
		sizes, times = append(sizes, s.Sizes...), append(times, s.Times...)
		if len(series) > 1 {
			c.Keys = append(c.Keys, s.Key)
		}
	}
	c.add = func(p *plot.Plot) {
		lo, hi := spread(slices.Min(sizes), slices.Max(sizes), true)
		logAxis(&p.X, lo, hi, what, countLabel)
		lo, hi = spread(slices.Min(times), slices.Max(times), true)
		timeAxis(&p.Y, lo, hi, true, "")
		p.Add(rules{true, true})
		for _, s := range series {
			p.Add(cloud(s), line(s.line(), s.Key))
		}
	}
	return c
}

func (s GrowthSeries) line() plotter.XYs {
	first, last := slices.Min(s.Sizes), slices.Max(s.Sizes)
	if s.Fit != nil {
		at := func(n float64) plotter.XY { return plotter.XY{X: n, Y: s.Fit.Factor * math.Pow(n, s.Fit.Exponent)} }
		return plotter.XYs{at(first), at(last)}
	}
	var xys plotter.XYs
	distinct := slices.Compact(slices.Sorted(slices.Values(s.Sizes)))
	for _, n := range distinct {
		xys = append(xys, plotter.XY{X: n, Y: results.Summarize(s.timesOf(n)).Median})
	}
	return xys
}

func (s GrowthSeries) timesOf(size float64) []float64 {
	var times []float64
	for i, n := range s.Sizes {
		if n == size {
			times = append(times, s.Times[i])
		}
	}
	return times
}

// A cloud is the runs behind a line, thinned out size by size.
type cloud GrowthSeries

func (s cloud) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var at []vg.Point
	for _, n := range slices.Compact(slices.Sorted(slices.Values(s.Sizes))) {
		for _, t := range shown(slices.Sorted(slices.Values(GrowthSeries(s).timesOf(n)))) {
			at = append(at, vg.Point{X: x(n), Y: y(t)})
		}
	}
	c.SetColor(seriesInk(s.Key.Ink).faded(0.5))
	c.Fill(dots(at, 2))
}
