package main

import (
	"net/netip"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/lookup"
)

// completeLookup gives a cell its lookups, and checks it.
func completeLookup(c *cli.Context, s *churn.LookupSpec, cell lookupCell) error {
	l, err := samplerSpec(c, s, cell)
	if err != nil {
		return err
	}
	if err := l.Validate(); err != nil {
		return usageErrorf("%v", err)
	}
	if l.Src != "" {
		s.Source, s.Back = netip.MustParseAddr(l.Src), l.IIF
	}
	s.Lookups, s.Sampler = l, samplerOf(*l, s.Table)
	if err := s.Validate(); err != nil {
		return usageErrorf("%s", asRoutes(err))
	}
	return nil
}

// samplerSpec turns the flags into a spec of lookups.
func samplerSpec(c *cli.Context, s *churn.LookupSpec, cell lookupCell) (*lookup.Spec, error) {
	rate, err := rateOf(c, "rate")
	if err != nil {
		return nil, err
	}
	l := lookup.DefaultSpec()
	l.Probes, l.Family, l.Direction = probesOf(c), cell.family, c.String("direction")
	l.Src, l.Dst, l.Mark, l.TOS = c.String("src"), c.String("dst"), uint32(wholeOf(c, "mark")), uint8(wholeOf(c, "tos"))
	if c.IsSet("rp-filter") {
		l.RPFilter = int(wholeOf(c, "rp-filter"))
	}
	l.FIBMatch, l.Direct = c.Bool("fibmatch"), cell.direct
	l.Keys, l.Order, l.KeyCount, l.Seed = c.String("keys"), c.String("order"), countOf(c, "key-count"), s.Seed
	l.Readers, l.Rate, l.KernelBatch = cell.readers, int64(rate), countOf(c, "kernel-batch")
	if s.Count == 0 && l.Dst == "" && !c.IsSet("keys") {
		l.Keys = lookup.Miss
	}
	if s.Count == 0 && l.Dst == "" && l.Keys != lookup.Miss {
		return nil, usageErrorf("--keys %s: the table of --routes 0 is empty; --keys miss or --dst would do", l.Keys)
	}
	return &l, setLinks(c, s, &l)
}

// probesOf is the probes; only bpf can do without the rules.
func probesOf(c *cli.Context) []string {
	probes := c.StringSlice("probe")
	if len(probes) == 0 && (c.Bool("direct") || slices.Contains(c.StringSlice("vary"), varyDirect)) {
		return []string{lookup.ProbeBPF}
	}
	return probes
}

// setLinks says by which links lookups come in and go out, and in which table they
// are made.
func setLinks(c *cli.Context, s *churn.LookupSpec, l *lookup.Spec) error {
	if s.Table != unix.RT_TABLE_MAIN {
		if !l.Direct {
			return usageErrorf("--table %d: only --direct asks a table that no rule names", s.Table)
		}
		l.Table = s.Table
	}
	if l.Direction != lookup.Input {
		l.OIF = churn.LookupOut()
		if c.IsSet("iif") {
			return usageErrorf("--iif %s: is for --direction input", c.String("iif"))
		}
		return nil
	}
	switch iif := c.String("iif"); iif {
	case "fc0":
		l.IIF = churn.LookupOut()
	case "", "fc1":
		l.IIF = churn.LookupIn()
	default:
		return usageErrorf("--iif %s: must be fc0 or fc1", iif)
	}
	if l.Src == "" {
		l.Src = map[int]string{4: "198.19.255.1", 6: "2001:2:0:ffff::1"}[l.Family] // RFC 2544, RFC 5180
	}
	return nil
}
