package main

import (
	"fmt"
	"io"
	"os"

	"fibchurn/results"
)

// An output is where runs go: a file, line by line, and stdout, as lines or as a
// table at the end.
type output struct {
	stdout io.Writer
	lines  *results.Encoder // nil: a table
	file   *results.File    // nil: none
	runs   []results.Run    // for the table
	text   results.TextOptions
}

// open opens everything before any work starts.
func (p *program) open(m *measure) (*output, error) {
	o := &output{stdout: p.stdout}
	if m.json {
		o.lines = results.NewEncoder(p.stdout)
	}
	o.text = results.TextOptions{
		Color: colored(m.color, p.stdout), Width: width(p.stdout),
		Histograms: m.histogram, ASCII: asciiOnly(os.Getenv),
	}
	if m.output != "" {
		var err error
		if o.file, err = results.Append(m.output); err != nil {
			return nil, usageErrorf("--output: %v", err)
		}
	}
	return o, nil
}

// emit takes one run.
func (o *output) emit(run *results.Run) error {
	if o.file != nil {
		if err := o.file.Write(run); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	if o.lines != nil {
		return o.lines.Encode(run)
	}
	o.runs = append(o.runs, *run)
	return nil
}

// render prints the table of what was measured, if anything was.
func (o *output) render() error {
	if len(o.runs) == 0 {
		return nil
	}
	return results.WriteText(o.stdout, o.runs, o.text)
}

func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
