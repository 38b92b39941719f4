package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) flap() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "flap",
		Usage: "withdraw and announce routes at a rate, as routing daemons do",
		Description: "Fills a table, and then withdraws its routes and announces them again for a time: so many\n" +
			"operations a second, or as many as go. An operation that starts late is charged from when\n" +
			"it was due. The first Ctrl-C ends it early, with the table complete.",
		Flags: slices.Concat(tableFlags("100k"), []cli.Flag{
			&cli.StringFlag{Name: "rate", Value: "10k", Usage: "withdrawals and announcements a second, or max"},
			&cli.DurationFlag{Name: "duration", Value: 10 * time.Second, Usage: "how long, such as 60s or 5m"},
			&cli.GenericFlag{Name: "flap-batch", Value: numberOf(1), Usage: "routes withdrawn in one call and announced in the next"},
		}, listenerFlags(), onceByDefault(measureFlags())),
	}, flapSpecs)
}

// onceByDefault makes one run without warm-up the default: a run takes the time it
// is told to and has many operations.
func onceByDefault(flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		if g, ok := f.(*cli.GenericFlag); ok && g.Name == "runs" {
			g.Value = numberOf(1)
		} else if ok && g.Name == "warmup" {
			g.Value = numberOf(0)
		}
	}
	return flags
}

// flapSpecs turns the flags into one valid spec for each count.
func flapSpecs(c *cli.Context, m *measure) ([]*churn.FlapSpec, error) {
	rate := 0
	if text := c.String("rate"); text != "max" {
		var err error
		if rate, err = parseCount(text); err != nil {
			return nil, usageErrorf("--rate: %v", err)
		}
		if rate == 0 {
			return nil, usageErrorf("--rate 0: must be at least 1, or max")
		}
	}
	tables, err := tableSpecsOf(c, m)
	if err != nil {
		return nil, err
	}
	listeners := listenersOf(c, m)
	var specs []*churn.FlapSpec
	for _, t := range tables {
		s := &churn.FlapSpec{
			TableSpec: t, ListenerSpec: listeners,
			Rate: rate, Duration: c.Duration("duration"), FlapBatch: countOf(c, "flap-batch"),
		}
		if err := s.Validate(); err != nil {
			return nil, usageErrorf("%v", err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}
