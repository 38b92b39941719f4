package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A column is one column of a grid.
type column struct {
	title string // lines are separated by \n
	left  bool   // aligned left; figures are aligned right
	// drop orders the columns that go when the grid is too wide: the highest
	// first, 0 never.
	drop int
	max  int // columns of the terminal that it may take, 0 any; what is longer is wrapped
}

// narrowest is how far squeeze makes a column narrower.
const narrowest = 8

// A grid is a table of text. Rows have one value a column.
type grid struct {
	columns []column
	rows    [][]string
}

// lines renders the grid, headings first, in at most width columns as far as
// dropping columns, and then wrapping names, allows; 0 is any width. It says how many
// lines are headings, and in a note, "" for none, how many columns were dropped.
func (g grid) lines(width int) (lines []string, headings int, note string) {
	all := len(g.columns)
	for {
		lines, headings = g.render()
		if width <= 0 || widest(lines) <= width || !g.dropColumns() && !g.squeeze(widest(lines)-width) {
			return lines, headings, droppedText(all-len(g.columns), width)
		}
	}
}

// droppedText is short enough for any width that holds a table.
func droppedText(dropped, width int) string {
	switch dropped {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("(1 column does not fit %d columns)", width)
	}
	return fmt.Sprintf("(%d columns do not fit %d columns)", dropped, width)
}

// dropColumns removes the columns that are the next to go.
func (g *grid) dropColumns() bool {
	next := 0
	for _, c := range g.columns {
		next = max(next, c.drop)
	}
	if next == 0 {
		return false
	}
	var kept grid
	kept.rows = make([][]string, len(g.rows))
	for i, c := range g.columns {
		if c.drop == next {
			continue
		}
		kept.columns = append(kept.columns, c)
		for n, row := range g.rows {
			kept.rows[n] = append(kept.rows[n], row[i])
		}
	}
	*g = kept
	return true
}

// squeeze makes the widest column of names narrower by excess, or as far as that goes.
func (g *grid) squeeze(excess int) bool {
	which, most := -1, narrowest
	for i, c := range g.columns {
		w := 0
		for _, row := range g.rows {
			w = max(w, text.StringWidth(row[i]))
		}
		if c.max > 0 {
			w = min(w, c.max)
		}
		if c.left && w > most {
			which, most = i, w
		}
	}
	if which < 0 {
		return false
	}
	g.columns = slices.Clone(g.columns)
	g.columns[which].max = max(narrowest, most-excess)
	return true
}

func (g grid) render() (lines []string, headings int) {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	header := make(table.Row, len(g.columns))
	configs := make([]table.ColumnConfig, len(g.columns))
	for i, c := range g.columns {
		header[i] = c.title
		headings = max(headings, 1+strings.Count(c.title, "\n"))
		align := text.AlignRight
		if c.left {
			align = text.AlignLeft
		}
		configs[i] = table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align, VAlignHeader: text.VAlignTop, WidthMax: c.max, WidthMaxEnforcer: text.WrapSoft}
	}
	w.SetColumnConfigs(configs)
	w.AppendHeader(header)
	for _, row := range g.rows {
		values := make(table.Row, len(row))
		for i, v := range row {
			values[i] = v
		}
		w.AppendRow(values)
	}
	return strings.Split(w.Render(), "\n"), headings
}

func widest(lines []string) int {
	w := 0
	for _, l := range lines {
		w = max(w, text.StringWidth(l))
	}
	return w
}

// alignPairs joins lows and highs as "lo to hi" such that the highs are of one
// width and a right-aligned column lines up both. Pairs without a low are "-".
func alignPairs(lows, highs []string) []string {
	high := 0
	for _, h := range highs {
		high = max(high, text.StringWidth(h))
	}
	joined := slices.Clone(lows)
	for i, l := range lows {
		if l == "" {
			joined[i] = "-"
			continue
		}
		joined[i] = l + " to " + strings.Repeat(" ", high-text.StringWidth(highs[i])) + highs[i]
	}
	return joined
}

// wrap breaks a paragraph into lines of at most width columns, the second and
// later ones indented; 0 is any width. Non-breaking spaces become spaces.
func wrap(paragraph string, width, indent int) []string {
	var lines []string
	line := ""
	for _, word := range strings.FieldsFunc(paragraph, func(r rune) bool { return r == ' ' }) {
		switch {
		case line == "":
			line = word
		case width > 0 && text.StringWidth(line)+1+text.StringWidth(word) > width:
			lines = append(lines, line)
			line = strings.Repeat(nbsp, indent) + word
		default:
			line += " " + word
		}
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], nbsp, " ")
	}
	return lines
}
