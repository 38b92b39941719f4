package main

import (
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

func (p *program) deleteIface() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "delete-iface",
		Usage: "time the removal of interfaces that carry local subnets",
		Description: "Gives an interface N addresses, each in a subnet of its own, and removes it; beside it,\n" +
			"an interface with N routes, and an empty one as the calibration. Every run has a fresh\n" +
			"network namespace.",
		Flags: append([]cli.Flag{
			&cli.GenericFlag{Name: "subnets", Aliases: []string{"n"}, Value: numberOf(8192), Usage: "local subnets (or routes) on every interface, of each family"},
			&cli.StringSliceFlag{Name: "as", Usage: "what the interface carries: " + strings.Join(churn.Loads(), ", ") + " (repeatable; default: addrs, routes, empty)"},
			&cli.GenericFlag{Name: "ifaces", Value: numberOf(1), Usage: "interfaces, removed in one batch"},
			wholeFlag("prefix-len", 0, math.MaxUint8, "prefix length of the subnets (default: 24 and 64; what is needed for secondaries)"),
			&cli.StringFlag{Name: "setup", Value: "auto", Usage: "add addresses before the link comes up (down) or after (up); auto: down, but up with IPv6"},
			&cli.BoolFlag{Name: "down-first", Usage: "take the link down, as a phase of its own, before removing it"},
			linkKindFlag(),
		}, measureFlags()...),
	}, deleteIfaceSpecs)
}

// deleteIfaceSpecs turns the flags into one valid spec a cell.
func deleteIfaceSpecs(c *cli.Context, m *measure) ([]*churn.DeleteIfaceSpec, error) {
	kind, bits, err := localSubnetsOf(c)
	if err != nil {
		return nil, err
	}
	loads := c.StringSlice("as")
	if len(loads) == 0 {
		loads = []string{"addrs", "routes", "empty"}
	}
	if err := noLoadFlags(c, loads); err != nil {
		return nil, err
	}
	var specs []*churn.DeleteIfaceSpec
	for i, load := range loads {
		if slices.Contains(loads[:i], load) {
			return nil, usageErrorf("--as %s: given twice", load)
		}
		s := &churn.DeleteIfaceSpec{
			Load:      load,
			Subnets:   countOf(c, "subnets"),
			Ifaces:    countOf(c, "ifaces"),
			Families:  m.families,
			PrefixLen: bits,
			LinkKind:  kind,
			Setup:     setupOf(c, m),
			DownFirst: c.Bool("down-first"),
			Seed:      m.seed,
		}
		if err := s.Validate(); err != nil {
			return nil, usageErrorf("%v", err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// setupOf resolves --setup auto. Adding IPv4 addresses to a link that is down is
// several times faster, and the same table. With IPv6 it is not faster, and the
// kernel may lose routes: when the link comes up it makes them with memory that it
// does not wait for (fixup_permanent_addr, net/ipv6/addrconf.c).
func setupOf(c *cli.Context, m *measure) string {
	setup := c.String("setup")
	switch {
	case setup != "auto":
		return setup
	case slices.Contains(m.families, 6):
		return "up"
	}
	return "down"
}
