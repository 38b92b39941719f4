// Package chart draws what was measured: distributions, percentiles, growth, shapes of
// tries and trends, as SVG for a page and as SVG and PNG files.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart is one drawing. All are of one width, so that letters are of one size
// wherever it is shown.
type Chart struct {
	Context string // what the charts beside it are of too; "" for none
	Title   string // what is drawn
	Caption string // what this one shows, "" where that is to be seen
	Explain string // how to read charts of its sort
	Keys    []Key  // of the series, where there are several

	height vg.Length
	add    func(*plot.Plot) // axes and data
}

// A Key names a series.
type Key struct {
	Label  string
	Ink    int // 0 to Inks-1
	Dashed bool
}

const (
	width     = 360 // points; pixels of a page
	usual     = 210 // height
	fontSize  = 11
	smallSize = 10
)

// Inline returns the chart as an svg element for a page whose style sheet gives the
// colours (named) and the font. Title, caption and keys are the page's to write.
func (c *Chart) Inline() (string, error) {
	p := c.plot()
	p.BackgroundColor = nil
	svg, err := c.svg(p)
	if err != nil {
		return "", err
	}
	body := svg[strings.Index(svg, "<g"):]
	head := fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, int(c.height), html.EscapeString(strings.TrimSpace(c.Title+". "+c.Caption)))
	body = strings.NewReplacer(
		"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "",
		"font-family:Liberation Sans;font-variant:none;font-weight:normal;font-style:normal;", "",
		"\n\tstyle", " style",
	).Replace(body)
	return head + named(body), nil
}

// WriteSVG writes a file that stands alone.
func (c *Chart) WriteSVG(w io.Writer) error {
	svg, err := c.svg(c.titled())
	if err != nil {
		return err
	}
	// The file has no font in it: where there is no Liberation, any like it will do.
	_, err = io.WriteString(w, strings.ReplaceAll(svg, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,sans-serif;"))
	return err
}

// WritePNG writes a picture of twice the size in pixels.
func (c *Chart) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(width, c.fileHeight()), vgimg.UseDPI(144), vgimg.UseBackgroundColor(color.White))
	c.titled().Draw(framed(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

func (c *Chart) svg(p *plot.Plot) (string, error) {
	canvas := vgsvg.New(width, c.height)
	if p.Title.Text == "" {
		p.Draw(draw.New(canvas))
	} else {
		canvas = vgsvg.New(width, c.fileHeight())
		p.Draw(framed(canvas))
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// fileHeight has room for the title, the keys and a margin.
func (c *Chart) fileHeight() vg.Length { return c.height + 24 + vg.Length(len(c.Keys))*14 + 2*margin }

const margin = 8

// framed leaves a white margin.
func framed(canvas vg.CanvasSizer) draw.Canvas {
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	return draw.Crop(c, margin, -margin, margin, -margin)
}

// titled is the plot with what a page writes beside it.
func (c *Chart) titled() *plot.Plot {
	p := c.plot()
	p.BackgroundColor = color.White
	p.Title.Text = c.Title
	if c.Context != "" {
		p.Title.Text = c.Context + ": " + c.Title
	}
	p.Title.Text = shortened(p.Title.Text, 56)
	p.Title.TextStyle.Font = sans(fontSize + 1)
	p.Title.TextStyle.Color = textInk()
	p.Title.Padding = 4 + vg.Length(len(c.Keys))*14
	p.Add(keys(c.Keys))
	return p
}

func (c *Chart) plot() *plot.Plot {
	p := plot.New()
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(smallSize)
		axis.Label.TextStyle.Color = lineInk()
		axis.Tick.Label.Font = sans(smallSize)
		axis.Tick.Label.Color = lineInk()
		axis.Tick.LineStyle = draw.LineStyle{Color: lineInk(), Width: 0.5}
		axis.LineStyle = draw.LineStyle{Color: lineInk(), Width: 0.5}
		axis.Tick.Length = 3
		axis.Padding = 4
		axis.Label.Padding = 2
	}
	c.add(p)
	return p
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// keys draws the series' names above the data, as the page does in HTML.
type keys []Key

func (k keys) Plot(c draw.Canvas, p *plot.Plot) {
	style := p.X.Tick.Label
	style.Color, style.XAlign, style.YAlign = textInk(), draw.XLeft, draw.YCenter
	for i, key := range k {
		y := c.Max.Y + vg.Length(len(k)-i)*14
		line := draw.LineStyle{Color: seriesInk(key.Ink), Width: 2, Dashes: dashes(key.Dashed)}
		c.StrokeLine2(line, c.Min.X, y, c.Min.X+16, y)
		c.FillText(style, vg.Point{X: c.Min.X + 22, Y: y}, shortened(key.Label, 52))
	}
}

func dashes(dashed bool) []vg.Length {
	if dashed {
		return []vg.Length{4, 2}
	}
	return nil
}

// shortened leaves out the middle of a text of more than n letters.
func shortened(text string, n int) string {
	letters := []rune(text)
	if len(letters) <= n {
		return text
	}
	head := (n - 1) / 2
	return string(letters[:head]) + "…" + string(letters[len(letters)-(n-1-head):])
}
