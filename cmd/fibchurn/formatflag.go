package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

// formatFlag is the flag of every command that renders runs.
func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: results.FormatText, Usage: "print `FORMAT`: " + strings.Join(results.FormatNames(), ", ")}
}

// formatOf returns the format that --format, or --json for short, asks for.
func formatOf(c *cli.Context) (results.Format, error) {
	name := at(c, "format").String("format")
	if name == "" {
		name = results.FormatText // a command without the flag
	}
	if at(c, "json").Bool("json") {
		if at(c, "format").IsSet("format") && name != results.FormatJSON {
			return results.Format{}, usageErrorf("--json and --format %s: one or the other", name)
		}
		name = results.FormatJSON
	}
	format, ok := results.FormatNamed(name)
	if !ok {
		return format, usageErrorf("--format %s: must be one of %s", name, strings.Join(results.FormatNames(), ", "))
	}
	return format, nil
}
