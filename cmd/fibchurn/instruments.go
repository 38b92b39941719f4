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
// what the threads wait for in one, the trace in another.
func (p *program) openInstruments(m *measure) (i *instruments, err error) {
	if i, err = p.instruments(m); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.close())
		}
	}()
	blocked, doubts, err := p.openBlocked(m, len(i.all) > 0)
	if err != nil {
		return nil, err
	}
	i.doubts = append(i.doubts, doubts...)
	if blocked != nil {
		i.all = []churn.Observer{append(churn.Together(i.all), blocked)}
		i.closing(blocked)
	}
	tracer, doubts, err := p.openTracer(m)
	if err != nil {
		return nil, err
	}
	i.doubts = append(i.doubts, doubts...)
	if tracer != nil {
		i.all = append(i.all, tracer)
		i.closing(tracer)
	}
	return i, nil
}

// closing has c closed before the others.
func (i *instruments) closing(c io.Closer) {
	others := i.close
	i.close = func() error { return errors.Join(c.Close(), others()) }
}

// openBlocked opens the account of waits that belongs to --profile. Where there is no
// profile either, that has been said.
func (p *program) openBlocked(m *measure, profiled bool) (*offcpu.Observer, []results.Warning, error) {
	if !m.profile.wanted {
		return nil, nil, nil
	}
	names, err := kernelNames("an account of what the timed thread waited for")
	var o *offcpu.Observer
	if err == nil {
		o, err = offcpu.New(names)
	}
	const what = "blocked time is not explained"
	var unsupported *ns.UnsupportedError
	if errors.As(err, &unsupported) && !profiled {
		return nil, []results.Warning{{Kind: "blocked", Text: what + ": " + unsupported.Why}}, nil
	}
	doubts, err := p.unavailable("--profile", "blocked", what, err)
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
