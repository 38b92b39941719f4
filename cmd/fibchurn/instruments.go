package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/functrace"
	"fibchurn/internal/kallsyms"
	"fibchurn/internal/offcpu"
	"fibchurn/ns"
	"fibchurn/results"
)

func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "trace-resize", Usage: "in one more run of every cell and round, count and time the calls of the trie's functions (resize, tnode_new, ...), by kprobes"},
	}
}

// openInstruments opens what watches the second runs of a session: the profile and
// what the threads wait for in one, the trace in another. What cannot be had here is
// said once, and is a warning in the record of every run.
func (p *program) openInstruments(m *measure) (all []churn.Observer, doubts []results.Warning, release func(), err error) {
	all, doubts, err = p.instruments(m)
	if err != nil {
		return nil, nil, nil, err
	}
	var open []io.Closer
	release = func() {
		for _, o := range open {
			o.Close()
		}
	}
	blocked, more, err := p.openBlocked(m)
	if err != nil {
		return nil, nil, nil, err
	}
	doubts = append(doubts, more...)
	if blocked != nil {
		open = append(open, blocked)
		all = []churn.Observer{append(churn.Together(all), blocked)}
	}
	tracer, more, err := p.openTracer(m)
	if err != nil {
		release()
		return nil, nil, nil, err
	}
	doubts = append(doubts, more...)
	if tracer != nil {
		open = append(open, tracer)
		all = append(all, tracer)
	}
	return all, doubts, release, nil
}

// openBlocked opens the account of waits that belongs to --profile.
func (p *program) openBlocked(m *measure) (*offcpu.Observer, []results.Warning, error) {
	if !m.profile.wanted {
		return nil, nil, nil
	}
	names, err := kernelNames("an account of what the timed thread waited for")
	var o *offcpu.Observer
	if err == nil {
		o, err = offcpu.New(names)
	}
	doubts, err := p.unavailable("--profile", "blocked", "blocked time is not explained", err)
	return o, doubts, err
}

// openTracer opens what --trace-resize asks for.
func (p *program) openTracer(m *measure) (*functrace.Tracer, []results.Warning, error) {
	if !m.trace {
		return nil, nil, nil
	}
	names, err := kernelNames("a trace of the trie's functions")
	var tracer *functrace.Tracer
	if err == nil {
		tracer, err = functrace.Open(names)
	}
	if err != nil {
		doubts, err := p.unavailable("--trace-resize", "trace", "nothing was traced", err)
		return nil, doubts, err
	}
	if untraced := tracer.Untraced(); untraced != "" && !m.quiet {
		fmt.Fprintf(p.stderr, "fibchurn: --trace-resize: not traced: %s\n", untraced)
	}
	return tracer, nil, nil
}

// unavailable says on stderr what cannot be had here, and returns the warning of every
// record; any other error is returned.
func (p *program) unavailable(flag, kind, what string, err error) ([]results.Warning, error) {
	var unsupported *ns.UnsupportedError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &unsupported):
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	fmt.Fprintf(p.stderr, "fibchurn: %s: %s: %s; what would help: %s\n", flag, what, unsupported.Why, unsupported.Help)
	return []results.Warning{{Kind: kind, Text: what + ": " + unsupported.Why}}, nil
}

// kernelNames reads the names of the kernel's functions; what they are for is what
// cannot be had where the kernel shows none.
func kernelNames(what string) (*kallsyms.Table, error) {
	names, err := kallsyms.Read()
	if errors.Is(err, kallsyms.ErrHidden) {
		return nil, &ns.UnsupportedError{What: what, Why: err.Error(), Help: "run as root, with kernel.kptr_restrict below 2"}
	}
	return names, err
}
