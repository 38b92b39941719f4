package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/results"
)

// measureFlags are the flags of every command that measures. They may stand
// before the command too.
func measureFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "4", Aliases: []string{"ipv4"}, Usage: "IPv4 (the default)"},
		&cli.BoolFlag{Name: "6", Aliases: []string{"ipv6"}, Usage: "IPv6; with -4, both"},
		&cli.GenericFlag{Name: "runs", Aliases: []string{"r"}, Value: numberOf(10), Usage: "measured runs of every cell"},
		&cli.GenericFlag{Name: "warmup", Value: numberOf(1), Usage: "rounds before them that are not counted"},
		seedFlag(),
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "append one JSON line a run to `FILE`"},
		&cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: "print the JSON lines: --format json"},
		formatFlag(),
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress and no notes on stderr"},
		&cli.StringFlag{Name: "color", Value: "auto", Usage: "auto, always or never; NO_COLOR is honoured"},
	}, slices.Concat(syncMemFlags(), profileFlags(), traceFlags())...)
}

// A measure holds the values of measureFlags.
type measure struct {
	families     []int
	runs, warmup int
	seed         uint64
	output       string
	profileOut   string
	format       results.Format
	quiet        bool
	color        string
	histogram    bool             // draw those of lookups
	syncMem      int              // bytes, 0: as it is
	observers    []churn.Observer // of every run
	profile      profileSpec
	trace        bool // count and time calls of the trie's functions
	rendered     bool // what was measured has been printed
}

func measureOf(c *cli.Context) (*measure, error) {
	m := &measure{
		runs:   countOf(at(c, "runs"), "runs"),
		warmup: countOf(at(c, "warmup"), "warmup"),
		seed:   wholeOf(at(c, "seed"), "seed"),
		output: at(c, "output").String("output"),
		quiet:  at(c, "quiet").Bool("quiet"),
		color:  at(c, "color").String("color"),
		trace:  at(c, "trace-resize").Bool("trace-resize"),
	}
	var err error
	if m.format, err = formatOf(c); err != nil {
		return nil, err
	}
	if m.syncMem, err = syncMemOf(c); err != nil {
		return nil, err
	}
	if m.profile, err = profileSpecOf(c); err != nil {
		return nil, err
	}
	if at(c, "4").Bool("4") {
		m.families = append(m.families, 4)
	}
	if at(c, "6").Bool("6") {
		m.families = append(m.families, 6)
	}
	if len(m.families) == 0 {
		m.families = []int{4}
	}
	const most = 1_000_000
	switch {
	case m.runs < 1 || m.runs > most:
		return nil, usageErrorf("--runs %d: must be 1 to %d", m.runs, most)
	case m.warmup > most:
		return nil, usageErrorf("--warmup %d: must be at most %d", m.warmup, most)
	case m.output == "-":
		return nil, usageErrorf("--output -: --json prints the lines on standard output; ./- is a file of that name")
	case !slices.Contains([]string{"auto", "always", "never"}, m.color):
		return nil, usageErrorf("--color %s: must be auto, always or never", m.color)
	}
	if m.profileOut, err = profileOutOf(c); err != nil {
		return nil, err
	}
	return m, nil
}

// at is the context, of the command or of the program before it, in which a
// flag was given.
func at(c *cli.Context, name string) *cli.Context {
	for _, ctx := range c.Lineage() {
		if ctx.Command != nil && slices.Contains(ctx.LocalFlagNames(), name) {
			return ctx
		}
	}
	return c
}
