package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) netns() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "netns",
		Usage: "time the dismantling of network namespaces",
		Description: "Makes network namespaces, fills each with addresses or routes, and lets all go at once; beside\n" +
			"them, namespaces with an empty interface as the calibration. The end is observed, not waited for.",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "namespaces", Aliases: []string{"n"}, Value: cli.NewStringSlice("16"), Usage: "namespaces that are let go at once; several (1,10,100) are cells of their own"},
			&cli.GenericFlag{Name: "subnets", Value: numberOf(1000), Usage: "local subnets of every namespace, of each family"},
			&cli.GenericFlag{Name: "routes", Value: numberOf(1000), Usage: "routes of every namespace, of each family"},
			&cli.StringSliceFlag{Name: "as", Usage: "what a namespace has: " + strings.Join(churn.NetnsLoads(), ", ") + " (repeatable; default: addrs, routes, empty)"},
			&cli.GenericFlag{Name: "loops", Value: numberOf(0), Usage: "in place of all that: so many threads make --namespaces bare ones each, one after the other"},
			&cli.BoolFlag{Name: "force", Usage: "go on where the namespaces may take more memory than there is"},
			linkKindFlag(),
		}, measureFlags()...),
	}, netnsSpecs)
}

// netnsSpecs turns the flags into one valid spec for each load and number of
// namespaces.
func netnsSpecs(c *cli.Context, m *measure) ([]*churn.NetnsSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	kind, err := linkKindOf(c)
	if err != nil {
		return nil, err
	}
	loads, err := netnsLoadsOf(c)
	if err != nil {
		return nil, err
	}
	counts, err := countList(c, "namespaces")
	if err != nil {
		return nil, err
	}
	base := churn.NetnsSpec{Loops: countOf(c, "loops"), Families: m.families, LinkKind: kind, Seed: m.seed, Sweep: len(counts) > 1}
	if slices.Contains(loads, "routes") || slices.Contains(loads, "both") {
		base.Routes = countOf(c, "routes")
	}
	if slices.Contains(loads, "addrs") || slices.Contains(loads, "both") {
		base.Subnets = countOf(c, "subnets")
	}
	var specs []*churn.NetnsSpec
	for _, n := range counts {
		for _, load := range loads {
			s := base
			s.Load, s.Namespaces = load, n
			if err := s.Validate(); err != nil {
				return nil, usageErrorf("%v", err)
			}
			memory := func(int) (int64, error) { return s.Memory(), nil }
			if err := enoughFor(memory, fmt.Sprintf("--namespaces %d", n), c.Bool("force")); err != nil {
				return nil, err
			}
			specs = append(specs, &s)
		}
	}
	return specs, nil
}

// netnsLoadsOf reads --as. Without it the cells are those for which there is
// something to add, and the calibration.
func netnsLoadsOf(c *cli.Context) ([]string, error) {
	loads := c.StringSlice("as")
	if countOf(c, "loops") > 0 {
		if c.IsSet("as") || c.IsSet("routes") || c.IsSet("subnets") {
			return nil, usageErrorf("--loops makes bare namespaces; leave --as, --routes and --subnets out")
		}
		return []string{"bare"}, nil
	}
	if len(loads) == 0 {
		if countOf(c, "subnets") > 0 {
			loads = append(loads, "addrs")
		}
		if countOf(c, "routes") > 0 {
			loads = append(loads, "routes")
		}
		loads = append(loads, "empty")
	}
	for i, load := range loads {
		if slices.Contains(loads[:i], load) {
			return nil, usageErrorf("--as %s: given twice", load)
		}
	}
	for flag, load := range map[string]string{"routes": "routes", "subnets": "addrs"} {
		if c.IsSet("as") && c.IsSet(flag) && !slices.Contains(loads, load) && !slices.Contains(loads, "both") {
			return nil, usageErrorf("--%s %v: --as %s has none", flag, countOf(c, flag), strings.Join(loads, ","))
		}
	}
	return loads, nil
}
