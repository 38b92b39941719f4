package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"fibchurn/results"
)

// An output is where runs go: a file, line by line, and stdout, as lines or in
// another format at the end.
type output struct {
	stdout  io.Writer
	stderr  io.Writer
	lines   *results.Encoder         // nil: another format
	file    *results.File            // nil: none
	runs    []results.Run            // for the other format
	collect func(*results.Run) error // who renders instead, nil: nobody
	measure *measure
	profile *profileFile
	text    results.TextOptions
}

// open opens everything before any work starts.
func (p *program) open(m *measure) (*output, error) {
	o := &output{stdout: p.stdout, stderr: p.stderr, measure: m, collect: p.collect}
	var err error
	if o.profile, err = openProfile(m.profileOut); err != nil {
		return nil, usageErrorf("--profile-out: %v", err)
	}
	if m.format.Name == results.FormatJSON {
		o.lines = results.NewEncoder(p.stdout)
	}
	o.text = results.TextOptions{
		Color: colored(m.color, p.stdout), Width: width(p.stdout),
		Histograms: m.histogram, ASCII: asciiOnly(os.Getenv),
	}
	if m.output != "" {
		err := withReader(m.output, func() (err error) {
			o.file, err = results.Append(m.output)
			return err
		})
		if err != nil {
			return nil, usageErrorf("--output: %v", err)
		}
	}
	return o, nil
}

// withReader calls open, which opens path for writing. Where that is a FIFO that
// nobody reads it would wait for a reader, maybe for ever: that is an error.
func withReader(path string, open func() error) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return open() // knows better what is wrong
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%s: is a FIFO that nobody reads", path)
	case err != nil:
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	return open()
}

// emit takes one run. One that could not be written to the file is shown all the same.
func (o *output) emit(run *results.Run) error {
	var err error
	if o.file != nil {
		if err = o.file.Write(run); err != nil {
			err = fmt.Errorf("write results: %w", err)
		}
	}
	o.profile.take(run)
	switch {
	case o.collect != nil:
		return errors.Join(err, o.collect(run))
	case o.lines != nil:
		return errors.Join(err, o.lines.Encode(run))
	}
	o.runs = append(o.runs, *run)
	return err
}

// render writes the profile, and prints what was measured, if anything was. ended is why
// the measuring ended before all runs were made, nil where it did not.
func (o *output) render(ended error) error {
	err := o.profile.write(o.stderr)
	if len(o.runs) == 0 {
		return err
	}
	o.measure.rendered = true
	opts := results.FormatOptions{Text: o.text}
	if ended != nil {
		opts.Ended = ended.Error()
	}
	return errors.Join(o.measure.format.Write(o.stdout, o.runs, opts), err)
}

// concluded says also in a stream of tests that nothing was measured, and why: err.
func (p *program) concluded(m *measure, err error) error {
	var usage *usageError
	var child childExit
	if err == nil || m.rendered || p.collect != nil || !m.format.Tests || errors.As(err, &usage) || errors.As(err, &child) {
		return err
	}
	opts := results.FormatOptions{Ended: err.Error(), Unsupported: cannotBeDone(err)}
	return errors.Join(err, m.format.Write(p.stdout, nil, opts))
}

// named reports that the file has lost its name.
func (o *output) named() error {
	if o.file == nil {
		return nil
	}
	return o.file.Named()
}

func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
