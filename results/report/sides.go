package report

import (
	"slices"

	"fibchurn/results"
)

// sides are what the page sets against each other: kernels, by label or release, or
// whatever was asked for. There is one where there is nothing to set against another.
type sides struct{ groups []results.Group } // base first

// base is a label that stands first wherever it is.
const base = "base"

func sidesOf(runs []results.Run, by string) (sides, error) {
	var s sides
	keys := []string{by}
	if by == "" {
		keys = []string{"label", "kernel", "environment.kernel_version"}
	}
	for _, key := range keys {
		groups, err := results.GroupBy(runs, key)
		if err != nil {
			return s, err
		}
		if len(groups) < 2 && by == "" {
			continue
		}
		slices.SortStableFunc(groups, func(a, b results.Group) int {
			switch {
			case a.Name == base && b.Name != base:
				return -1
			case b.Name == base && a.Name != base:
				return 1
			}
			return 0
		})
		for i := range groups {
			groups[i].Name = results.Plain(groups[i].Name)
		}
		s.groups = groups
		return s, nil
	}
	return s, nil
}

// ink is the colour of a run's side.
func (s sides) ink(name string) int {
	return max(0, slices.IndexFunc(s.groups, func(g results.Group) bool { return g.Name == name }))
}
