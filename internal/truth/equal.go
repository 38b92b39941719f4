package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"fibchurn/results"
)

// The level of the comparisons of equals, and how many of a hundred may show a change
// all the same.
const (
	equalAlpha   = "0.01"
	mostOfEquals = 2
)

// equalPairs is how many processes measure each side of a native comparison: enough
// for a change to be shown among 22 rows.
const equalPairs = 10

// workloads are small, so that many comparisons take minutes.
func workloads() []string {
	return []string{
		"routes --count 1k", "routes -6 --count 500", "addrs --count 64",
		"resize --node-bits 6 --cycles 1", "delete-iface --subnets 64 --as addrs",
	}
}

// A tally counts what comparisons of equals come to. A comparison is a table of
// `fibchurn compare`: it is flagged where any of its rows shows a change, corrected for
// all of them. Alone are the rows with a p-value at or below alpha, without correction.
type tally struct {
	tables, flagged     int
	rows, alone, silent int // silent rows could not have shown anything
	told                []string
}

func (t *tally) add(rows []row) {
	t.tables++
	t.rows += len(rows)
	flagged := false
	for _, r := range rows {
		if r.P <= r.Alpha {
			t.alone++
		}
		if !r.Reachable {
			t.silent++
		}
		if r.Result != string(results.Unshown) {
			flagged = true
			t.told = append(t.told, r.String())
		}
	}
	if flagged {
		t.flagged++
	}
}

// most is how many tables may be flagged.
func (t *tally) most() int { return max(mostOfEquals, (mostOfEquals*t.tables+99)/100) }

// verdict says what came of it.
func (t *tally) verdict(p *proof, what string) error {
	p.say("%s: %d of %d comparisons flagged at alpha %s; of their %d rows %d (%.1f %%) have p <= %s without correction",
		what, t.flagged, t.tables, equalAlpha, t.rows, t.alone, 100*float64(t.alone)/float64(t.rows), equalAlpha)
	for _, text := range t.told {
		p.say("  flagged: %s", text)
	}
	switch {
	case t.silent > 0:
		return fmt.Errorf("%d of %d rows could not have shown anything: %w", t.silent, t.rows, errFalse)
	case t.flagged > t.most():
		return fmt.Errorf("%d comparisons of equals flagged, at most %d: %w", t.flagged, t.most(), errFalse)
	}
	return nil
}

// equalsHere compares this kernel with itself: processes that append to one file and to
// another in turn, as one would compare two settings.
func (p *proof) equalsHere() error {
	var t tally
	for i := range p.tables {
		rows, err := p.equalPair(fmt.Sprint("equal", i), workloads()[i%len(workloads())], equalPairs, equalAlpha)
		if err != nil {
			return err
		}
		t.add(rows)
	}
	return t.verdict(p, "this kernel against itself")
}

// equalPair measures a workload in pairs of processes, the first of which takes turns,
// and compares.
func (p *proof) equalPair(name, command string, pairs int, alpha string) ([]row, error) {
	a, b := p.file(name+"a.jsonl"), p.file(name+"b.jsonl")
	for i := range pairs {
		files := []string{a, b}
		if i%2 == 1 {
			slices.Reverse(files)
		}
		for _, file := range files {
			if err := p.measure(file, command+" --runs 1 --warmup 0"); err != nil {
				return nil, err
			}
		}
	}
	return p.compare(a, b, "--alpha", alpha)
}

// The boots of each label in a comparison of guests: a change could be shown among 60
// rows. Each boot measures the suite.
const (
	equalBoots  = 8
	guestMemory = "256"
)

// guestSuite has a line for each comparison that a set of boots is for.
func guestSuite() []string {
	return []string{
		"routes --count 2k --runs 3 --warmup 1", "routes -6 --count 1k --runs 3 --warmup 1",
		"delete-iface --subnets 64 --as addrs --runs 3 --warmup 1", "addrs --count 128 --runs 3 --warmup 1",
	}
}

// equalsInGuests boots one kernel under two labels and compares the labels, workload by
// workload. Comparisons of one set of boots share its luck; sets do not.
func (p *proof) equalsInGuests() error {
	var t tally
	suite := p.file("equal.suite")
	if err := os.WriteFile(suite, []byte(strings.Join(guestSuite(), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	sets := (p.tables + len(guestSuite()) - 1) / len(guestSuite())
	for set := range sets {
		files, err := p.guestRuns(fmt.Sprint("set", set), suite, equalBoots)
		if err != nil {
			return err
		}
		if len(files) != len(guestSuite()) {
			return fmt.Errorf("the guests' runs are of %d workloads instead of %d", len(files), len(guestSuite()))
		}
		for _, file := range files {
			rows, err := p.compare("--by", "label", "--metric", "wall", "--alpha", equalAlpha, file)
			if err != nil {
				return err
			}
			t.add(rows)
		}
	}
	return t.verdict(p, fmt.Sprintf("one User-Mode Linux kernel under two labels, %d boots each, %d sets of boots", equalBoots, sets))
}

// guestRuns boots the kernel under two labels and files the runs of each workload by
// itself.
func (p *proof) guestRuns(name, suite string, boots int) ([]string, error) {
	all := p.file(name + ".jsonl")
	_, _, err := p.fibchurn("vm", "--kernel", p.kernel+"=a", "--kernel", p.kernel+"=b", "--boots", fmt.Sprint(boots),
		"--memory", guestMemory, "-q", "-o", all, "--", "suite", suite)
	if err != nil {
		return nil, err
	}
	runs, err := runsOf(all)
	if err != nil {
		return nil, err
	}
	var files []string
	open := map[string]*results.File{}
	for i := range runs {
		path := p.file(fmt.Sprintf("%s-%s-%s.jsonl", name, runs[i].Command, runs[i].Cell))
		if open[path] == nil {
			files = append(files, path)
			if open[path], err = results.Append(path); err != nil {
				return nil, err
			}
			defer open[path].Close()
		}
		if err := open[path].Write(&runs[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
}
