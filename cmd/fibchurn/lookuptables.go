package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/prefixes"
)

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
			if files != nil {
				t.PrefixesSHA256 = prefixesDigest(t.Families, files)
			}
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
