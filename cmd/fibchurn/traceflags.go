package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/functrace"
	"fibchurn/internal/kallsyms"
	"fibchurn/ns"
	"fibchurn/results"
)

func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "trace-resize", Usage: "in one more run of every cell and round, count and time the calls of the trie's functions (resize, tnode_new, ...), by kprobes"},
	}
}

// openTracer opens what --trace-resize asks for. Where that cannot be had, stderr says
// why, and a warning for every record; the runs are made all the same.
func (p *program) openTracer(m *measure) (*functrace.Tracer, []results.Warning, error) {
	if !m.trace {
		return nil, nil, nil
	}
	tracer, err := newTracer()
	var unsupported *ns.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		fmt.Fprintf(p.stderr, "fibchurn: --trace-resize: %v\n", err)
		return nil, []results.Warning{{Kind: "trace", Text: "nothing was traced: " + unsupported.Why}}, nil
	case err != nil:
		return nil, nil, err
	}
	if untraced := tracer.Untraced(); untraced != "" && !m.quiet {
		fmt.Fprintf(p.stderr, "fibchurn: --trace-resize: not traced: %s\n", untraced)
	}
	return tracer, nil, nil
}

func newTracer() (*functrace.Tracer, error) {
	names, err := kallsyms.Read()
	if errors.Is(err, kallsyms.ErrHidden) {
		return nil, &ns.UnsupportedError{What: "a trace of the trie's functions", Why: err.Error(), Help: "run as root, or set kernel.kptr_restrict to 0"}
	}
	if err != nil {
		return nil, err
	}
	return functrace.Open(names)
}
