package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) routes() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "routes",
		Usage: "time bulk additions, replacements, removals and the flush of routes",
		Description: "Fills a table, changes the next hop of every route, removes them one by one, fills the\n" +
			"table again and flushes it by taking the link down. Every run has a fresh network namespace.",
		Flags: slices.Concat(tableFlags("100k"), []cli.Flag{
			&cli.StringSliceFlag{Name: "parallel", Value: cli.NewStringSlice("1"), Usage: "writers that share the routes; several (1,2,4) show how they scale"},
			&cli.StringFlag{Name: "parallel-in", Value: "table", Usage: "what each writes to: " + strings.Join(churn.WriteTargets(), ", ")},
		}, listenerFlags(), measureFlags()),
	}, routesSpecs)
}

// routesSpecs turns the flags into one valid spec for each count and number of
// writers.
func routesSpecs(c *cli.Context, m *measure) ([]*churn.RoutesSpec, error) {
	tables, err := tableSpecsOf(c, m)
	if err != nil {
		return nil, err
	}
	writers, err := countList(c, "parallel")
	if err != nil {
		return nil, err
	}
	if slices.Max(writers) == 1 && !c.IsSet("parallel") {
		if err := noEffect(c, "without --parallel", "parallel-in"); err != nil {
			return nil, err
		}
	}
	listeners := listenersOf(c, m)
	var specs []*churn.RoutesSpec
	for _, t := range tables {
		for _, w := range writers {
			s := &churn.RoutesSpec{TableSpec: t, ListenerSpec: listeners, Parallel: w, ParallelIn: c.String("parallel-in")}
			if err := s.Validate(); err != nil {
				return nil, usageErrorf("%v", err)
			}
			specs = append(specs, s)
		}
	}
	return specs, nil
}
