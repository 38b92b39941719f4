package results

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// writePrometheus renders medians, with the bounds of their 95 % intervals where there
// are any, as gauges in Prometheus' text format, for node_exporter's textfile collector.
// Units are seconds and bytes; there are no time stamps, which that collector refuses.
// The label set is the same for the same machine, kernel and parameters;
// fibchurn_set_info says what they are.
func writePrometheus(w io.Writer, runs []Run, _ FormatOptions) error {
	var g gauges
	for _, b := range blocks(runs) {
		g.block(b)
	}
	slices.SortFunc(g.families, func(x, y *dto.MetricFamily) int { return cmp.Compare(x.GetName(), y.GetName()) })
	var buf bytes.Buffer
	for _, f := range g.families {
		if _, err := expfmt.MetricFamilyToText(&buf, f); err != nil {
			return err
		}
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// gauges are a rendering under way.
type gauges struct{ families []*dto.MetricFamily }

func (g *gauges) block(b block) {
	r := &b.runs[0]
	e := &r.Environment
	set := setID(b)
	g.add("fibchurn_set_info", "What the runs of a set were measured on and with; always 1.", 1, []place{
		{"set", set}, {"command", r.Command}, {"kernel", e.Kernel}, {"kernel_version", e.KernelVersion}, {"label", e.Label},
		{"arch", e.Arch}, {"cpu", e.CPU}, {"cpus", aboveZero(int64(e.CPUs))}, {"virtualisation", e.Virtualisation},
		{"governor", e.Governor}, {"debug", debugText(e)}, {"link_kind", e.LinkKind}, {"fibchurn", e.Fibchurn},
		{"spec", unbreak(strings.Join(specTexts(b), ", "))},
	})
	labels := func(cell string, more ...place) []place {
		return append([]place{{"set", set}, {"command", r.Command}, {"cell", cell}, {"kernel", e.Kernel}, {"label", e.Label}}, more...)
	}
	for _, d := range digests(b) {
		g.digest(d, labels(d.cell, d.at...))
	}
	for _, c := range countsOf(b) {
		for _, n := range []struct {
			result string
			runs   int
		}{{"sample", c.samples}, {"failed", c.failed}, {"partial", c.partial}, {"instrumented", c.instrumented}} {
			g.add("fibchurn_runs", "Runs by how they ended: samples enter the figures, no others do.", float64(n.runs),
				labels(c.cell, place{"result", n.result}))
		}
		g.add("fibchurn_failed_checks", "Checks of what the kernel then had that did not hold, of all runs.", float64(c.failedChecks), labels(c.cell))
		g.add("fibchurn_last_run_timestamp_seconds", "When the last run began.", float64(c.last.UnixMilli())/1e3, labels(c.cell))
		for _, kind := range slices.Sorted(maps.Keys(c.warnings)) {
			g.add("fibchurn_doubtful_runs", "Runs with a reason to doubt their figures, by its kind.", float64(c.warnings[kind]),
				labels(c.cell, place{"warning", kind}))
		}
	}
}

// digest adds the median, and its interval where there is one.
func (g *gauges) digest(d digest, labels []place) {
	scale, suffix := 1.0, ""
	switch d.unit {
	case unitNS:
		scale, suffix = 1e9, "_seconds"
	case unitBytes:
		suffix = "_bytes"
	case unitRate:
		suffix = "_operations_per_second"
	case unitRatio:
		suffix = "_ratio"
	}
	name, of := prometheusName(d), prometheusHelp(d)
	g.add(name+suffix, "Median "+of+".", d.Median/scale, labels)
	if d.HasInterval() && (d.unit == unitNS || d.unit == unitRate) { // a shape follows from the parameters
		g.add(name+"_low"+suffix, "Lower bound of the 95 % interval of the median "+of+".", d.Lo/scale, labels)
		g.add(name+"_high"+suffix, "Upper bound of the 95 % interval of the median "+of+".", d.Hi/scale, labels)
	}
}

// prometheusName is the name of a figure's family without the unit.
func prometheusName(d digest) string {
	group, name := d.at[0].key, d.name
	switch group {
	case "probe":
		group = "lookup"
	case "op":
		group, name = "operation", strings.TrimPrefix(name, "op_")
	}
	return "fibchurn_" + group + "_" + name
}

// prometheusHelp says what a family is of.
func prometheusHelp(d digest) string {
	if of, ok := strings.CutPrefix(d.name, perOpName); ok {
		return "wall time of a phase per " + of
	}
	words := map[string]string{
		"wall": "wall time", "cpu": "CPU time", "blocked": "blocked time: neither computing nor in the kernel on a CPU,",
		"net_wall": "wall time net of the empty cell", "net_cpu": "CPU time net of the empty cell",
		"net_p50": "p50, net of the calibration,", "calibration_p50": "p50, without the lookup,",
		"reached": "rate reached", "late": "share of late operations",
	}
	name := words[d.name]
	if name == "" {
		name = strings.TrimPrefix(strings.ReplaceAll(d.name, "_", " "), "op ")
	}
	switch {
	case d.at[0].key == "probe":
		return name + " of the lookups of a run"
	case d.at[0].key == "packets" && d.name == "gap":
		return "time from one packet to the next"
	case d.at[0].key == "packets":
		return name + " of the packets of a run"
	case d.at[0].key == "transition":
		return "time of the operations of a run that change tnodes"
	case d.at[0].key == "trie":
		return name + " of a route table"
	case d.at[0].key == "op", strings.HasPrefix(d.name, "op_"):
		return name + " of the single operations of a run"
	}
	return name + " of a phase"
}

// add adds a sample to the family of that name. Labels without a value are left out.
func (g *gauges) add(name, help string, value float64, labels []place) {
	i := slices.IndexFunc(g.families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	if i < 0 {
		i = len(g.families)
		kind := dto.MetricType_GAUGE
		g.families = append(g.families, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind})
	}
	metric := &dto.Metric{Gauge: &dto.Gauge{Value: &value}}
	for _, l := range labels {
		if text := unbreak(plain(l.value)); text != "" {
			metric.Label = append(metric.Label, &dto.LabelPair{Name: &l.key, Value: &text})
		}
	}
	g.families[i].Metric = append(g.families[i].Metric, metric)
}
