package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/machine"
)

func (p *program) nexthops() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "nexthops",
		Usage: "time routes with plain, multipath and object next hops",
		Description: "Adds routes, replaces the next hops under all of them, and takes the next hops away: with next\n" +
			"hops in every route, and with a nexthop object or group that all routes share. Every run has a\n" +
			"fresh network namespace.",
		Flags: slices.Concat(nexthopsTableFlags(), []cli.Flag{
			&cli.StringSliceFlag{Name: "paths", Value: cli.NewStringSlice("1", "4", "16"), Usage: "next hops of every route; several (1,4,16) are cells of their own"},
			&cli.BoolFlag{Name: "no-compat", Usage: "set the sysctl net.ipv4.nexthop_compat_mode to 0: routes through objects are not announced anew"},
		}, measureFlags()),
	}, nexthopsSpecs)
}

// nexthopsTableFlags are tableFlags whose count is also called --routes.
func nexthopsTableFlags() []cli.Flag {
	flags := tableFlags("100k")
	for _, f := range flags {
		if count, ok := f.(*cli.StringSliceFlag); ok && count.Name == "count" {
			count.Aliases = append(count.Aliases, "routes")
			count.Usage = "routes of each family"
		}
	}
	return flags
}

// nexthopsSpecs turns the flags into one valid spec a cell: for each number of
// paths the next hops in the routes, and those in objects.
func nexthopsSpecs(c *cli.Context, m *measure) ([]*churn.NexthopsSpec, error) {
	tables, err := tableSpecsOf(c, m)
	var usage *usageError
	if errors.As(err, &usage) {
		usage.text = strings.ReplaceAll(usage.text, "--count", "--routes")
	}
	if err != nil {
		return nil, err
	}
	if len(tables) > 1 {
		return nil, usageErrorf("--routes: one count is enough; --paths takes several")
	}
	paths, err := countList(c, "paths")
	if err != nil {
		return nil, err
	}
	var specs []*churn.NexthopsSpec
	for _, n := range paths {
		own := churn.MultipathHops
		if n == 1 {
			own = churn.PlainHops
		}
		for _, hops := range []string{own, churn.ObjectHops} {
			s := &churn.NexthopsSpec{TableSpec: tables[0], Hops: hops, Paths: n, NoCompat: c.Bool("no-compat")}
			if err := s.Validate(); err != nil {
				return nil, usageErrorf("%v", err)
			}
			if err := enoughFor(s.Memory, fmt.Sprintf("--routes %d with %d paths", s.Count, n), c.Bool("force")); err != nil {
				return nil, err
			}
			specs = append(specs, s)
		}
	}
	return specs, nil
}

// enoughFor refuses a load that would bring the machine down.
func enoughFor(memory func(cpus int) (int64, error), what string, force bool) error {
	need, err := memory(machine.PossibleCPUs())
	if err != nil || force {
		return err
	}
	available, err := machine.MemAvailable()
	if err != nil {
		return fmt.Errorf("find out how much memory there is: %w", err)
	}
	if need > available {
		return memoryErrorf("%s: that takes some %d MiB of kernel memory, and %d MiB are available; --force goes on all the same", what, need>>20, available>>20)
	}
	return nil
}
