package chart

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Shape is how many tnodes of each size a trie has.
type Shape struct {
	Key    Key
	ByBits map[int]int64
}

// Tnodes draws the number of tnodes by size, on a logarithmic axis.
func Tnodes(title, caption string, shapes []Shape) *Chart {
	var bits []int
	most := int64(1)
	c := &Chart{Title: title, Caption: caption, height: usual - 30}
	for _, s := range shapes {
		for b, n := range s.ByBits {
			bits, most = append(bits, b), max(most, n)
		}
		if len(shapes) > 1 {
			c.Keys = append(c.Keys, s.Key)
		}
	}
	first, last := slices.Min(bits), slices.Max(bits)
	first, last = min(first, last-3), max(last, first+3)
	c.add = func(p *plot.Plot) {
		p.X.Min, p.X.Max = float64(first)-0.6, float64(last)+0.6
		p.X.Label.Text = "size of the tnode, children"
		p.X.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick {
			var ticks []plot.Tick
			every := (last-first)/8 + 1
			for b := max(1, first); b <= last; b++ {
				t := plot.Tick{Value: float64(b)}
				if (b-first)%every == 0 {
					t.Label = fmt.Sprintf("2^%d", b)
				}
				ticks = append(ticks, t)
			}
			return ticks
		})
		logAxis(&p.Y, 0.7, float64(max(most, 10))*1.6, "tnodes", countLabel)
		p.Add(rules{horizontal: true}, bars(shapes))
	}
	return c
}

type bars []Shape

func (s bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	step := 0.8 / float64(len(s))
	style := p.X.Tick.Label
	style.Color, style.XAlign, style.YAlign = textInk(), draw.XCenter, draw.YBottom
	for i, shape := range s {
		for _, b := range slices.Sorted(maps.Keys(shape.ByBits)) {
			left := float64(b) - 0.4 + step*float64(i)
			height := y(float64(shape.ByBits[b]))
			c.FillPolygon(seriesInk(shape.Key.Ink).faded(0.85), box(x(left), c.Min.Y, x(left+step*0.92), height))
			if len(s) == 1 {
				c.FillText(style, vg.Point{X: x(float64(b)), Y: height + 1}, exact(shape.ByBits[b]))
			}
		}
	}
}

func exact(n int64) string {
	if n >= 100_000 {
		return countLabel(math.Round(float64(n)/1000) * 1000)
	}
	return fmt.Sprint(n)
}
