package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/machine"
	"fibchurn/internal/prefixes"
	"fibchurn/ns"
)

// tableFlags are the flags of every workload of route tables.
func tableFlags(count string) []cli.Flag {
	batch, table, tables, rules := numberOf(churn.DefaultBatch), numberOf(254), numberOf(1), numberOf(0)
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "count", Aliases: []string{"n"}, Value: cli.NewStringSlice(count), Usage: "routes of each family; several (1k,10k,100k) show how the cost grows"},
		&cli.StringFlag{Name: "layout", Value: string(prefixes.Dense), Usage: layoutNames()},
		&cli.StringFlag{Name: "prefixes", Usage: "take the prefixes from `FILE`: a list, what ip route prints or saves, or an MRT RIB dump"},
		&cli.GenericFlag{Name: "batch", Value: batch, Usage: "requests of one call"},
		&cli.StringFlag{Name: "ack", Value: "last", Usage: "acknowledgements: of the last request of every call, none, or all"},
		&cli.StringFlag{Name: "order", Value: "added", Usage: "order of removals: " + strings.Join(churn.Orders(), ", ")},
		&cli.GenericFlag{Name: "table", Value: table, Usage: "number of the first table; 254 is main"},
		&cli.GenericFlag{Name: "tables", Value: tables, Usage: "tables the routes are spread over"},
		&cli.GenericFlag{Name: "rules", Value: rules, Usage: "rules before the first that matches"},
		&cli.BoolFlag{Name: "unmerge", Usage: "give the tables local and main tries of their own first, as the first rule does"},
		&cli.BoolFlag{Name: "force", Usage: "go on where the tables may take more memory than there is"},
		linkKindFlag(),
	}
}

func linkKindFlag() cli.Flag {
	return &cli.StringFlag{Name: "link-kind", Value: ns.KindAuto, Usage: "auto, " + strings.Join(ns.Kinds(), ", ")}
}

func layoutNames() string {
	var names []string
	for _, l := range prefixes.Layouts() {
		if l != prefixes.File { // --prefixes says that
			names = append(names, string(l))
		}
	}
	return strings.Join(names, ", ")
}

// linkKindOf checks --link-kind.
func linkKindOf(c *cli.Context) (string, error) {
	kind := c.String("link-kind")
	if kind != ns.KindAuto && !slices.Contains(ns.Kinds(), kind) {
		return "", usageErrorf("--link-kind %s: must be auto, %s", kind, strings.Join(ns.Kinds(), ", "))
	}
	return kind, nil
}

// localSubnetsOf are the link kind and the prefix length of commands whose load is
// local subnets.
func localSubnetsOf(c *cli.Context) (kind string, bits int, err error) {
	if err := noArguments(c); err != nil {
		return "", 0, err
	}
	bits = int(wholeOf(c, "prefix-len"))
	if c.IsSet("prefix-len") && bits == 0 {
		return "", 0, usageErrorf("--prefix-len 0: a subnet of everything is not local")
	}
	kind, err = linkKindOf(c)
	return kind, bits, err
}

// tableSpecsOf turns the flags into one valid spec for each count, with its
// prefixes.
func tableSpecsOf(c *cli.Context, m *measure) ([]churn.TableSpec, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	kind, err := linkKindOf(c)
	if err != nil {
		return nil, err
	}
	layout, err := prefixes.ParseLayout(c.String("layout"))
	if err != nil || layout == prefixes.File {
		return nil, usageErrorf("--layout %s: must be one of %s", c.String("layout"), layoutNames())
	}
	base := churn.TableSpec{
		Layout: layout, Families: m.families,
		Table: uint32(countOf(c, "table")), Tables: countOf(c, "tables"), Rules: countOf(c, "rules"),
		Unmerge: c.Bool("unmerge"), Order: c.String("order"), LinkKind: kind,
		Batch: countOf(c, "batch"), Ack: c.String("ack"), Seed: m.seed,
	}
	var files map[int]*prefixes.Set
	if file := c.String("prefixes"); c.IsSet("prefixes") {
		if c.IsSet("layout") {
			return nil, usageErrorf("--layout and --prefixes exclude each other")
		}
		base.Layout, base.Prefixes = prefixes.File, file
		if files, err = readPrefixes(file, m.families); err != nil {
			return nil, err
		}
		base.PrefixesSHA256 = prefixesDigest(m.families, files)
	}
	counts, err := countsOf(c, files)
	if err != nil {
		return nil, err
	}
	var specs []churn.TableSpec
	for _, n := range counts {
		s := base
		s.Count = n
		if err := s.Validate(); err != nil {
			return nil, usageErrorf("%v", err)
		}
		if err := fill(&s, files); err != nil {
			return nil, err
		}
		if err := enoughMemory(&s, c.Bool("force")); err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// countsOf reads --count; where it is not given with a file, it is all the file has.
func countsOf(c *cli.Context, files map[int]*prefixes.Set) ([]int, error) {
	if files != nil && !c.IsSet("count") {
		least := 0
		for _, set := range files {
			if least == 0 || set.Len() < least {
				least = set.Len()
			}
		}
		return []int{least}, nil
	}
	return countList(c, "count")
}

// readPrefixes reads one set of each family.
func readPrefixes(file string, families []int) (map[int]*prefixes.Set, error) {
	sets := map[int]*prefixes.Set{}
	for _, family := range families {
		content, err := prefixes.ReadFile(file, prefixes.Family(family))
		if err != nil {
			return nil, usageErrorf("--prefixes: %v", err)
		}
		sets[family] = content.Set
	}
	return sets, nil
}

// prefixesDigest tells the contents of prefix files apart: it is of the distinct
// prefixes, in their order. A file by another name or in another format has the
// same where it holds the same.
func prefixesDigest(families []int, files map[int]*prefixes.Set) string {
	digest := sha256.New()
	var item []byte
	for _, family := range families {
		set := files[family]
		digest.Write(fmt.Appendf(nil, "IPv%d %d\n", family, set.Len()))
		for i := range set.Len() {
			item = append(set.AppendAddr(item[:0], i), byte(set.Bits(i)))
			digest.Write(item)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// fill gives a spec its prefixes.
func fill(s *churn.TableSpec, files map[int]*prefixes.Set) error {
	if files == nil {
		return s.Generate()
	}
	s.Sets = map[int]*prefixes.Set{}
	for family, set := range files {
		if set.Len() < s.Count {
			return usageErrorf("--count %d: the file has %d distinct IPv%d prefixes", s.Count, set.Len(), family)
		}
		sample, err := set.Sample(s.Count)
		if err != nil {
			return err
		}
		s.Sets[family] = sample
	}
	return nil
}

// enoughMemory refuses a table that would bring the machine down.
func enoughMemory(s *churn.TableSpec, force bool) error {
	need, err := s.Memory(machine.PossibleCPUs())
	if err != nil || force {
		return err
	}
	available, err := machine.MemAvailable()
	if err != nil {
		return fmt.Errorf("find out how much memory there is: %w", err)
	}
	if need > available {
		return memoryErrorf("--count %d: the tables take some %d MiB of kernel memory, and %d MiB are available; --force goes on all the same",
			s.Count, need>>20, available>>20)
	}
	return nil
}
