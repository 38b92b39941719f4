package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fibchurn/results"
)

// An environmentTable has a column for each kernel and machine.
type environmentTable struct {
	Names []string
	Rows  []environmentRow
}

type environmentRow struct {
	Name    string
	Values  []string
	Differs bool
}

type environment struct {
	values      []string
	name        string
	runs        int
	boots       map[string]bool
	first, last time.Time
}

func environments(runs []results.Run) environmentTable {
	var all []*environment
	for i := range runs {
		r := &runs[i]
		values := environmentValues(&r.Environment)
		at := slices.IndexFunc(all, func(e *environment) bool { return slices.Equal(e.values, values) })
		if at < 0 {
			at = len(all)
			all = append(all, &environment{values: values, name: r.SideName(), boots: map[string]bool{}, first: r.Time, last: r.Time})
		}
		e := all[at]
		e.runs++
		e.boots[r.Boot] = true
		if r.Time.Before(e.first) {
			e.first = r.Time
		}
		if r.Time.After(e.last) {
			e.last = r.Time
		}
	}
	var t environmentTable
	for _, e := range all {
		t.Names = append(t.Names, e.name)
	}
	add := func(name string, value func(*environment) string, counts bool) {
		row := environmentRow{Name: name}
		for _, e := range all {
			row.Values = append(row.Values, value(e))
		}
		row.Differs = counts && len(slices.Compact(slices.Clone(row.Values))) > 1
		if slices.ContainsFunc(row.Values, func(v string) bool { return v != "" }) {
			t.Rows = append(t.Rows, row)
		}
	}
	for i, name := range environmentNames() {
		add(name, func(e *environment) string { return e.values[i] }, i >= 2) // kernels differ by nature
	}
	add("runs", func(e *environment) string { return strconv.Itoa(e.runs) }, false)
	add("boots", func(e *environment) string { return strconv.Itoa(len(e.boots)) }, false)
	add("first run", func(e *environment) string { return stamp(e.first) }, false)
	add("last run", func(e *environment) string { return stamp(e.last) }, false)
	return t
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func environmentNames() []string {
	return []string{"kernel", "version", "architecture", "CPU", "CPUs", "virtualisation", "clock source", "governor",
		"fib_sync_mem", "debug options", "link kind", "rootless", "command line", "fibchurn"}
}

func environmentValues(e *results.Environment) []string {
	values := []string{e.Kernel, e.KernelVersion, e.Arch, e.CPU, "", e.Virtualisation, e.ClockSource, e.Governor,
		"", "unknown", e.LinkKind, "no", e.CommandLine, e.Fibchurn}
	if e.CPUs > 0 {
		values[4] = strconv.Itoa(e.CPUs)
	}
	if e.FibSyncMem >= 0 {
		values[8] = fmt.Sprintf("%d bytes", e.FibSyncMem)
	}
	if e.Debug != nil {
		values[9] = "none"
		if len(e.Debug) > 0 {
			values[9] = strings.Join(e.Debug, ", ")
		}
	}
	if e.LinkAuto {
		values[10] += " (chosen by auto)"
	}
	if e.Rootless {
		values[11] = "yes"
	}
	for i := range values {
		values[i] = results.Plain(values[i])
	}
	return values
}
