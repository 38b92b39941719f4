package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/machine"
)

// run is the whole program: it executes the command line args (args[0] is the
// program's name) and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, args: args}
	return exitCode(p.app().Run(args), stderr)
}

// A program is one execution of the command line.
type program struct {
	stdout, stderr io.Writer
	args           []string // to execute again in a user namespace
}

func (p *program) app() *cli.App {
	return &cli.App{
		Name:                   "fibchurn",
		Usage:                  "route-table scale and churn tester for Linux",
		Version:                machine.Version(),
		Writer:                 p.stdout,
		ErrWriter:              p.stderr,
		ExitErrHandler:         func(*cli.Context, error) {}, // exitCode does it
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		Flags:                  measureFlags(),
		Commands:               []*cli.Command{p.deleteIface(), p.routes(), p.addrs(), p.flap(), p.resize(), p.lookup(), p.nexthops(), p.netns(), p.suite(), p.vm(), p.compare(), p.doctor()},
		Action:                 noCommand,
	}
}

// noCommand is called where the first argument is no command.
func noCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowAppHelp(c)
	}
	name := c.Args().First()
	for _, command := range c.App.Commands {
		if command.Name != "help" && strings.HasPrefix(command.Name, name[:1]) {
			return usageErrorf("unknown command %q; did you mean %s? 'fibchurn help' lists all", name, command.Name)
		}
	}
	return usageErrorf("unknown command %q; 'fibchurn help' lists all", name)
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
