package main

import (
	"io"

	"github.com/urfave/cli/v2"
)

// checkOnly is the standard output of a program that checks its command line and ends
// before it measures.
type checkOnly struct {
	files *[]string // where the files that the command line reads are noted
}

func (checkOnly) Write(p []byte) (int, error) { return len(p), nil }

// checkCommand checks a command line as far as that is possible without measuring:
// all of its flags and the files it reads. may is asked whether the command is
// allowed at all. chosen is the command's name, empty where there is none.
func checkCommand(args []string, may func(*cli.Context) error) (chosen string, files []string, err error) {
	inner := &program{stdout: checkOnly{&files}, stderr: io.Discard, args: append([]string{"fibchurn"}, args...)}
	app := inner.app()
	app.Action = func(c *cli.Context) error {
		if !c.Args().Present() {
			return nil // chosen says so
		}
		return noCommand(c)
	}
	for _, command := range app.Commands {
		before := command.Before
		command.Before = func(c *cli.Context) error {
			chosen = command.Name
			if file := c.String("prefixes"); file != "" {
				files = append(files, file)
			}
			if err := may(c); err != nil {
				return err
			}
			return before(c)
		}
		if !measures(command) && command.Name != suiteCommand {
			command.Action = noArguments
		}
	}
	err = app.Run(inner.args)
	return chosen, files, err
}
