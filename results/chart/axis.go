package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// timeAxis makes an axis of times in ns from lo to hi, logarithmic where log is set.
func timeAxis(axis *plot.Axis, lo, hi float64, log bool, label string) {
	if log {
		logAxis(axis, lo, hi, label, timeLabel)
		return
	}
	unit, ns := unitOf(math.Max(math.Abs(lo), math.Abs(hi)))
	axis.Min, axis.Max = lo, hi
	axis.Label.Text = label + ", " + unit
	axis.Tick.Marker = linear(4, func(x float64) string { return figure(x / ns) })
}

// logAxis goes from lo to hi, both above zero, and never over less than a factor of 2.
func logAxis(axis *plot.Axis, lo, hi float64, label string, text func(float64) string) {
	if hi < 2*lo {
		middle := math.Sqrt(lo * hi)
		lo, hi = middle/math.Sqrt2, middle*math.Sqrt2
	}
	axis.Min, axis.Max = lo, hi
	axis.Scale = plot.LogScale{}
	axis.Label.Text = label
	axis.Tick.Marker = logarithmic(text)
}

// unitOf is that of the tables.
func unitOf(ns float64) (name string, of float64) {
	switch {
	case ns < 1e3:
		return "ns", 1
	case ns < 1e6:
		return "us", 1e3
	case ns < 1e9:
		return "ms", 1e6
	}
	return "s", 1e9
}

// timeLabel is a round time with its unit, e.g. "50 us".
func timeLabel(ns float64) string {
	unit, of := unitOf(ns * (1 + 1e-9))
	return figure(ns/of) + " " + unit
}

// countLabel is a round number, e.g. "50k".
func countLabel(n float64) string {
	switch {
	case n >= 1e6:
		return figure(n/1e6) + "M"
	case n >= 1e3:
		return figure(n/1e3) + "k"
	}
	return figure(n)
}

// figure has no more digits than it needs.
func figure(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// linear marks about n round values, two at least.
func linear(n int, text func(float64) string) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		var ticks []plot.Tick
		for n := n; len(ticks) < 2; n++ {
			ticks = ticks[:0]
			step := roundStep((hi - lo) / float64(n))
			for i := int(math.Ceil(lo/step - 1e-9)); float64(i)*step <= hi+1e-9*step; i++ {
				value := float64(i) * step
				ticks = append(ticks, plot.Tick{Value: value, Label: text(value)})
			}
		}
		return ticks
	})
}

// roundStep is the 1, 2 or 5 times a power of ten from x on.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= x*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// logarithmic marks powers of ten, and 5 or 2 and 5 times those where three of them
// would not be seen; values of equal distance on an axis too short for that.
func logarithmic(text func(float64) string) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		if hi < 6*lo {
			return linear(4, text).Ticks(lo, hi)
		}
		every := int(math.Max(1, math.Ceil(math.Log10(hi/lo)/6)))
		var ticks []plot.Tick
		for _, factors := range [][]float64{{1}, {1, 5}, {1, 2, 5}} {
			ticks = ticks[:0]
			labels := 0
			for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
				for _, f := range []float64{1, 2, 5} {
					tick := plot.Tick{Value: f * math.Pow(10, float64(e))}
					if tick.Value < lo*(1-1e-9) || tick.Value > hi*(1+1e-9) {
						continue
					}
					if slices.Contains(factors, f) && e%every == 0 {
						tick.Label = text(tick.Value)
						labels++
					}
					ticks = append(ticks, tick)
				}
			}
			if labels >= 3 {
				break
			}
		}
		return ticks
	})
}

// nightAxis goes over dates.
func nightAxis(axis *plot.Axis, first, last time.Time) {
	const day = 24 * 3600
	lo, hi := float64(first.Unix()), float64(last.Unix())
	axis.Min, axis.Max = lo-day/2, hi+day/2
	axis.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick {
		every := math.Max(1, math.Ceil((hi-lo)/day/5))
		var ticks []plot.Tick
		for at := lo; at <= hi; at += every * day {
			ticks = append(ticks, plot.Tick{Value: at, Label: time.Unix(int64(at), 0).UTC().Format("2 Jan")})
		}
		return ticks
	})
}

// rules are thin lines across the data at the labelled ticks.
type rules struct{ horizontal, vertical bool }

func (r rules) Plot(c draw.Canvas, p *plot.Plot) {
	line := draw.LineStyle{Color: gridInk(), Width: 0.75}
	x, y := p.Transforms(&c)
	if r.vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if t.Label != "" {
				c.StrokeLine2(line, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
			}
		}
	}
	if r.horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if t.Label != "" {
				c.StrokeLine2(line, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
			}
		}
	}
}

// spread widens a range by a share of it on both sides, on a logarithmic axis of its
// factor.
func spread(lo, hi float64, log bool) (float64, float64) {
	const share = 0.04
	if log {
		f := math.Pow(hi/lo, share)
		return lo / f, hi * f
	}
	// What differs by less than a thousandth is not pulled apart.
	if least := (math.Abs(lo)+math.Abs(hi))/2000 + 1e-3; hi-lo < least {
		lo, hi = (lo+hi-least)/2, (lo+hi+least)/2
	}
	return lo - share*(hi-lo), hi + share*(hi-lo)
}

// dots is a path of circles, which is much shorter as one.
func dots(at []vg.Point, radius vg.Length) vg.Path {
	var path vg.Path
	for _, pt := range at {
		path.Move(vg.Point{X: pt.X + radius, Y: pt.Y})
		path.Arc(pt, radius, 0, 2*math.Pi)
		path.Close()
	}
	return path
}
