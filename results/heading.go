package results

import (
	"encoding/json"
	"fmt"
	"strings"
)

// heading says what was measured, on what, and how often.
func heading(b block) []string {
	r := &b.runs[0]
	label := ""
	if r.Environment.Label != "" {
		label = plain(r.Environment.Label) + ": "
	}
	return []string{
		label + plain(r.Command) + " on " + strings.Join(machineTexts(r), ", "),
		strings.Join(append(runTexts(b), specTexts(b)...), ", "),
	}
}

// machineTexts leaves out what is not known.
func machineTexts(r *Run) []string {
	e := &r.Environment
	kernel := "an unknown kernel"
	if e.Kernel != "" {
		kernel = strings.TrimSpace("Linux " + plain(e.Kernel) + " " + plain(e.Arch))
	}
	texts := []string{kernel}
	add := func(known bool, text string) {
		if known {
			texts = append(texts, text)
		}
	}
	add(e.CPU != "", plain(e.CPU))
	add(e.CPUs > 0, count(e.CPUs, "CPU", "CPUs"))
	switch e.Virtualisation {
	case "":
	case "none":
		add(true, "no virtualisation")
	default:
		add(true, "virtualisation "+plain(e.Virtualisation))
	}
	link := plain(e.LinkKind)
	if e.LinkAuto {
		link += " (chosen by auto)"
	}
	add(e.LinkKind != "", "link kind "+link)
	const usual = 512 << 10 // sysctl_fib_sync_mem, net/ipv4/fib_trie.c
	add(e.FibSyncMem > 0 && e.FibSyncMem != usual, "fib_sync_mem "+count(e.FibSyncMem, "byte", "bytes"))
	add(e.Rootless, "rootless")
	return texts
}

// runTexts counts the samples, altogether and by cell.
func runTexts(b block) []string {
	samples := b.samples()
	texts := []string{count(len(samples), "run", "runs")}
	if n := boots(samples); n > 1 {
		texts[0] += fmt.Sprintf(" of %d boots, each of which enters with its median", n)
	}
	var cells []string
	for _, c := range b.cells {
		cells = append(cells, fmt.Sprintf("%s%s%d", plain(c.name), nbsp, len(c.runs)))
	}
	if cells != nil {
		texts[0] += " (" + strings.Join(cells, ", ") + ")"
	}
	return append(texts, besideTexts(b)...)
}

// besideTexts counts the runs that are no samples because they were watched.
func besideTexts(b block) []string {
	var profiled, traced int
	for i := range b.runs {
		if r := &b.runs[i]; r.profiled() {
			profiled++
		} else if r.traced() {
			traced++
		}
	}
	var texts []string
	for _, n := range []struct {
		runs int
		word string
	}{{profiled, "profiled"}, {traced, "traced"}} {
		if n.runs > 0 {
			texts = append(texts, fmt.Sprintf("beside them %d%s%s", n.runs, nbsp, n.word))
		}
	}
	if len(texts) == 2 {
		return []string{texts[0] + " and " + strings.TrimPrefix(texts[1], "beside them ")}
	}
	return texts
}

// specTexts shows the parameters that all runs share and that say something:
// not those that are off, zero or empty.
func specTexts(b block) []string {
	shared := map[string]int{}
	for i := range b.runs {
		for _, f := range specFields(b.runs[i].Spec) {
			shared[f.name+"="+string(f.value)]++
		}
	}
	var texts []string
	for _, f := range specFields(b.runs[0].Spec) {
		text := valueText(f.value)
		if f.name == "link_kind" {
			continue // the first line says which it was in the end
		}
		if text != "" && shared[f.name+"="+string(f.value)] == len(b.runs) {
			texts = append(texts, plain(f.name)+nbsp+plain(text))
		}
	}
	return texts
}

// valueText renders a JSON value for the heading; "" leaves it out.
func valueText(raw json.RawMessage) string {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
	case float64:
		if v != 0 {
			return string(raw) // as written: 8192, not 8.192e+03
		}
	case []any:
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return ""
		}
		var texts []string
		for _, e := range list {
			texts = append(texts, valueText(e))
		}
		return strings.Join(texts, "+")
	}
	return ""
}
