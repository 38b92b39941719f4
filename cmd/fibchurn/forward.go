package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/internal/packets"
	"fibchurn/internal/prefixes"
	"fibchurn/lookup"
	"fibchurn/results"
)

func (p *program) forward() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "forward",
		Usage: "forward packets through a table: by the stack, by XDP with a lookup, and without one",
		Description: "Fills a table, injects packets into an interface and counts those that come out of another.\n" +
			"What a lookup costs is the difference to packets that are redirected without one. Every packet\n" +
			"must have been forwarded, or dropped for a reason that the kernel counted.",
		Flags: slices.Concat(forwardTableFlags(), []cli.Flag{
			&cli.StringSliceFlag{Name: "path", Usage: "way of the packets: " + strings.Join(results.Paths(), ", ") + " (repeatable; default: all)"},
			&cli.GenericFlag{Name: "flows", Value: numberOf(1 << 16), Usage: "different destinations, spread over the table; without the flag fewer where the table has fewer"},
			&cli.StringFlag{Name: "under", Value: "none", Usage: "what goes on beside: " + strings.Join(churn.Unders(), ", ")},
			&cli.StringFlag{Name: "churn-rate", Value: "max", Usage: "routes or subnets a second that come, go or change, or max"},
			&cli.GenericFlag{Name: "churn-size", Value: numberOf(1024), Usage: "routes of --under add-delete, local subnets of --under delete-iface"},
		}, injectFlags(time.Second), measureFlags()),
	}, forwardSpecs)
}

// forwardTableFlags are those of lookup that say what the table is.
func forwardTableFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "routes", Aliases: []string{"count", "n"}, Value: cli.NewStringSlice("100k"), Usage: "routes in the table; several (1k,100k) are compared"},
		&cli.StringFlag{Name: "layout", Value: string(prefixes.Dense), Usage: layoutNames()},
		&cli.StringFlag{Name: "prefixes", Usage: "take the prefixes from `FILE`: a list, what ip route prints or saves, or an MRT RIB dump"},
		&cli.GenericFlag{Name: "rules", Value: numberOf(0), Usage: "rules before the first that matches"},
		&cli.BoolFlag{Name: "unmerge", Usage: "give the tables local and main tries of their own first, as the first rule does"},
		&cli.BoolFlag{Name: "force", Usage: "go on where the table may take more memory than there is"},
	}
}

// injectFlags are those of every command that injects packets.
func injectFlags(duration time.Duration) []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "duration", Value: duration, Usage: "how long packets are injected"},
		&cli.GenericFlag{Name: "packets", Value: numberOf(0), DefaultText: "as many as go", Usage: "inject so many instead, however long it takes"},
		&cli.GenericFlag{Name: "burst", Value: numberOf(packets.DefaultBurst), Usage: "packets that are taken in together, as in one poll of a network driver"},
	}
}

// forwardSpecs turns the flags into one valid spec for each table and path.
func forwardSpecs(c *cli.Context, m *measure) ([]*churn.ForwardSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	paths, err := pathsOf(c)
	if err != nil {
		return nil, err
	}
	if err := noChurnFlags(c); err != nil {
		return nil, err
	}
	rate, err := rateOf(c, "churn-rate")
	if err != nil {
		return nil, err
	}
	duration, sent, err := amountOf(c)
	if err != nil {
		return nil, err
	}
	base := &churn.LookupSpec{TableSpec: churn.TableSpec{
		Families: m.families, Table: unix.RT_TABLE_MAIN, Tables: 1, LinkKind: churn.ForwardLinkKind,
		Rules: countOf(c, "rules"), Unmerge: c.Bool("unmerge"),
		Order: "random", Batch: churn.DefaultBatch, Ack: "last", Seed: m.seed,
	}}
	tables, err := lookupTables(c, base)
	if err != nil {
		return nil, err
	}
	var specs []*churn.ForwardSpec
	for _, key := range tableOrder(tables) {
		var flows []netip.Addr
		for _, path := range paths {
			s := &churn.ForwardSpec{
				TableSpec: tables[key], Path: path, FlowCount: countOf(c, "flows"), Burst: countOf(c, "burst"),
				Under: c.String("under"), ChurnRate: rate, ChurnSize: countOf(c, "churn-size"), Duration: duration, Packets: sent,
				Name: forwardName(path, key, tables),
			}
			if err := s.Validate(); err != nil {
				return nil, usageErrorf("%s", asRoutes(err))
			}
			if flows == nil {
				if flows, err = drawFlows(s, c.IsSet("flows")); err != nil {
					return nil, err
				}
			}
			s.Flows, s.FlowCount = flows, len(flows)
			specs = append(specs, s)
		}
	}
	return specs, nil
}

// pathsOf is the values of --path, in the order of the table.
func pathsOf(c *cli.Context) ([]string, error) {
	asked := c.StringSlice("path")
	for i, path := range asked {
		if !slices.Contains(results.Paths(), path) {
			return nil, usageErrorf("--path %s: must be %s", path, strings.Join(results.Paths(), ", "))
		}
		if slices.Contains(asked[:i], path) {
			return nil, usageErrorf("--path %s: given twice", path)
		}
	}
	if len(asked) == 0 {
		return results.Paths(), nil
	}
	return slices.DeleteFunc(results.Paths(), func(path string) bool { return !slices.Contains(asked, path) }), nil
}

// amountOf is how long to inject, or how many packets.
func amountOf(c *cli.Context) (time.Duration, int64, error) {
	if !c.IsSet("packets") {
		return c.Duration("duration"), 0, nil
	}
	sent := countOf(c, "packets")
	switch {
	case c.IsSet("duration"):
		return 0, 0, usageErrorf("--duration and --packets exclude each other")
	case sent == 0:
		return 0, 0, usageErrorf("--packets 0: must be at least 1")
	}
	return 0, int64(sent), nil
}

// tableOrder is the tables by family and then by size.
func tableOrder(tables map[[2]int]churn.TableSpec) [][2]int {
	var keys [][2]int
	for key := range tables {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return keys
}

// forwardName tells a cell from the others: the path, and what else differs.
func forwardName(path string, key [2]int, tables map[[2]int]churn.TableSpec) string {
	var parts []string
	for i, text := range []string{fmt.Sprintf("IPv%d", key[0]), counted(key[1], "route")} {
		for other := range tables {
			if other[i] != key[i] {
				parts = append(parts, text)
				break
			}
		}
	}
	if parts == nil {
		return path
	}
	return path + " (" + strings.Join(parts, ", ") + ")"
}

// drawFlows draws different destinations from the prefixes of a cell's table: as many
// as were asked for, or up to the default as many as there are.
func drawFlows(s *churn.ForwardSpec, asked bool) ([]netip.Addr, error) {
	covered, err := s.Covered()
	if err != nil {
		return nil, usageErrorf("%v", err)
	}
	const tries = 8
	family := s.Families[0]
	seen := map[netip.Addr]bool{}
	flows := make([]netip.Addr, 0, s.FlowCount)
	for try := range uint64(tries) {
		spec := lookup.DefaultSpec()
		spec.Family, spec.Seed, spec.KeyCount = family, s.Seed+try, min(2*s.FlowCount, lookup.MaxKeys)
		keys, err := lookup.NewKeys(&spec, s.Sets[family], nil)
		if err != nil {
			return nil, usageErrorf("--flows: %v", strings.TrimPrefix(err.Error(), "--keys hit: "))
		}
		for i := range keys.Len() {
			a := keys.At(i)
			if seen[a] || covered(a) {
				continue
			}
			seen[a] = true
			if flows = append(flows, a); len(flows) == s.FlowCount {
				return flows, nil
			}
		}
	}
	switch {
	case len(flows) == 0:
		return nil, usageErrorf("--flows %d: no address to send to was found in the table's %s", s.FlowCount, counted(s.Count, "route"))
	case asked:
		return nil, usageErrorf("--flows %d: only %d different addresses were found in the table's %s; --flows %d would do, or more --routes",
			s.FlowCount, len(flows), counted(s.Count, "route"), len(flows))
	}
	return flows, nil
}
