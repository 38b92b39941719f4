package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) resize() *cli.Command {
	patterns := churn.ResizePatterns()
	return measuring(p, &cli.Command{
		Name:  "resize",
		Usage: "time the rebalancing of the IPv4 trie, operation by operation",
		Description: "Takes one tnode up and down through the thresholds at which the kernel inflates and halves\n" +
			"it, one route a call, and beside it does the same where no tnode changes. A second, untimed\n" +
			"pass checks the sizes of tnodes against a model of the trie.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "pattern", Value: patterns[0], Usage: strings.Join(patterns, ", ")},
			&cli.GenericFlag{Name: "node-bits", Value: numberOf(12), Usage: "bits of the tnode below the threshold: 12 is about that from 12 to 13 bits"},
			&cli.GenericFlag{Name: "cycles", Value: numberOf(0), DefaultText: "10 of oscillate, 1000 of split and suffix", Usage: "times a run goes through the pattern"},
			&cli.BoolFlag{Name: "root", Usage: "make the tnode the root of a table of its own, which has other thresholds"},
			linkKindFlag(),
		}, measureFlags()...),
	}, resizeSpecs)
}

// resizeSpecs turns the flags into one valid spec a cell.
func resizeSpecs(c *cli.Context, m *measure) ([]*churn.ResizeSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	kind, err := linkKindOf(c)
	if err != nil {
		return nil, err
	}
	pattern, cycles := c.String("pattern"), countOf(c, "cycles")
	if !c.IsSet("cycles") {
		cycles = churn.ResizeCycles(pattern)
	}
	var specs []*churn.ResizeSpec
	for _, cell := range churn.ResizeCells() {
		s := &churn.ResizeSpec{
			Load: cell, Pattern: pattern, NodeBits: countOf(c, "node-bits"), Cycles: cycles,
			Root: c.Bool("root"), Families: m.families, LinkKind: kind, Seed: m.seed,
		}
		if err := s.Validate(); err != nil {
			return nil, usageErrorf("%v", err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}
