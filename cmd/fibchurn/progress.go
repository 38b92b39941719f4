package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"

	"fibchurn/churn"
)

// A progress shows on a terminal how far a session is; elsewhere it is silent.
type progress struct {
	bar    *progressbar.ProgressBar
	stderr io.Writer
}

func newProgress(stderr io.Writer, quiet bool) *progress {
	p := &progress{stderr: stderr}
	if quiet || !isTerminal(stderr) {
		p.stderr = io.Discard
	}
	return p
}

// show is told before every run how many have ended.
func (p *progress) show(done, total int, w churn.Workload) {
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.stderr),
			progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	if w != nil {
		p.bar.Describe(fmt.Sprintf("%s, cell %s", w.Command(), w.Cell()))
	}
	_ = p.bar.Set(done) // what a terminal cannot show stops nothing
}

// clear takes the bar away, so that the table has the terminal.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
