package main

import (
	"net/netip"
	"slices"

	"github.com/urfave/cli/v2"

	"fibchurn/lookup"
	"fibchurn/results"
)

// noEffect refuses the first of the flags that was given: why says what takes its
// effect away.
func noEffect(c *cli.Context, why string, flags ...string) error {
	for _, name := range flags {
		if at(c, name).IsSet(name) {
			return usageErrorf("--%s: has no effect %s", name, why)
		}
	}
	return nil
}

// noForeignFlags refuses flags before a command that has none of that name, but for
// those that say how much to print and how. suite and vm say themselves where the flag
// should stand.
func noForeignFlags(c *cli.Context) error {
	before := c.Lineage()[1]
	if before.App == nil || c.Command.Name == suiteCommand || c.Command.Name == "vm" {
		return nil
	}
	for _, f := range before.App.Flags {
		name := f.Names()[0]
		has := slices.ContainsFunc(c.Command.Flags, func(own cli.Flag) bool { return own.Names()[0] == name })
		if !has && before.IsSet(name) && !slices.Contains([]string{"quiet", "color", "json", "help", "version"}, name) {
			return usageErrorf("--%s: %s has no such flag", name, c.Command.Name)
		}
	}
	return nil
}

// noChurnFlags refuses the flags of a churn that does not go on, or has no use for
// them.
func noChurnFlags(c *cli.Context) error {
	switch c.String("under") {
	case "none":
		return noEffect(c, "without --under", "churn-rate", "churn-size")
	case "flap", "replace", "resize":
		return noEffect(c, "with --under "+c.String("under"), "churn-size")
	}
	return nil
}

// noProbeFlags refuses what would say how keys are drawn, where they are not, and what
// would say how a probe asks that does not.
func noProbeFlags(c *cli.Context, m *measure) error {
	if c.IsSet("dst") {
		if err := noEffect(c, "with --dst, which takes their place", "keys"); err != nil {
			return err
		}
		if _, err := netip.ParseAddr(c.String("dst")); err == nil {
			if err := noEffect(c, "with --dst, which is one address", "key-count"); err != nil {
				return err
			}
		}
	}
	if probes := probesOf(c); len(probes) > 0 && !slices.Contains(probes, lookup.ProbeBPF) {
		if err := noEffect(c, "without --probe bpf", "kernel-batch"); err != nil {
			return err
		}
	}
	if c.String("rate") != "max" {
		if err := noEffect(c, "with --rate, which times lookups one by one", "kernel-batch"); err != nil {
			return err
		}
	}
	return noHistogram(c, m.format)
}

// noHistogram refuses what only tables of text have.
func noHistogram(c *cli.Context, format results.Format) error {
	if format.Name == results.FormatText {
		return nil
	}
	return noEffect(c, "with --format "+format.Name, "histogram")
}

// noAllowance refuses leave to change this machine, where nothing would. A suite has
// lines that may; a command in a guest has a machine of its own.
func noAllowance(c *cli.Context) error {
	if !measures(c.Command) {
		return nil
	}
	return noEffect(c, "without --sync-mem", "allow-host-sysctl")
}

// noLoadFlags refuses the flags of loads that no cell of delete-iface has.
func noLoadFlags(c *cli.Context, loads []string) error {
	has := func(some ...string) bool {
		return slices.ContainsFunc(loads, func(load string) bool { return slices.Contains(some, load) })
	}
	if !has("addrs", "secondaries", "routes") {
		return noEffect(c, "on interfaces that carry nothing", "prefix-len", "setup")
	}
	if !has("addrs", "secondaries") {
		return noEffect(c, "on interfaces without addresses", "setup")
	}
	return nil
}
