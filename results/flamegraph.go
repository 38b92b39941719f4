package results

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
)

// Sizes of a flame graph, in the units of its viewBox.
const (
	flameWidth  = 1200.0
	flameMargin = 10.0
	flameRow    = 17.0 // height of a frame
	flameTitle  = 40.0 // height of a panel's title, and the space above it
	flameGlyph  = 6.7  // width of a character: that of common monospace fonts is 0.6 of 11
	flameThin   = 0.4  // a frame less wide is not drawn
)

// A flame is one function in the place it was called in.
type flame struct {
	name    string
	samples int64 // of it and of what it called
	called  map[string]*flame
}

// flameOf merges stacks into a tree.
func flameOf(s profileSet) *flame {
	root := &flame{name: "all", called: map[string]*flame{}}
	for frames, n := range s.stacks {
		if n <= 0 {
			continue
		}
		at := root
		at.samples = plus(at.samples, n)
		for name := range strings.SplitSeq(frames, ";") {
			next := at.called[name]
			if next == nil {
				next = &flame{name: name, called: map[string]*flame{}}
				at.called[name] = next
			}
			next.samples = plus(next.samples, n)
			at = next
		}
	}
	return root
}

// depth is the number of rows that are drawn, of frames at least as wide as thin
// samples.
func (f *flame) depth(thin float64) int {
	deepest := 0
	for _, c := range f.called {
		if float64(c.samples) >= thin {
			deepest = max(deepest, c.depth(thin))
		}
	}
	return deepest + 1
}

// WriteFlameGraph draws the profiles of the runs as an SVG image, without any script: a
// panel for each cell and phase, the whole at its bottom and on each function those that
// it called, as wide as their share of the samples, in alphabetical order. A function's
// colour depends on its name alone: red to yellow for the kernel's, blue for the
// program's. A frame's tooltip has its samples and share. Frames too thin to be seen are
// left out. The same runs make the same bytes. The error is w's.
//
// See B. Gregg, The Flame Graph, Communications of the ACM 59(6), 2016.
func WriteFlameGraph(w io.Writer, runs []Run) error {
	out := bufio.NewWriter(w)
	sets := profileSets(runs)
	height := flameTitle
	var panels []panel
	for _, s := range sets {
		p := panel{set: s, root: flameOf(s), top: height}
		height += flameTitle + flameRow*float64(p.rows())
		panels = append(panels, p)
	}
	height += flameMargin
	fmt.Fprintf(out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11">
<style>
.page { fill: #ffffff } .title { fill: #202020; font-weight: bold } .legend { fill: #505050 } .name { fill: #101010 }
@media (prefers-color-scheme: dark) { .page { fill: #16181c } .title { fill: #e8e8e8 } .legend { fill: #b0b0b0 } }
</style>
<rect class="page" width="100%%" height="100%%"/>
`, flameWidth, height, flameWidth, height)
	flameText(out, "legend", flameMargin, 20, legendText(sets))
	for _, p := range panels {
		p.draw(out)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func legendText(sets []profileSet) string {
	if len(sets) == 0 {
		return "no run has a profile with samples"
	}
	return "red to yellow: the kernel's functions; blue: the program's. As wide as the share of the samples; the tooltips have the figures."
}

// A panel is the flame graph of one phase of one cell.
type panel struct {
	set  profileSet
	root *flame
	top  float64
}

// scale is the width of a sample.
func (p *panel) scale() float64 { return (flameWidth - 2*flameMargin) / float64(p.root.samples) }

func (p *panel) rows() int { return p.root.depth(flameThin / p.scale()) }

func (p *panel) draw(w io.Writer) {
	title := fmt.Sprintf("%s: %s in %s", strings.Join(p.set.names, ", "),
		count(p.root.samples, "sample", "samples"), count(p.set.runs, "run", "runs"))
	flameText(w, "title", flameMargin, p.top+flameTitle-10, title)
	p.frame(w, p.root, flameMargin, p.top+flameTitle+flameRow*float64(p.rows()-1))
}

// frame draws a function, with its lower left corner's row at y, and on it what it
// called.
func (p *panel) frame(w io.Writer, f *flame, x, y float64) {
	width := float64(f.samples) * p.scale()
	if width < flameThin {
		return
	}
	share := fmt.Sprintf("%s: %s, %.2f %%", f.name, count(f.samples, "sample", "samples"), 100*float64(f.samples)/float64(p.root.samples))
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="1" fill="%s"/>`,
		escaped(share), x, y, max(width-0.3, 0.1), flameRow-1, flameColour(f))
	if label := fitting(f.name, width-6); label != "" {
		// A nested image is cut off at its edges, whatever the font.
		fmt.Fprintf(w, `<svg x="%.1f" y="%.1f" width="%.1f" height="%.1f">`, x, y, width-1, flameRow-1)
		flameText(w, "name", 3, 12, label)
		fmt.Fprint(w, `</svg>`)
	}
	fmt.Fprintln(w, `</g>`)
	for _, name := range sortedKeys(f.called) {
		c := f.called[name]
		p.frame(w, c, x, y-flameRow)
		x += float64(c.samples) * p.scale()
	}
}

// fitting shortens a label to a width, to nothing where that leaves next to nothing.
func fitting(label string, width float64) string {
	runes := []rune(label)
	room := int(width / flameGlyph)
	switch {
	case len(runes) <= room:
		return label
	case room < 4:
		return ""
	}
	return string(runes[:room-2]) + ".."
}

// userSuffix ends the names of the program's own functions in Stack.Frames.
const userSuffix = "_[u]"

// flameColour chooses a colour that text can be read on.
func flameColour(f *flame) string {
	h := fnv.New32a()
	io.WriteString(h, f.name)
	x := h.Sum32()
	vary := func(from, span uint32) uint32 { v := from + x%span; x /= span; return v }
	switch {
	case f.called != nil && f.name == "all":
		return "hsl(40,12%,72%)"
	case strings.HasSuffix(f.name, userSuffix):
		return fmt.Sprintf("hsl(%d,%d%%,%d%%)", vary(200, 22), vary(58, 20), vary(68, 8))
	}
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", vary(8, 44), vary(80, 15), vary(60, 8))
}

func flameText(w io.Writer, class string, x, y float64, s string) {
	fmt.Fprintf(w, `<text class="%s" x="%s" y="%s">%s</text>`, class, strconv.FormatFloat(x, 'f', -1, 64), strconv.FormatFloat(y, 'f', -1, 64), escaped(s))
	if class != "name" {
		fmt.Fprintln(w)
	}
}

// escaped makes text of an image of what a record holds.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.ReplaceAll(s, nbsp, " "))) // a Builder never fails
	return b.String()
}
