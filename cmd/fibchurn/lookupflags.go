package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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
		&cli.IntFlag{Name: "rp-filter", Value: d.RPFilter, DefaultText: "the kernel's default", Usage: "reverse path filter of input lookups: 0, 1 or 2"},
		&cli.StringFlag{Name: "iif", DefaultText: "fc1", Usage: "interface that input comes in by: fc0, which the routes go out of, or fc1"},
		&cli.StringFlag{Name: "src", Usage: "source address", DefaultText: "none; of input 198.19.255.1 or 2001:2:0:ffff::1"},
		&cli.StringFlag{Name: "dst", Usage: "look up this address, or addresses of this prefix, instead of --keys"},
		&cli.UintFlag{Name: "mark", Usage: "firewall mark"},
		&cli.UintFlag{Name: "tos", Usage: "type of service, 0 to 255"},
		&cli.StringFlag{Name: "keys", Value: d.Keys, Usage: "addresses that are looked up: " + strings.Join(lookup.KeyKinds(), ", ")},
		&cli.StringFlag{Name: "order", Value: d.Order, Usage: strings.Join(lookup.KeyOrders(), ", ") + ": which key is next depends on the last answer"},
		&cli.GenericFlag{Name: "key-count", Value: numberOf(d.KeyCount), Usage: "different addresses"},
	}
}

// A lookupCell is what the cells of one command differ in.
type lookupCell struct {
	family, routes, rules, readers int
	unmerge, direct                bool
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

// lookupTables makes the table of each family and number of routes.
func lookupTables(c *cli.Context, base *churn.LookupSpec) (map[[2]int]churn.TableSpec, error) {
	layout, err := prefixes.ParseLayout(c.String("layout"))
	if err != nil || layout == prefixes.File {
		return nil, usageErrorf("--layout %s: must be one of %s", c.String("layout"), layoutNames())
	}
	var files map[int]*prefixes.Set
	file := c.String("prefixes")
	if c.IsSet("prefixes") {
		if c.IsSet("layout") {
			return nil, usageErrorf("--layout and --prefixes exclude each other")
		}
		layout = prefixes.File
		if files, err = readPrefixes(file, base.Families); err != nil {
			return nil, err
		}
	}
	counts, err := lookupCounts(c, files)
	if err != nil {
		return nil, err
	}
	tables := map[[2]int]churn.TableSpec{}
	for _, family := range base.Families {
		for _, n := range counts {
			t := base.TableSpec
			t.Layout, t.Prefixes, t.Families, t.Count = layout, file, []int{family}, n
			if err := fillTable(c, &t, files); err != nil {
				return nil, err
			}
			tables[[2]int{family, n}] = t
		}
	}
	return tables, nil
}

// lookupCounts reads --routes; without it a file's prefixes are all taken.
func lookupCounts(c *cli.Context, files map[int]*prefixes.Set) ([]int, error) {
	if files == nil || c.IsSet("routes") {
		return countList(c, "routes")
	}
	return countsOf(c, files)
}

// fillTable gives a table that is not empty its prefixes.
func fillTable(c *cli.Context, t *churn.TableSpec, files map[int]*prefixes.Set) error {
	if t.Count == 0 {
		return nil
	}
	if err := t.Validate(); err != nil {
		return usageErrorf("%s", asRoutes(err))
	}
	if err := fill(t, files); err != nil {
		return err
	}
	return enoughMemory(t, c.Bool("force"))
}

// asRoutes words an error about a table's size as this command does.
func asRoutes(err error) string { return strings.ReplaceAll(err.Error(), "--count", "--routes") }

// lookupCells is every combination, in the order of the flags' values.
func lookupCells(c *cli.Context, m *measure, tables map[[2]int]churn.TableSpec) ([]lookupCell, error) {
	rules, err := countList(c, "rules")
	if err != nil {
		return nil, err
	}
	readers, err := countList(c, "readers")
	if err != nil {
		return nil, err
	}
	unmerge, direct, err := varied(c)
	if err != nil {
		return nil, err
	}
	var cells []lookupCell
	for table := range tables {
		for _, r := range rules {
			for _, n := range readers {
				for _, u := range unmerge {
					for _, d := range direct {
						cells = append(cells, lookupCell{table[0], table[1], r, n, u, d})
					}
				}
			}
		}
	}
	slices.SortStableFunc(cells, func(a, b lookupCell) int { return slices.Compare([]int{a.family, a.routes}, []int{b.family, b.routes}) })
	return cells, nil
}

// varied is the values of the switches that --vary may name.
func varied(c *cli.Context) (unmerge, direct []bool, err error) {
	unmerge, direct = []bool{c.Bool("unmerge")}, []bool{c.Bool("direct")}
	for i, name := range c.StringSlice("vary") {
		switch {
		case slices.Contains(c.StringSlice("vary")[:i], name):
			return nil, nil, usageErrorf("--vary %s: given twice", name)
		case name != varyUnmerge && name != varyDirect:
			return nil, nil, usageErrorf("--vary %s: must be %s or %s", name, varyUnmerge, varyDirect)
		case c.Bool(name):
			return nil, nil, usageErrorf("--vary %s: measures with --%s and without it", name, name)
		case name == varyUnmerge:
			unmerge = []bool{false, true}
		default:
			direct = []bool{false, true}
		}
	}
	return unmerge, direct, nil
}

// name tells the cell from the others: the number of routes, and what else they
// differ in.
func (l lookupCell) name(all []lookupCell) string {
	differ := func(f func(lookupCell) any) bool {
		return slices.ContainsFunc(all, func(other lookupCell) bool { return f(other) != f(l) })
	}
	var parts []string
	add := func(f func(lookupCell) any, text string) {
		if differ(f) {
			parts = append(parts, text)
		}
	}
	add(func(c lookupCell) any { return c.family }, fmt.Sprintf("IPv%d", l.family))
	add(func(c lookupCell) any { return c.rules }, counted(l.rules, "rule"))
	add(func(c lookupCell) any { return c.readers }, counted(l.readers, "reader"))
	add(func(c lookupCell) any { return c.unmerge }, map[bool]string{false: "merged", true: "unmerged"}[l.unmerge])
	add(func(c lookupCell) any { return c.direct }, map[bool]string{false: "full", true: "direct"}[l.direct])
	if parts == nil {
		return strconv.Itoa(l.routes)
	}
	return fmt.Sprintf("%d (%s)", l.routes, strings.Join(parts, ", "))
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

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
	if c.Uint("tos") > 255 {
		return nil, usageErrorf("--tos %d: must be 0 to 255", c.Uint("tos"))
	}
	if c.Uint("mark") > 1<<32-1 {
		return nil, usageErrorf("--mark %d: must be less than 2^32", c.Uint("mark"))
	}
	l := lookup.DefaultSpec()
	l.Probes, l.Family, l.Direction, l.RPFilter = probesOf(c), cell.family, c.String("direction"), c.Int("rp-filter")
	l.Src, l.Dst, l.Mark, l.TOS = c.String("src"), c.String("dst"), uint32(c.Uint("mark")), uint8(c.Uint("tos"))
	l.FIBMatch, l.Direct = c.Bool("fibmatch"), cell.direct
	l.Keys, l.Order, l.KeyCount, l.Seed = c.String("keys"), c.String("order"), countOf(c, "key-count"), s.Seed
	l.Readers, l.Rate, l.KernelBatch = cell.readers, int64(rate), countOf(c, "kernel-batch")
	if s.Count == 0 && l.Dst == "" && !c.IsSet("keys") {
		l.Keys = lookup.Miss
	}
	if s.Count == 0 && l.Dst == "" && l.Keys != lookup.Miss {
		return nil, usageErrorf("--keys %s: the table of --routes 0 is empty; --keys miss or --dst would do", l.Keys)
	}
	if c.IsSet("rp-filter") && l.RPFilter < 0 {
		return nil, usageErrorf("--rp-filter %d: must be 0, 1 or 2", l.RPFilter)
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
