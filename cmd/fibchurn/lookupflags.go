package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/internal/prefixes"
	"fibchurn/lookup"
)

// The parameters that --vary takes.
const (
	varyUnmerge = "unmerge"
	varyDirect  = "direct"
)

func lookupFlags() []cli.Flag {
	return slices.Concat(lookupTableFlags(), lookupProbeFlags(), []cli.Flag{
		&cli.StringFlag{Name: "under", Value: "none", Usage: "what goes on beside the lookups: " + strings.Join(churn.Unders(), ", ")},
		&cli.StringFlag{Name: "rate", Value: "max", Usage: "lookups a second, open loop, or max: each when the one before is answered; --churn-rate is the same unless it is given"},
		&cli.StringFlag{Name: "churn-rate", Usage: "routes or subnets a second that come, go or change, or max", DefaultText: "that of --rate"},
		&cli.GenericFlag{Name: "churn-size", Value: numberOf(1024), Usage: "routes of --under add-delete, local subnets of --under delete-iface"},
		&cli.DurationFlag{Name: "duration", Value: time.Second, Usage: "of each stretch: of the only one, or before, during and after"},
		&cli.StringSliceFlag{Name: "readers", Value: cli.NewStringSlice("1"), Usage: "threads that look up at once, each on a CPU of its own; several numbers (1,2,4) show how it scales"},
		&cli.BoolFlag{Name: "histogram", Usage: "draw the histogram of each probe and stretch"},
		&cli.StringSliceFlag{Name: "vary", Usage: "measure without and with " + varyUnmerge + " or " + varyDirect + " (repeatable)"},
	})
}

func lookupTableFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "routes", Aliases: []string{"count", "n"}, Value: cli.NewStringSlice("100k"), Usage: "routes in the table; several (0,1k,100k) are compared"},
		&cli.StringFlag{Name: "layout", Value: string(prefixes.Dense), Usage: layoutNames()},
		&cli.StringFlag{Name: "prefixes", Usage: "take the prefixes from `FILE`: a list, what ip route prints or saves, or an MRT RIB dump"},
		&cli.StringSliceFlag{Name: "rules", Value: cli.NewStringSlice("0"), Usage: "rules before the first that matches; several (0,1,100) are compared"},
		&cli.BoolFlag{Name: "unmerge", Usage: "give the tables local and main tries of their own first, as the first rule does"},
		&cli.GenericFlag{Name: "table", Value: numberOf(unix.RT_TABLE_MAIN), Usage: "number of the table, with --direct"},
		&cli.BoolFlag{Name: "force", Usage: "go on where the table may take more memory than there is"},
		linkKindFlag(),
	}
}

func lookupProbeFlags() []cli.Flag {
	d := lookup.DefaultSpec()
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "probe", Usage: "what looks up: " + strings.Join(lookup.Probes(), ", ") + " (repeatable; default: netlink, and bpf where it is allowed)"},
		&cli.BoolFlag{Name: "fibmatch", Usage: "have netlink answer with the route that matched, not with the one made of it"},
		&cli.BoolFlag{Name: "direct", Usage: "have bpf ask the table itself, without the rules"},
		&cli.GenericFlag{Name: "kernel-batch", Value: numberOf(d.KernelBatch), Usage: "lookups that bpf times together, besides single ones: a power of two; 1 for none"},
		&cli.StringFlag{Name: "direction", Value: d.Direction, Usage: "output: as of a packet of this machine's own, or input: as of one that comes in"},
		rpFilterFlag(),
		&cli.StringFlag{Name: "iif", DefaultText: "fc1", Usage: "interface that input comes in by: fc0, which the routes go out of, or fc1"},
		&cli.StringFlag{Name: "src", Usage: "source address", DefaultText: "none; of input 198.19.255.1 or 2001:2:0:ffff::1"},
		&cli.StringFlag{Name: "dst", Usage: "look up this address, or addresses of this prefix, instead of --keys"},
		&cli.GenericFlag{Name: "mark", Value: &whole{most: math.MaxUint32, hex: true}, Usage: "firewall mark, in decimal or as 0xff"},
		&cli.GenericFlag{Name: "tos", Value: &whole{most: math.MaxUint8, hex: true}, Usage: "type of service, 0 to 255 or 0xff"},
		&cli.StringFlag{Name: "keys", Value: d.Keys, Usage: "addresses that are looked up: " + strings.Join(lookup.KeyKinds(), ", ")},
		&cli.StringFlag{Name: "order", Value: d.Order, Usage: strings.Join(lookup.KeyOrders(), ", ") + ": which key is next depends on the last answer"},
		&cli.GenericFlag{Name: "key-count", Value: numberOf(d.KeyCount), Usage: "different addresses"},
	}
}

func rpFilterFlag() cli.Flag {
	f := wholeFlag("rp-filter", 0, 2, "reverse path filter of input lookups: 0, 1 or 2")
	f.DefaultText = "the kernel's default"
	return f
}

// lookupSpecs turns the flags into one valid spec for each combination of what was
// given several of.
func lookupSpecs(c *cli.Context, m *measure) ([]*churn.LookupSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	base, err := lookupBase(c, m)
	if err != nil {
		return nil, err
	}
	if err := noChurnFlags(c); err != nil {
		return nil, err
	}
	if err := noProbeFlags(c, m); err != nil {
		return nil, err
	}
	tables, err := lookupTables(c, base)
	if err != nil {
		return nil, err
	}
	cells, err := lookupCells(c, m, tables)
	if err != nil {
		return nil, err
	}
	m.histogram = c.Bool("histogram")
	var specs []*churn.LookupSpec
	for _, cell := range cells {
		s := *base
		s.TableSpec = tables[[2]int{cell.family, cell.routes}]
		s.Rules, s.Unmerge, s.Name = cell.rules, cell.unmerge, cell.name(cells)
		if err := completeLookup(c, &s, cell); err != nil {
			return nil, err
		}
		specs = append(specs, &s)
	}
	return specs, nil
}

// lookupBase is what all cells share.
func lookupBase(c *cli.Context, m *measure) (*churn.LookupSpec, error) {
	kind, err := linkKindOf(c)
	if err != nil {
		return nil, err
	}
	rate, err := rateOf(c, "rate")
	if err != nil {
		return nil, err
	}
	if c.IsSet("churn-rate") {
		if rate, err = rateOf(c, "churn-rate"); err != nil {
			return nil, err
		}
	}
	s := &churn.LookupSpec{
		TableSpec: churn.TableSpec{
			Families: m.families, Table: uint32(countOf(c, "table")), Tables: 1, LinkKind: kind,
			Order: "random", Batch: churn.DefaultBatch, Ack: "last", Seed: m.seed,
		},
		Under: c.String("under"), ChurnRate: rate, ChurnSize: countOf(c, "churn-size"), Duration: c.Duration("duration"),
	}
	return s, nil
}

// rateOf is the value of a flag of operations a second, 0 for max.
func rateOf(c *cli.Context, name string) (int, error) {
	text := c.String(name)
	if text == "max" {
		return 0, nil
	}
	rate, err := parseCount(text)
	if err != nil {
		return 0, usageErrorf("--%s: %v, or max", name, err)
	}
	if rate == 0 {
		return 0, usageErrorf("--%s 0: must be at least 1, or max", name)
	}
	return rate, nil
}
