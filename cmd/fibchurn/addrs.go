package main

import (
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) addrs() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "addrs",
		Usage: "time the addition and removal of addresses, one by one",
		Description: "Gives an interface that is up N addresses and takes them away again, and keeps the time of\n" +
			"every single operation. Every run has a fresh network namespace.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "count", Aliases: []string{"n"}, Value: cli.NewStringSlice("8192"), Usage: "addresses of each family; several (1k,2k,4k) show how the cost grows"},
			&cli.BoolFlag{Name: "secondaries", Usage: "all addresses in one subnet, not each in its own"},
			&cli.BoolFlag{Name: "promote", Usage: "the next secondary takes the place of a primary that is removed (promote_secondaries)"},
			&cli.StringFlag{Name: "order", Value: "added", Usage: "order of removals: " + strings.Join(churn.Orders(), ", ")},
			&cli.GenericFlag{Name: "batch", Value: numberOf(1), Usage: "requests of one call; operations are timed one by one with 1 only"},
			wholeFlag("prefix-len", 0, math.MaxUint8, "prefix length of the addresses (default: 24 and 64, or what one subnet for all needs)"),
			linkKindFlag(),
		}, listenerFlags(), measureFlags()),
	}, addrsSpecs)
}

// addrsSpecs turns the flags into one valid spec for each count.
func addrsSpecs(c *cli.Context, m *measure) ([]*churn.AddrsSpec, error) {
	kind, bits, err := localSubnetsOf(c)
	if err != nil {
		return nil, err
	}
	counts, err := countList(c, "count")
	if err != nil {
		return nil, err
	}
	listeners := listenersOf(c, m)
	var specs []*churn.AddrsSpec
	for _, n := range counts {
		s := &churn.AddrsSpec{
			ListenerSpec: listeners,
			Count:        n,
			Families:     m.families,
			PrefixLen:    bits,
			Secondaries:  c.Bool("secondaries"),
			Promote:      c.Bool("promote"),
			Order:        c.String("order"),
			LinkKind:     kind,
			Batch:        countOf(c, "batch"),
			Seed:         m.seed,
		}
		if err := s.Validate(); err != nil {
			return nil, usageErrorf("%v", err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}
