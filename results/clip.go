package results

import (
	"sort"

	"github.com/jedib0t/go-pretty/v6/text"
)

// clipped renders the grid as lines does. Where it is too wide it first shortens the
// values of the first column, names of any length, before it drops columns.
func (g grid) clipped(width int) (lines []string, headings int, note string) {
	lines, headings = g.render()
	over := widest(lines) - width
	if width <= 0 || over <= 0 {
		return lines, headings, ""
	}
	longest := 0
	for _, row := range g.rows {
		longest = max(longest, text.StringWidth(row[0]))
	}
	room := max(longest-over, leastSymbol)
	for _, row := range g.rows {
		row[0] = clip(row[0], room)
	}
	return g.lines(width)
}

// clip shortens a name to a width in columns. What says most of a Go symbol is at its
// end, of a kernel's at its beginning: those are short and rarely cut.
func clip(name string, width int) string {
	if text.StringWidth(name) <= width {
		return name
	}
	runes := []rune(name) // maybe very many: what a file holds is no promise
	cut := sort.Search(len(runes), func(i int) bool { return text.StringWidth(string(runes[i:])) <= width-2 })
	return ".." + string(runes[cut:])
}
