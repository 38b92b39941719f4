package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fibchurn/results"
)

// A DeltaRow is a row of a comparison whose figures have a ratio.
type DeltaRow struct {
	Label string
	Ink   int
	Delta results.Delta // fractions of base
}

// Deltas draws how much larger the new figures are than the base's, with the intervals
// that the tables have.
func Deltas(title string, rows []DeltaRow) *Chart {
	lo, hi := 0.0, 0.0
	for _, r := range rows {
		lo, hi = min(lo, r.Delta.Estimate), max(hi, r.Delta.Estimate)
		if r.Delta.HasInterval() {
			lo, hi = min(lo, r.Delta.Lo), max(hi, r.Delta.Hi)
		}
	}
	// Less than a percent is not drawn as if it were much.
	lo, hi = math.Min(lo, -0.01), math.Max(hi, 0.01)
	c := &Chart{Title: title, height: vg.Length(44 + deltaHeight*len(rows))}
	c.Explain = "The dot is the change from base, the bar its 95 % interval, that of the row alone; right of the line is more time."
	c.add = func(p *plot.Plot) {
		p.X.Min, p.X.Max = spread(lo, hi, false)
		p.X.Label.Text = "change from base, %"
		p.X.Tick.Marker = linear(4, func(x float64) string { return figure(math.Round(x*1e6) / 1e4) })
		p.HideY()
		p.Y.Min, p.Y.Max = 0, float64(len(rows))
		p.Add(rules{vertical: true}, deltas(rows))
	}
	return c
}

const deltaHeight = 30

type deltas []DeltaRow

func (d deltas) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: lineInk(), Width: 1}, x(0), c.Min.Y, x(0), c.Max.Y)
	for i, r := range d {
		top := y(float64(len(d) - i))
		middle := top - deltaHeight*0.68
		style := p.X.Tick.Label
		style.Color, style.XAlign, style.YAlign = textInk(), draw.XLeft, draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X, Y: top - 1}, shortened(r.Label, 56))
		ink := seriesInk(r.Ink)
		if r.Delta.HasInterval() {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 2}, x(r.Delta.Lo), middle, x(r.Delta.Hi), middle)
		}
		c.SetColor(ink)
		c.Fill(dots([]vg.Point{{X: x(r.Delta.Estimate), Y: middle}}, 3.5))
	}
}
