package results

import (
	"bytes"
	"io"
)

// TextOptions say how WriteText renders.
type TextOptions struct {
	Color bool // ANSI colours; without, no escape byte is written
	// Width is the terminal's, in columns. Tables lose their least important
	// columns rather than break at it; 0 is any width.
	Width int
	// Histograms draws one for each row of lookups, with no character beyond ASCII
	// where ASCII is set.
	Histograms, ASCII bool
}

// WriteText renders runs for a terminal: what was measured and on what, a table
// with a row for each cell and phase, the tries, the warnings, and one plain
// conclusion where the command has one. Runs of different commands, kernels,
// machines or specs are rendered one set after the other. Runs that are no
// samples (partial or not verified) enter no figure and are counted. The error
// is w's.
func WriteText(w io.Writer, runs []Run, opts TextOptions) error {
	p := page{opts: opts}
	if len(runs) == 0 {
		p.paragraph("no runs", 0, none)
	}
	for _, b := range blocks(runs) {
		p.block(b)
	}
	_, err := w.Write(p.buf.Bytes())
	return err
}

// A colour is an SGR parameter, "" for none.
type colour string

const (
	none   colour = ""
	bold   colour = "1"
	red    colour = "31"
	yellow colour = "33"
)

// A page is a rendering under way.
type page struct {
	buf  bytes.Buffer
	opts TextOptions
}

func (p *page) block(b block) {
	p.gap()
	for _, h := range heading(b) {
		p.paragraph(h, 2, bold)
	}
	for _, l := range leftOut(b) {
		p.paragraph(l, 4, red)
	}
	if len(b.cells) == 0 {
		p.paragraph("no run is left to summarise", 0, none)
	}
	l := layoutOf(b.runs[0].Command)
	p.latency(b)
	p.grid(phaseGrid(phaseRows(b, l), l))
	p.grid(eachGrid(b))
	p.grid(flapGrid(b))
	p.grid(listenerGrid(b))
	p.forward(b)
	p.flood(b)
	p.resize(b)
	p.trie(b)
	p.profiles(b)
	p.blocked(b)
	p.traces(b)
	p.section(traceNotes(b), none)
	p.section(warningTexts(b), yellow)
	p.section(l.sentence(b), bold)
}

// trie writes the shapes of the tables, and below them what the columns have no
// room for.
func (p *page) trie(b block) {
	rows := trieRows(b)
	p.grid(trieGrid(rows))
	p.grid(rt6Grid(b))
	for _, n := range trieNotes(b, rows) {
		p.paragraph(n, 2, none)
	}
}

// grid writes a table as a section of its own, nothing where it has no rows.
func (p *page) grid(g grid) {
	if len(g.rows) == 0 {
		return
	}
	p.gap()
	p.lines(g.lines(p.opts.Width))
}

// lines writes what a grid renders.
func (p *page) lines(lines []string, headings int, note string) {
	for i, l := range lines {
		if i < headings {
			p.line(l, bold)
		} else {
			p.line(l, none)
		}
	}
	p.note(note)
}

// note writes one line below a table, nothing where it is empty.
func (p *page) note(text string) {
	if text != "" {
		p.paragraph(text, 2, none)
	}
}

// section writes paragraphs after an empty line, nothing where there are none.
func (p *page) section(paragraphs []string, c colour) {
	if len(paragraphs) == 0 {
		return
	}
	p.gap()
	for _, text := range paragraphs {
		p.paragraph(text, 2, c)
	}
}

func (p *page) paragraph(text string, indent int, c colour) {
	for _, l := range wrap(text, p.opts.Width, indent) {
		p.line(l, c)
	}
}

// gap writes an empty line between sections.
func (p *page) gap() {
	if p.buf.Len() > 0 {
		p.buf.WriteByte('\n')
	}
}

func (p *page) line(text string, c colour) {
	if p.opts.Color && c != none && text != "" {
		text = "\x1b[" + string(c) + "m" + text + "\x1b[0m"
	}
	p.buf.WriteString(text + "\n")
}
