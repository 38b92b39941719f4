package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/usage"
)

func (p *program) completion() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: strings.Join(usage.Shells(), "|"),
		Description: "Prints what makes a shell complete commands, flags and their values. See docs/install.md\n" +
			"for where it goes; 'make install' and the packages put it there.",
		OnUsageError:    onUsageError,
		HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			shells := strings.Join(usage.Shells(), ", ")
			switch shell := c.Args().First(); {
			case c.NArg() == 0:
				return usageErrorf("completion: no shell given; there are %s", shells)
			case c.NArg() > 1:
				return usageErrorf("completion: unexpected argument %q", c.Args().Get(1))
			case !slices.Contains(usage.Shells(), shell):
				return usageErrorf("completion %s: must be one of %s", shell, shells)
			default:
				return described(c.App).Completion(p.stdout, shell)
			}
		},
	}
}

// described is the whole command line.
func described(app *cli.App) usage.Program { return usage.Of(app, valueOf) }

func (p *program) man() *cli.Command {
	return &cli.Command{
		Name:            "man",
		Usage:           "print the manual page",
		Description:     "Prints fibchurn(1) as man(1) reads it: fibchurn man | man -l -",
		OnUsageError:    onUsageError,
		HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return writeManual(p.stdout, c.App)
		},
	}
}

// writeManual writes the manual page: manual.md around what the definitions of the
// flags say.
func writeManual(w io.Writer, app *cli.App) error {
	page, err := described(app).Manual(manualText)
	return errors.Join(err, writeAll(w, page))
}

func writeAll(w io.Writer, content []byte) error {
	_, err := w.Write(content)
	return err
}
