package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/ns"
	"fibchurn/results"
	"fibchurn/vm"
)

// bootAll boots the kernels in turn, renders what came of it also where one failed, and
// compares them.
func (p *program) bootAll(s *vmSession) (err error) {
	for _, k := range s.kernels {
		if err := checkMachine(s.machines[k.Label], k); err != nil {
			return err
		}
	}
	out, err := p.open(s.measure)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	console, err := s.openConsole()
	if err != nil {
		return err
	}
	defer console.Close()
	stop, abort, release := interrupts(p.stderr, s.measure.quiet)
	defer release()

	order := vm.Alternate(s.kernels, s.boots)
	tally := newBootTally(s.kernels, len(order))
	for i, next := 0, true; next && i < len(order); i++ {
		k, before := order[i], len(out.runs)
		err = p.bootOne(s, k, fmt.Sprintf("boot %d of %d: %s", i+1, len(order), k.Label), console, out, stop, abort)
		next, err = p.afterBoot(tally, k.Label, out.runs[before:], err)
	}
	if err == nil {
		err = tally.err()
	}
	if renderErr := out.render(err); err == nil {
		err = renderErr
	}
	if vanished(err, func() bool { return stop.Err() != nil }) {
		err = errors.Join(err, churn.ErrStopped)
	}
	var failed *bootsError
	if err != nil && (!errors.As(err, &failed) || errors.Is(err, churn.ErrStopped)) {
		return err
	}
	if len(s.kernels) < 2 || s.measure.format.Name != results.FormatText || len(out.runs) == 0 {
		return err
	}
	return p.compareBoots(s, tally, err)
}

// bootOne boots a kernel once.
func (p *program) bootOne(s *vmSession, k vm.Kernel, title string, console *os.File, out *output, stop, abort context.Context) error {
	if stop.Err() != nil {
		return churn.ErrStopped
	}
	if !s.measure.quiet && isTerminal(p.stderr) {
		fmt.Fprintln(p.stderr, "fibchurn:", title)
	}
	m := s.machines[k.Label]
	m.Stdout, m.Stderr = &harmlessWriter{p.stdout}, &said{to: p.stderr, label: k.Label, before: s.said}
	if console != nil {
		m.Console = console
		fmt.Fprintf(console, consoleTitle+"%s\n", title)
	}
	var pace runsPace
	ctx, cancel := pace.hurried(stop, abort)
	defer cancel()
	outcome, err := vm.Boot(ctx, k, m, s.guestArgs(), func(run *results.Run) error {
		pace.came(time.Now())
		if err := out.emit(run); err != nil {
			return err
		}
		if stop.Err() != nil {
			return churn.ErrStopped
		}
		return nil
	})
	return p.endOfBoot(k, outcome, err, stop, abort, s.measure.quiet)
}

// endOfBoot judges a boot by its error.
func (p *program) endOfBoot(k vm.Kernel, outcome vm.Outcome, err error, stop, abort context.Context, quiet bool) error {
	switch {
	case abort.Err() != nil:
		return churn.ErrStopped
	case err != nil && stop.Err() != nil:
		// A guest that is being stopped may end in any way.
		if !errors.Is(err, churn.ErrStopped) && !errors.Is(err, context.Canceled) && !quiet {
			fmt.Fprintf(p.stderr, "fibchurn: while it was being stopped: %s\n", harmless(err.Error()))
		}
		return churn.ErrStopped
	}
	return p.bootError(k, outcome, err)
}

// checkMachine finds before the first boot what can be found.
func checkMachine(m vm.Machine, k vm.Kernel) error {
	err := m.Check(k)
	var unsupported *vm.UnsupportedError
	if err == nil || errors.As(err, &unsupported) {
		return unsupportedError(err)
	}
	return usageErrorf("kernel %s: %v", k.Label, err)
}

// unsupportedError is err in the program's words for what a machine cannot do.
func unsupportedError(err error) error {
	var unsupported *vm.UnsupportedError
	if errors.As(err, &unsupported) {
		return &ns.UnsupportedError{What: unsupported.What, Why: unsupported.Why, Help: unsupported.Help}
	}
	return err
}

// bootError turns a boot's error into the program's, and shows the end of the
// console where that says more. A guest's is a *failedBoot, unless its command was a
// wrong one or cannot be done in this kernel, of which another boot would say the same.
func (p *program) bootError(k vm.Kernel, outcome vm.Outcome, err error) error {
	var failed *vm.GuestError
	if !errors.As(err, &failed) {
		return unsupportedError(err)
	}
	if failed.Fault == vm.Command { // it has said why
		if failed.Exit != exitUnsupported && failed.Exit != exitUsage {
			return &failedBoot{failed, outcome}
		}
		if failed.Exit == exitUnsupported && len(outcome.ModulesTried) > 0 {
			fmt.Fprintf(p.stderr, "fibchurn: no modules of kernel %s were found; --modules says where they are\n", k.Release)
		}
		fmt.Fprintln(p.stderr, "fibchurn:", harmless(failed.Error()))
		return childExit(failed.Exit)
	}
	if len(failed.Console) > 0 {
		fmt.Fprintf(p.stderr, "the last lines of the console of %s:\n", k.Label)
		for _, line := range failed.Console {
			fmt.Fprintln(p.stderr, " ", line)
		}
	}
	return &failedBoot{failed, outcome}
}

// A said passes on what guests say, with the kernel's label and once a kernel.
type said struct {
	to     io.Writer
	label  string
	before map[string]bool
}

func (s *said) Write(p []byte) (int, error) {
	line := harmless(s.label + ": " + strings.TrimRight(string(p), "\n"))
	if !s.before[line] {
		s.before[line] = true
		fmt.Fprintln(s.to, line)
	}
	return len(p), nil
}

// guestArgs is the whole command line of the guest: JSON lines are what it has to
// send.
func (s *vmSession) guestArgs() []string {
	args := []string{"fibchurn", "-j"}
	if s.measure.quiet {
		args = append(args, "-q")
	}
	return append(args, s.command...)
}

// guestCommand checks a command line that is to be executed in a guest as far as that
// is possible outside: everything but the measuring. It returns the files that the
// command reads.
func guestCommand(args []string) (files []string, err error) {
	if len(args) == 0 {
		return nil, usageErrorf("vm: no command to execute in the guest; give one after --")
	}
	chosen, files, err := checkCommand(args, mayBeInGuest)
	switch {
	case err != nil:
		return nil, usageErrorf("in the guest: %v", err)
	case chosen == "":
		return nil, usageErrorf("vm: %q is no command to execute in the guest", args)
	}
	return files, nil
}

// mayBeInGuest refuses what makes no sense there.
func mayBeInGuest(c *cli.Context) error {
	if slices.Contains([]string{"vm", "compare", "report"}, c.Command.Name) {
		return usageErrorf("%s cannot be executed in a guest", c.Command.Name)
	}
	for _, name := range []string{"output", "profile-out"} {
		if at(c, name).String(name) != "" {
			return usageErrorf("--%s: a guest keeps no files; give it before the --", name)
		}
	}
	if format := at(c, "format"); format.IsSet("format") && format.String("format") != results.FormatJSON {
		return usageErrorf("--format: a guest sends runs and renders none; give it before the --")
	}
	return nil
}

// measures reports whether a command takes the flags of those that measure.
func measures(command *cli.Command) bool {
	return slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "runs") })
}
