package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"fibchurn/internal/machine"
	"fibchurn/ns"
)

func (p *program) doctor() *cli.Command {
	return &cli.Command{
		Name:            "doctor",
		Usage:           "say what this kernel and user can do, and how to get what is missing",
		OnUsageError:    onUsageError,
		HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			return writeCapabilities(p.stdout, append(machine.Probe(ctx), linkKinds()...))
		},
	}
}

// linkKinds tries every link kind in a namespace of its own.
func linkKinds() []machine.Capability {
	var found []machine.Capability
	for _, kind := range ns.Kinds() {
		c := machine.Capability{
			Name:      "link kind " + kind,
			NeededFor: "--link-kind " + kind,
			HowTo:     "the kernel module " + kind + "; other kinds do as well",
		}
		if kind == ns.Kinds()[0] {
			c.NeededFor += ", the first choice of auto"
		}
		var unsupported *ns.UnsupportedError
		switch err := ns.TryKind(kind); {
		case err == nil:
			c.Status, c.Detail = machine.OK, "made one and brought it up"
		case errors.As(err, &unsupported):
			c.Status, c.Detail = machine.Missing, unsupported.Why
		default:
			c.Status, c.Detail = machine.Unknown, err.Error()
		}
		found = append(found, c)
	}
	return found
}

// writeCapabilities prints one line each: status, name, what it is needed for,
// what was found and, where it is missing, how to get it.
func writeCapabilities(w io.Writer, found []machine.Capability) error {
	names, needs := 0, 0
	for _, c := range found {
		names = max(names, text.StringWidth(c.Name))
		needs = max(needs, text.StringWidth(c.NeededFor))
	}
	for _, c := range found {
		line := fmt.Sprintf("%-8s %s  for %s  %s", c.Status, text.Pad(c.Name, names, ' '), text.Pad(c.NeededFor, needs, ' '), c.Detail)
		if c.Status != machine.OK {
			line += "; to get it: " + c.HowTo
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
