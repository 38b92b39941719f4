package main

import (
	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) routes() *cli.Command {
	return &cli.Command{
		Name:  "routes",
		Usage: "time bulk additions, replacements, removals and the flush of routes",
		Description: "Fills a table, changes the next hop of every route, removes them one by one, fills the\n" +
			"table again and flushes it by taking the link down. Every run has a fresh network namespace.",
		Flags:                  append(tableFlags("100k"), measureFlags()...),
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		HideHelpCommand:        true,
		Action: func(c *cli.Context) error {
			m, err := measureOf(c)
			if err != nil {
				return err
			}
			specs, err := tableSpecsOf(c, m)
			if err != nil {
				return err
			}
			return p.measure(m, specs[0].LinkKind, func(kind string) []churn.Workload {
				cells := make([]churn.Workload, len(specs))
				for i, s := range specs {
					s.LinkKind = kind
					cells[i] = &churn.RoutesSpec{TableSpec: s}
				}
				return cells
			})
		},
	}
}
