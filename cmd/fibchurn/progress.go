package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/schollz/progressbar/v3"

	"fibchurn/churn"
)

// A progress shows on a terminal how far a session is, how fast it goes, and how long it
// has taken and will take; elsewhere it is silent. It takes one line, however narrow the
// terminal, and goes when the session ends.
type progress struct {
	bar     *progressbar.ProgressBar
	stderr  io.Writer
	columns int // of the terminal when the session began
}

// What the parts of the line take at most, in columns: "100% |#| (9999/9999) [9m59s:9m59s]"
// and ", 9999 runs/min".
const (
	barColumns  = 46
	rateColumns = 16
)

func newProgress(stderr io.Writer, quiet bool) *progress {
	p := &progress{stderr: stderr, columns: width(stderr)}
	if quiet || p.columns < barColumns {
		p.stderr = io.Discard
	}
	return p
}

// show is told before every run how many have ended.
func (p *progress) show(done, total int, w churn.Workload) {
	if p.bar == nil {
		options := []progressbar.Option{
			progressbar.OptionSetWriter(p.stderr),
			progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		}
		if p.columns >= barColumns+rateColumns {
			options = append(options, progressbar.OptionShowIts(), progressbar.OptionSetItsString("runs"))
		}
		p.bar = progressbar.NewOptions(total, options...)
	}
	if w != nil {
		p.bar.Describe(p.description(w))
	}
	_ = p.bar.Set(done) // what a terminal cannot show stops nothing
}

// description names the cell, as far as there is room beside the rest.
func (p *progress) description(w churn.Workload) string {
	room := p.columns - barColumns - rateColumns
	if room < len("flap, ~") {
		return ""
	}
	return text.Snip(fmt.Sprintf("%s, cell %s", w.Command(), w.Cell()), room, "~")
}

// clear takes the bar away, so that the table has the terminal.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
