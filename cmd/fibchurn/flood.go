package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) flood() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "flood",
		Usage: "flood a listening socket with SYNs that are answered with SYN cookies",
		Description: "Injects SYNs from many sources and counts the SYN cookies that the namespace makes. A cookie\n" +
			"takes a route lookup for the SYN and one for the answer, which passes the rules. Every SYN must\n" +
			"have made a cookie, or been dropped for a reason that the kernel counted.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "rules", Value: cli.NewStringSlice("0"), Usage: "rules before the first that matches; several (0,1,100) are compared"},
			&cli.GenericFlag{Name: "flows", Value: numberOf(1 << 16), Usage: "different sources"},
			linkKindFlag(),
		}, injectFlags(10*time.Second), measureFlags()),
	}, floodSpecs)
}

// floodSpecs turns the flags into one valid spec for each family and number of rules.
func floodSpecs(c *cli.Context, m *measure) ([]*churn.FloodSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	kind, err := linkKindOf(c)
	if err != nil {
		return nil, err
	}
	rules, err := countList(c, "rules")
	if err != nil {
		return nil, err
	}
	duration, sent, err := amountOf(c)
	if err != nil {
		return nil, err
	}
	var specs []*churn.FloodSpec
	for _, family := range m.families {
		for _, n := range rules {
			s := &churn.FloodSpec{
				Families: []int{family}, Rules: n, FlowCount: countOf(c, "flows"), Burst: countOf(c, "burst"),
				Duration: duration, Packets: sent, LinkKind: kind, Name: floodName(family, n, m.families, rules),
			}
			if err := s.Validate(); err != nil {
				return nil, usageErrorf("%v", err)
			}
			specs = append(specs, s)
		}
	}
	return specs, nil
}

// floodName tells a cell from the others, by what they differ in.
func floodName(family, rules int, families, allRules []int) string {
	var parts []string
	if len(families) > 1 {
		parts = append(parts, fmt.Sprintf("IPv%d", family))
	}
	if len(allRules) > 1 {
		parts = append(parts, counted(rules, "rule"))
	}
	if parts == nil {
		return "cookies"
	}
	return "cookies (" + strings.Join(parts, ", ") + ")"
}
