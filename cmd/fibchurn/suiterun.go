package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"fibchurn/churn"
	"fibchurn/ns"
	"fibchurn/results"
)

// executeSuite executes the lines one after the other, each as the command line that it
// is, and says how they ended.
func (p *program) executeSuite(s *suiteSession) (err error) {
	out, err := p.open(s.measure) // each line appends by itself; what cannot be written is found here
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	r := &suiteRun{program: p, session: s, stderr: p.stderr, output: out}
	// The command of a line deals with a signal by itself. This one keeps the process
	// alive between two of them.
	r.signals = make(chan os.Signal, 1)
	notifyEnd(r.signals)
	defer signal.Stop(r.signals)
	if !isTerminal(p.stderr) { // a progress bar needs the terminal itself
		r.stderr = &once{to: p.stderr, before: map[string]bool{}}
	}
	if s.ktap {
		if r.ktap, err = results.NewKTAP(p.stdout, len(s.suite.lines)); err != nil {
			return err
		}
	}
	err = r.lines()
	if err == nil {
		err = r.rendered()
	}
	if err == nil {
		err = r.summary(out.text)
	}
	if vanished(err, func() bool { return len(r.signals) > 0 }) {
		r.stopped = true
	}
	return errors.Join(err, r.lost, r.verdict())
}

// A suiteRun is a suite under way.
type suiteRun struct {
	program  *program
	session  *suiteSession
	ktap     *results.KTAP // nil: no such stream
	stderr   io.Writer     // of the lines
	outcomes []results.Outcome
	runs     []results.Run // of all lines, where the suite renders them
	output   *output
	signals  chan os.Signal // to end
	stopped  bool           // by one
	lost     error          // the runs are in a file that the name does not lead to
}

func (r *suiteRun) format() string { return r.session.measure.format.Name }

// collects reports whether the runs of all lines are rendered together: what they come
// to as a whole is not what the lines print one after the other.
func (r *suiteRun) collects() bool {
	return r.ktap == nil && r.format() != results.FormatText && r.format() != results.FormatJSON
}

// rendered prints the collected runs, and in a stream of tests why some are missing.
func (r *suiteRun) rendered() error {
	format := r.session.measure.format
	if !r.collects() || len(r.runs) == 0 && !format.Tests {
		return nil
	}
	opts := results.FormatOptions{Unsupported: len(r.runs) == 0 && results.Tally(r.outcomes, results.Failed) == 0 && !r.stopped}
	if err := r.verdict(); err != nil {
		opts.Ended = err.Error()
	}
	return format.Write(r.program.stdout, r.runs, opts)
}

// lines executes all lines, and accounts for those that are not started. Its error is
// that the outcome could not be written.
func (r *suiteRun) lines() error {
	const interrupted = "interrupted before it was started"
	ended := "" // why nothing more is started
	for i, l := range r.session.suite.lines {
		if ended == "" && len(r.signals) > 0 {
			r.stopped, ended = true, interrupted
		}
		o := results.Outcome{Name: strings.Join(l.args, " "), Line: l.number, Verdict: results.Skipped, Reason: ended}
		switch {
		case ended != "":
		case l.host && !r.session.host:
			o.Reason = "it sets a sysctl of the whole machine; suite " + allowHost + " allows that"
		default:
			r.announce(i, l)
			r.execute(l, &o)
			r.lost = r.output.named()
		}
		switch {
		case o.Verdict == results.Interrupted:
			r.stopped, ended = true, interrupted
		case ended == "" && r.lost != nil: // the next line would begin another file
			ended = "not started, because the file of --output has lost its name"
		case o.Verdict == results.Failed && !r.session.force:
			ended = fmt.Sprintf("not started, because line %d failed; --force goes on", l.number)
		}
		if err := r.record(o); err != nil {
			return err
		}
	}
	return nil
}

// announce says which line comes.
func (r *suiteRun) announce(i int, l suiteLine) {
	switch {
	case r.ktap == nil && r.format() == results.FormatText:
		if i > 0 {
			fmt.Fprintln(r.program.stdout)
		}
		fmt.Fprintf(r.program.stdout, "%s:%d: %s\n", r.session.suite.name, l.number, l.text)
	case !r.session.measure.quiet && isTerminal(r.program.stderr):
		fmt.Fprintf(r.program.stderr, "fibchurn: line %d of %d: %s\n", i+1, len(r.session.suite.lines), l.text)
	}
}

// execute executes a line.
func (r *suiteRun) execute(l suiteLine, o *results.Outcome) {
	line := &program{stdout: r.program.stdout, stderr: r.stderr, args: r.arguments(l)}
	if r.collects() {
		line.collect = func(run *results.Run) error {
			r.runs = append(r.runs, *run)
			return nil
		}
	}
	if r.ktap != nil && r.format() != results.FormatJSON {
		line.stdout = r.ktap.Comments()
	}
	begun := time.Now()
	err := line.app().Run(line.args)
	o.Took = time.Since(begun)
	var said bytes.Buffer
	code := exitCode(err, &said)
	o.Reason = strings.TrimSpace(strings.TrimPrefix(said.String(), "fibchurn: "))
	switch {
	case code == exitOK:
		o.Verdict = results.Passed
	case code == exitUnsupported, cannotBeDone(err):
		o.Verdict = results.Skipped
	case code == exitInterrupted:
		o.Verdict = results.Interrupted
	default:
		o.Verdict = results.Failed
	}
}

// arguments is the whole command line of a line: the suite's flags stand before it.
func (r *suiteRun) arguments(l suiteLine) []string {
	m := r.session.measure
	args := []string{"fibchurn", "--color", m.color}
	if r.ktap != nil {
		args[2] = "never" // its comments are for programs
	}
	if m.output != "" {
		args = append(args, "--output", m.output)
	}
	if r.format() == results.FormatJSON {
		args = append(args, "--json")
	}
	if m.quiet {
		args = append(args, "--quiet")
	}
	if r.session.host && l.host {
		args = append(args, allowHost)
	}
	return append(args, l.args...)
}

// record takes an outcome, and says at once what did not go well.
func (r *suiteRun) record(o results.Outcome) error {
	r.outcomes = append(r.outcomes, o)
	if (o.Verdict == results.Skipped || o.Verdict == results.Failed) && o.Took > 0 {
		fmt.Fprintf(r.program.stderr, "fibchurn: %s:%d: %s: %s\n", r.session.suite.name, o.Line, o.Verdict, o.Reason)
	}
	if r.ktap != nil {
		return r.ktap.Result(o)
	}
	return nil
}

// summary ends the stream, or prints the table of lines: beside JSON lines on stderr,
// since they are all that stdout may have.
func (r *suiteRun) summary(text results.TextOptions) error {
	if r.ktap != nil {
		return r.ktap.End()
	}
	to := r.program.stdout
	if r.format() != results.FormatText {
		if r.session.measure.quiet {
			return nil
		}
		to = r.program.stderr
		text = results.TextOptions{Color: colored(r.session.measure.color, to), Width: width(to)}
	} else {
		fmt.Fprintln(to)
	}
	return results.WriteOutcomes(to, "suite "+r.session.suite.name, r.outcomes, text)
}

// verdict is the error that stands for the suite's exit code.
func (r *suiteRun) verdict() error {
	lines, failed := len(r.outcomes), results.Tally(r.outcomes, results.Failed)
	switch {
	case r.stopped:
		return churn.ErrStopped
	case failed > 0:
		return fmt.Errorf("suite %s: %d of %d lines failed", r.session.suite.name, failed, lines)
	case results.Tally(r.outcomes, results.Skipped) == lines:
		return &ns.UnsupportedError{
			What: "suite " + r.session.suite.name,
			Why:  "none of its lines can be done here",
			Help: "what is said of each line",
		}
	}
	return nil
}

// A once passes on every line of text once: the lines of a suite would repeat them.
type once struct {
	mu     sync.Mutex // a signal is told of by another goroutine
	to     io.Writer
	before map[string]bool
}

func (o *once) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.before[string(p)] {
		return len(p), nil
	}
	o.before[string(p)] = true
	return o.to.Write(p)
}
