package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/machine"
	"fibchurn/ns"
)

// measure runs a session and renders what came of it. cells builds the
// workloads for the link kind that --link-kind came to.
func (p *program) measure(m *measure, kind string, cells func(kind string) []churn.Workload) (err error) {
	if _, check := p.stdout.(checkOnly); check {
		return nil
	}
	if err := checkOutput(m.output); err != nil {
		return usageErrorf("--output: %v", err)
	}
	release, err := holdSyncMem(m.syncMem, p.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if again, err := p.inUserNamespace(); again {
		return err
	}
	chosen, err := ns.ChooseKind(kind)
	if err != nil {
		return err
	}
	workloads := cells(chosen)
	for _, w := range workloads {
		if prober, ok := w.(churn.Prober); ok {
			if err := prober.Probe(); err != nil {
				return err
			}
		}
	}
	out, err := p.open(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if kind == ns.KindAuto && chosen != ns.Kinds()[0] && !m.quiet {
		fmt.Fprintf(p.stderr, "fibchurn: this kernel makes no %s interfaces; using %s\n", ns.Kinds()[0], chosen)
	}
	env := machine.Environment(programVersion())
	env.LinkKind, env.LinkAuto, env.Rootless = chosen, kind == ns.KindAuto, machine.Rootless()
	if env.Rootless && env.FibSyncMem < 0 {
		env.FibSyncMem = inheritedSyncMem(os.Getenv)
	}

	watching, err := p.openInstruments(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watching.close()) }()
	stop, abort, releaseSignals := interrupts(p.stderr, m.quiet)
	defer releaseSignals()
	bar := newProgress(p.stderr, m.quiet)
	session := churn.Session{
		Runner: &churn.Runner{Environment: env, Boot: machine.Boot(), Observers: append(m.observers, newLoadWatch(append(machine.Warnings(env), watching.doubts...)))},
		Cells:  workloads, Instruments: watching.all, Runs: m.runs, Warmup: m.warmup, Seed: m.seed,
		Emit: out.emit, Progress: bar.show,
	}
	err = session.Measure(stop, abort)
	bar.clear()
	if renderErr := out.render(err); err == nil {
		err = renderErr
	}
	if vanished(err, func() bool { return stop.Err() != nil }) {
		err = errors.Join(err, churn.ErrStopped)
	}
	return err
}

// colored decides about escape sequences on f.
func colored(mode string, f any) bool {
	switch {
	case mode == "always":
		return true
	case mode == "never" || os.Getenv("NO_COLOR") != "":
		return false
	}
	return isTerminal(f)
}

// A linked is a workload whose links are of the kind it points to, which may be
// auto until the kernel has been asked.
type linked interface {
	churn.Workload
	Links() *string
}

// measuring completes a command that measures: specs turns its flags into cells.
func measuring[W linked](p *program, command *cli.Command, specs func(*cli.Context, *measure) ([]W, error)) *cli.Command {
	command.OnUsageError = onUsageError
	command.UseShortOptionHandling = true
	command.HideHelpCommand = true
	command.Action = func(c *cli.Context) error {
		m, err := measureOf(c)
		if err != nil {
			return err
		}
		if err := p.keepApart(m.outputs(), inputs("--prefixes", c.String("prefixes"))); err != nil {
			return err
		}
		cells, err := specs(c, m)
		if err != nil {
			return err
		}
		return p.concluded(m, p.measure(m, *cells[0].Links(), func(kind string) []churn.Workload {
			workloads := make([]churn.Workload, len(cells))
			for i, cell := range cells {
				*cell.Links() = kind
				workloads[i] = cell
			}
			return workloads
		}))
	}
	return command
}
