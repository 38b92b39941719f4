package chart

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fibchurn/results/trend"
)

// A TrendLine is a series and its colour.
type TrendLine struct {
	Key    Key
	Series trend.Series
}

// Trend draws medians of nights, the levels between changes, and the changes.
func Trend(title, caption string, lines []TrendLine) *Chart {
	lo, hi := math.Inf(1), 0.0
	first, last := lines[0].Series.Points[0].Night, lines[0].Series.Points[0].Night
	c := &Chart{Title: title, Caption: caption, height: usual}
	for _, l := range lines {
		for _, p := range l.Series.Points {
			lo, hi = min(lo, p.Summary.Median), max(hi, p.Summary.Median)
			first, last = earlier(first, p.Night), later(last, p.Night)
		}
		if len(lines) > 1 {
			c.Keys = append(c.Keys, l.Key)
		}
	}
	// Noise of a percent must not look like mountains.
	if middle := (lo + hi) / 2; hi-lo < middle/10 {
		lo, hi = middle*0.95, middle*1.05
	}
	c.add = func(p *plot.Plot) {
		log := hi > 20*lo
		low, high := spread(lo, hi, log)
		if !log {
			high += (high - low) / 9 * float64(len(lines)) // room for the changes' texts
		}
		timeAxis(&p.Y, low, high, log, lines[0].Series.Metric)
		nightAxis(&p.X, first, last)
		p.Add(rules{horizontal: true})
		for i, l := range lines {
			p.Add(trendLine{l, i, len(lines)})
		}
	}
	return c
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A trendLine is one of several, which are drawn a little beside one another.
type trendLine struct {
	TrendLine
	index, of int
}

func (l trendLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	points := l.Series.Points
	at := make([]vg.Point, len(points))
	ink := seriesInk(l.Key.Ink)
	beside := vg.Length(l.index)*2.6 - vg.Length(l.of-1)*1.3
	for i, pt := range points {
		at[i] = vg.Point{X: x(float64(pt.Night.Unix())) + beside, Y: y(pt.Summary.Median)}
		if s := pt.Summary; s.HasInterval() {
			low, high := max(c.Min.Y, y(s.Lo)), min(c.Max.Y, y(s.Hi))
			c.StrokeLine2(draw.LineStyle{Color: ink.faded(0.35), Width: 1.5}, at[i].X, low, at[i].X, high)
		}
	}
	c.SetColor(ink.faded(0.8))
	c.Fill(dots(at, 2))
	from, level := 0, 0.0
	for _, change := range l.Series.Changes {
		l.level(c, at[from:change.Index], y(change.Before))
		from, level = change.Index, change.After
		middle := (at[from-1].X + at[from].X) / 2
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1, Dashes: []vg.Length{3, 2}}, middle, c.Min.Y, middle, c.Max.Y)
		style := p.X.Tick.Label
		style.Color, style.XAlign, style.YAlign = ink, draw.XLeft, draw.YTop
		text := fmt.Sprintf("%+.0f %%", 100*(change.Ratio()-1))
		pt := vg.Point{X: middle + 3, Y: c.Max.Y - vg.Length(l.index)*11}
		if middle+3+style.Width(text) > c.Max.X {
			style.XAlign, pt.X = draw.XRight, middle-3
		}
		c.FillText(style, pt, text)
	}
	if from > 0 {
		l.level(c, at[from:], y(level))
	}
}

func (l trendLine) level(c draw.Canvas, at []vg.Point, y vg.Length) {
	if len(at) > 0 {
		c.StrokeLine2(draw.LineStyle{Color: seriesInk(l.Key.Ink), Width: 1.6}, at[0].X, y, at[len(at)-1].X, y)
	}
}

var _ plot.Plotter = trendLine{}
var _ plotter.XYer = plotter.XYs{}
