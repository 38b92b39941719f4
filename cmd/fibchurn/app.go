package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/machine"
	"fibchurn/internal/usage"
	"fibchurn/results"
)

// run is the whole program: it executes the command line args (args[0] is the
// program's name) and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, args: args}
	help := &strictWriter{to: stdout}
	p.help = help
	err := p.app().Run(args)
	if err == nil {
		err = help.err
	}
	return exitCode(err, stderr)
}

// A program is one execution of the command line.
type program struct {
	stdout, stderr io.Writer
	args           []string  // to execute again in a user namespace
	help           io.Writer // of the library, which drops its errors; nil: stdout

	collect func(*results.Run) error // takes the runs and renders them; nil: each command does
}

// A strictWriter keeps the first error of its writer.
type strictWriter struct {
	to  io.Writer
	err error
}

func (w *strictWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// version is set by the linker (-X main.version=...), where the build knows better
// than the Go tool.
var version string

func programVersion() string {
	if version != "" {
		return version
	}
	return machine.Version()
}

func (p *program) app() *cli.App {
	help := p.help
	if help == nil {
		help = p.stdout
	}
	app := &cli.App{
		Name:                   "fibchurn",
		Usage:                  "route-table scale and churn tester for Linux",
		Version:                programVersion(),
		Writer:                 help,
		ErrWriter:              p.stderr,
		ExitErrHandler:         func(*cli.Context, error) {}, // exitCode does it
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		Flags:                  measureFlags(),
		Commands:               []*cli.Command{p.deleteIface(), p.routes(), p.addrs(), p.flap(), p.resize(), p.lookup(), p.forward(), p.flood(), p.nexthops(), p.netns(), p.suite(), p.vm(), p.compare(), p.report(), p.doctor(), p.completion(), p.man()},
		Action:                 noCommand,
		Before:                 func(c *cli.Context) error { return noEmptyValue(c, c.App.Flags) },
	}
	for _, command := range app.Commands {
		keepSpaces(command.Flags)
		command.Before = func(c *cli.Context) error {
			if err := noEmptyValue(c, command.Flags); err != nil {
				return err
			}
			return noForeignFlags(c)
		}
	}
	usage.SetHelp(app, valueOf)
	return app
}

// noCommand is called where the first argument is no command.
func noCommand(c *cli.Context) error {
	if !c.Args().Present() {
		if given := c.LocalFlagNames(); len(given) > 0 {
			return usageErrorf("no command given; 'fibchurn help' lists all")
		}
		return cli.ShowAppHelp(c)
	}
	name := c.Args().First()
	if near := nearestCommand(c.App.Commands, name); near != "" {
		return usageErrorf("unknown command %q; did you mean %s? 'fibchurn help' lists all", name, near)
	}
	return usageErrorf("unknown command %q; 'fibchurn help' lists all", name)
}

// nearestCommand is the command that name may be a slip of the pen for, or the
// beginning of; "" where none is near.
func nearestCommand(commands []*cli.Command, name string) string {
	nearest, least := "", (len(name)+1)/3
	for _, command := range commands {
		if len(name) > 1 && strings.HasPrefix(command.Name, name) {
			return command.Name
		}
		if d := editDistance(command.Name, name); d <= least && d < len(name) && (nearest == "" || d < least) {
			nearest, least = command.Name, d
		}
	}
	return nearest
}

// editDistance is how many bytes must be inserted, deleted or replaced to make one
// text of the other (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// noEmptyValue refuses a flag that was given, but with nothing: mostly a shell's
// variable that was not set.
func noEmptyValue(c *cli.Context, flags []cli.Flag) error {
	given := c.LocalFlagNames()
	for _, f := range flags {
		name := f.Names()[0]
		if !slices.ContainsFunc(f.Names(), func(n string) bool { return slices.Contains(given, n) }) {
			continue
		}
		var values []string
		switch f := f.(type) {
		case *cli.StringFlag:
			values = []string{c.String(name)}
		case *cli.StringSliceFlag:
			values = c.StringSlice(name)
		case *cli.GenericFlag:
			if t, ok := f.Value.(*texts); ok {
				values = *t
			}
		}
		if slices.Contains(values, "") {
			return usageErrorf("--%s: the value is empty", name)
		}
	}
	return nil
}

// noArguments refuses positional arguments, which no measuring command takes.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return usageErrorf("%s: unexpected argument %q", c.Command.Name, c.Args().First())
	}
	return nil
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	text := strings.TrimPrefix(err.Error(), "flag provided but not defined: ")
	if text != err.Error() {
		return usageErrorf("unknown flag %s", text)
	}
	return usageErrorf("%s", fmt.Sprint(err))
}
