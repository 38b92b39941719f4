package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

// A lookupCell is what the cells of one command differ in.
type lookupCell struct {
	family, routes, rules, readers int
	unmerge, direct                bool
}

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
