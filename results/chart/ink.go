package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// An ink is a colour of the charts. SVG that goes into a page names it as a variable
// of the page's style sheet instead, so that it can be another one in the dark.
type ink struct {
	r, g, b uint8
	alpha   float64 // 0 to 1
}

// RGBA rounds up: vgsvg divides by alpha again and cuts off.
func (i ink) RGBA() (r, g, b, a uint32) {
	const full = math.MaxUint16
	a = uint32(i.alpha*full + 0.5)
	of := func(v uint8) uint32 { return min(a, uint32(math.Ceil(float64(v)*float64(a)/255))) }
	return of(i.r), of(i.g), of(i.b), a
}

func (i ink) hex() string { return fmt.Sprintf("#%02X%02X%02X", i.r, i.g, i.b) }

// faded is the ink with less of it.
func (i ink) faded(alpha float64) ink {
	i.alpha = alpha
	return i
}

func opaque(r, g, b uint8) ink { return ink{r, g, b, 1} }

// text, line and grid are what is not data. None is black: vgsvg leaves black out,
// which then could not be another colour.
func textInk() ink { return opaque(0x24, 0x29, 0x2F) }
func lineInk() ink { return opaque(0x5B, 0x64, 0x6E) }
func gridInk() ink { return opaque(0xE1, 0xE5, 0xE9) }

// Series are told apart by people who do not see all colours: those of M. Okabe and
// K. Ito, Color Universal Design (2008), the light ones darkened to be legible as
// text on white. There are Inks of them; further ones begin again.
func seriesInk(n int) ink {
	inks := [Inks]ink{
		opaque(0x00, 0x72, 0xB2), opaque(0xD5, 0x5E, 0x00), opaque(0x00, 0x8F, 0x68),
		opaque(0xA8, 0x50, 0x8A), opaque(0x9A, 0x73, 0x00), opaque(0x2F, 0x93, 0xCC),
	}
	return inks[n%Inks]
}

// Inks is how many series have colours of their own.
const Inks = 6

var _ color.Color = ink{}

// named replaces the inks in SVG by the variables --text, --line, --grid and --s0 to
// --s5.
func named(svg string) string {
	pairs := []string{":" + textInk().hex(), ":var(--text)", ":" + lineInk().hex(), ":var(--line)", ":" + gridInk().hex(), ":var(--grid)"}
	for n := range Inks {
		pairs = append(pairs, ":"+seriesInk(n).hex(), fmt.Sprintf(":var(--s%d)", n))
	}
	return strings.NewReplacer(pairs...).Replace(svg)
}
