package report

import (
	"fmt"
	"strings"

	"fibchurn/results"
	"fibchurn/results/chart"
)

// A NamedChart is a chart of the page under the name that a file of it has, without
// an extension: letters, digits and hyphens.
type NamedChart struct {
	Name  string
	Chart *chart.Chart
}

// Charts returns every chart of the page that Write makes, each with another name. The
// error is as that of Write.
func Charts(runs []results.Run, opts Options) ([]NamedChart, error) {
	p, err := newPage(runs, opts)
	if err != nil {
		return nil, err
	}
	var all []NamedChart
	used := map[string]bool{}
	add := func(of string, g group) {
		for _, c := range g.Kept {
			name := fileName(of, g.Title, c.Title)
			unique := name
			for n := 2; used[unique]; n++ {
				unique = fmt.Sprintf("%s-%d", name, n)
			}
			used[unique] = true
			all = append(all, NamedChart{unique, c})
		}
	}
	if p.Verdict != nil && p.Verdict.Deltas != nil {
		add("verdict", *p.Verdict.Deltas)
	}
	if p.Trends != nil {
		add("trend", p.Trends.Group)
	}
	for _, w := range p.Works {
		for _, g := range w.Groups {
			add(w.Title, g)
		}
	}
	return all, nil
}

// fileName is made of words from files, which must not name another directory.
func fileName(words ...string) string {
	const longest = 100
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, strings.Join(words, " "))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return strings.Trim(name[:min(len(name), longest)], "-")
}
