package main

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/internal/prefixes"
	"fibchurn/lookup"
	"fibchurn/results"
)

func (p *program) lookup() *cli.Command {
	return measuring(p, &cli.Command{
		Name:  "lookup",
		Usage: "time lookups from user space and inside the kernel, at rest and under churn",
		Description: "Fills a table and looks routes up in it: by RTM_GETROUTE, and inside the kernel by a BPF\n" +
			"program. With --under it does so before, during and after something that changes the table.\n" +
			"Every answer is compared with a longest-prefix match of its own; a wrong one is an error.",
		Flags: append(lookupFlags(), measureFlags()...),
	}, lookupSpecs)
}

// A runSampler is a sampler in a run of churn.
type runSampler struct {
	*lookup.Sampler
	probes []string // that were asked for
	depth  func(*results.Run) (results.Depth, bool)
}

// Stop adds to what the sampler records how fast it was, how deep the table is, and
// what it did not come to.
func (r *runSampler) Stop(run *results.Run) error {
	err := r.Sampler.Stop(run)
	for _, t := range r.Throughput() {
		for i := range run.Latency {
			if l := &run.Latency[i]; l.Probe == t.Probe && l.Stretch == t.Stretch {
				l.Reached = t.PerSecond
			}
		}
	}
	if d, ok := r.depth(run); ok {
		run.Depths = append(run.Depths, d)
	}
	run.Warnings = append(run.Warnings, unmeasured(run, r.probes)...)
	return err
}

// unmeasured warns of probes that had no turn in a stretch that others had.
func unmeasured(run *results.Run, probes []string) []results.Warning {
	probes = slices.Clone(probes)
	var stretches []string
	have := map[[2]string]bool{}
	for _, l := range run.Latency {
		have[[2]string{l.Probe, l.Stretch}] = true
		if !slices.Contains(probes, l.Probe) {
			probes = append(probes, l.Probe)
		}
		if !slices.Contains(stretches, l.Stretch) {
			stretches = append(stretches, l.Stretch)
		}
	}
	var warnings []results.Warning
	for _, stretch := range stretches {
		for _, probe := range probes {
			if !have[[2]string{probe, stretch}] {
				warnings = append(warnings, results.Warning{Kind: "unmeasured", Text: "no lookup by " + probe + " had its turn in the stretch " + stretch + ": it was too short"})
			}
		}
	}
	return warnings
}

// Toggled is told of a route that was withdrawn or announced.
func (r *runSampler) Toggled(prefix netip.Prefix, present bool, sent, acknowledged time.Time) {
	r.Oracle().Toggled(prefix, present, sent, acknowledged)
}

// samplerOf makes the sampler of each run of a cell.
func samplerOf(spec lookup.Spec, table uint32) func(*churn.Scene) (churn.Sampler, error) {
	deep := depthOf(spec.Family, table)
	return func(scene *churn.Scene) (churn.Sampler, error) {
		s, err := lookup.New(spec, scene.Table)
		if err != nil {
			return nil, err
		}
		if err := explain(s.Oracle(), scene); err != nil {
			return nil, err
		}
		depth, err := deep(scene.Table)
		return &runSampler{s, spec.Probes, depth}, err
	}
}

// depthOf says how deep the table of a run is: for IPv4 the kernel tells, for IPv6
// it is computed, once for all runs.
func depthOf(family int, table uint32) func(*prefixes.Set) (func(*results.Run) (results.Depth, bool), error) {
	computed := results.Depth{Table: table, Computed: true}
	known := false
	return func(set *prefixes.Set) (func(*results.Run) (results.Depth, bool), error) {
		if family == 4 {
			return func(run *results.Run) (results.Depth, bool) { return results.DepthOf(run.Trie.Before, table) }, nil
		}
		if !known && set != nil {
			var err error
			if computed, err = lookup.IPv6Depth(set, table); err != nil {
				return nil, err
			}
			known = true
		}
		return func(*results.Run) (results.Depth, bool) { return computed, true }, nil
	}
}

// explain tells the oracle what is in the scene.
func explain(o *lookup.Oracle, scene *churn.Scene) error {
	props := scene.Props
	if scene.Table != nil {
		table := churn.Prop{Set: scene.Table, Type: unix.RTN_UNICAST, Index: churn.LookupOut()}
		props = append([]churn.Prop{table}, props...)
	}
	for _, p := range props {
		route := lookup.Route{Kind: kindOf(p.Type), OIF: p.Index}
		var err error
		switch p.When {
		case churn.AtTimes:
			err = o.Toggling(p.Set, route)
		case churn.InTurn:
			err = o.Replacing(p.Set, route)
		default:
			err = addAll(o, p.Set, route)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addAll(o *lookup.Oracle, set *prefixes.Set, route lookup.Route) error {
	for _, p := range set.All() {
		if err := o.Add(p, route); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(typ uint8) lookup.Kinds {
	switch typ {
	case unix.RTN_LOCAL:
		return lookup.Local
	case unix.RTN_BROADCAST:
		return lookup.Broadcast
	}
	return lookup.Unicast
}

// asciiOnly reports whether the locale's character set is not UTF-8
// (setlocale(3)): it is that of the first of these variables that is not empty.
func asciiOnly(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return true
}
