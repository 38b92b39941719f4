package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fibchurn/results"
)

// A StripRow is the runs of one cell of one side.
type StripRow struct {
	Label   string
	Ink     int
	Values  []float64       // of each run, ns
	Summary results.Summary // as the tables have it
}

// shownDots is how many runs of a row have a dot of their own.
const shownDots = 150

// Strip draws every run of every row, and over them quartiles, median and the
// median's interval. Where a row has more than shownDots runs its dots are evenly
// spaced order statistics, extremes included.
func Strip(title string, rows []StripRow) *Chart {
	lo, hi := rangeOf(rows)
	log := lo > 0 && !OneAxis(rows)
	most := 0
	for _, r := range rows {
		most = max(most, len(r.Values))
	}
	c := &Chart{Title: title, height: vg.Length(44 + stripHeight*len(rows))}
	c.Explain = "Dots are runs, the box is the middle half, the mark the median, the bar its 95 % interval."
	if most > shownDots {
		c.Explain = fmt.Sprintf("Dots are runs, of rows with more than %d evenly chosen ones; the box is the middle half, the mark the median, the bar its 95 %% interval.", shownDots)
	}
	if log {
		c.Caption = "Logarithmic axis."
	}
	c.add = func(p *plot.Plot) {
		lo, hi := spread(lo, hi, log)
		timeAxis(&p.X, lo, hi, log, "wall time")
		p.HideY()
		p.Y.Min, p.Y.Max = 0, float64(len(rows))
		p.Add(rules{vertical: true}, strips(rows))
	}
	return c
}

// OneAxis reports whether a linear axis shows all rows.
func OneAxis(rows []StripRow) bool {
	lo, hi := rangeOf(rows)
	return hi <= 30*lo
}

func rangeOf(rows []StripRow) (lo, hi float64) {
	lo = math.Inf(1)
	for _, r := range rows {
		lo, hi = min(lo, slices.Min(r.Values)), max(hi, slices.Max(r.Values))
	}
	return lo, hi
}

const stripHeight = 36

type strips []StripRow

func (s strips) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, r := range s {
		top := y(float64(len(s) - i))
		middle := top - stripHeight*0.62
		style := p.X.Tick.Label
		style.Color, style.XAlign, style.YAlign = textInk(), draw.XLeft, draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X, Y: top - 1}, shortened(r.Label, 52))

		ink := seriesInk(r.Ink)
		values := slices.Sorted(slices.Values(r.Values))
		if n := len(values); n >= 4 {
			q1, q3 := x(values[n/4]), x(values[n-1-n/4])
			c.FillPolygon(ink.faded(0.16), box(q1, middle-7, q3, middle+7))
		}
		var at []vg.Point
		for k, v := range shown(values) {
			_, fraction := math.Modf(float64(k) * (math.Sqrt(5) - 1) / 2) // spread evenly, in no pattern
			at = append(at, vg.Point{X: x(v), Y: middle + vg.Length(fraction-0.5)*11})
		}
		c.SetColor(ink.faded(0.5))
		c.Fill(dots(at, 1.8))
		if r.Summary.HasInterval() {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 2}, x(r.Summary.Lo), middle, x(r.Summary.Hi), middle)
		}
		median := x(r.Summary.Median)
		c.StrokeLine2(draw.LineStyle{Color: textInk(), Width: 2}, median, middle-8, median, middle+8)
	}
}

func box(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// shown thins sorted values out.
func shown(values []float64) []float64 {
	if len(values) <= shownDots {
		return values
	}
	kept := make([]float64, shownDots)
	for i := range kept {
		kept[i] = values[i*(len(values)-1)/(shownDots-1)]
	}
	return kept
}
