package results

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// writeBench renders samples in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), for benchstat and its kin: a line
// for each sample and phase, probe or table, below the units' metadata and what the
// samples were made on. Where a set has several boots a sample is a boot, with the
// median of its runs, as in a comparison.
func writeBench(w io.Writer, runs []Run, _ FormatOptions) error {
	var b bytes.Buffer
	all := blocks(runs)
	out := benchfmt.NewWriter(&b)
	for _, u := range benchUnits(all) {
		if err := out.Write(u); err != nil {
			return err
		}
	}
	for _, block := range all {
		for _, c := range remarks(block) {
			b.WriteString("# " + c + "\n") // a line that readers pass over
		}
		config := benchConfig(block)
		for _, sample := range benchSamples(block) {
			for _, line := range sample.lines(config) {
				if err := out.Write(line); err != nil {
					return err
				}
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// benchUnit is the unit of a quantity: the primary one, ns/op, is of one operation.
func benchUnit(q quantity) string {
	switch {
	case strings.HasPrefix(q.name, perOpName):
		return "ns/op"
	case q.unit == unitNone:
		return strings.ReplaceAll(q.name, "_", "-")
	}
	return strings.ReplaceAll(q.name, "_", "-") + "-" + q.unit
}

// benchUnits says of each unit which direction is the better one, and that nothing is
// known of its distribution.
func benchUnits(all []block) []*benchfmt.UnitMetadata {
	var lines []*benchfmt.UnitMetadata
	seen := map[string]bool{}
	for _, b := range all {
		for _, c := range b.cells {
			for i := range c.runs {
				for _, r := range readings(&c.runs[i]) {
					unit := benchUnit(r.quantity)
					if seen[unit] {
						continue
					}
					seen[unit] = true
					_, tidy := benchunit.Tidy(1, unit)
					add := func(key, value string) {
						lines = append(lines, &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: tidy, Key: key}, OrigUnit: unit, Value: value})
					}
					if r.better != "" {
						add("better", r.better)
					}
					add("assume", "nothing")
				}
			}
		}
	}
	return lines
}

// benchConfig is what all samples of a block share. All that sets blocks apart is in it,
// so that no tool pools what is not of one kind.
func benchConfig(b block) []benchfmt.Config {
	e := &b.runs[0].Environment
	pairs := []struct{ key, value string }{
		{"goos", "linux"},
		{"arch", e.Arch},
		{"cpu", e.CPU},
		{"cpus", aboveZero(int64(e.CPUs))},
		{"virtualisation", e.Virtualisation},
		{"governor", e.Governor},
		{"label", e.Label},
		{"kernel", e.Kernel},
		{"kernel-version", e.KernelVersion},
		{"boot-options", strings.Join(bootWords(e), " ")},
		{"debug", debugText(e)},
		{"fib-sync-mem", aboveZero(e.FibSyncMem)},
		{"link-kind", e.LinkKind},
		{"rootless", strconv.FormatBool(e.Rootless)},
		{"fibchurn", e.Fibchurn},
		{"spec", strings.Join(specTexts(b), ", ")},
	}
	var config []benchfmt.Config
	for _, p := range pairs {
		if value := strings.TrimSpace(unbreak(plain(unbreak(p.value)))); value != "" {
			config = append(config, benchfmt.Config{Key: p.key, Value: []byte(value), File: true})
		}
	}
	return config
}

func aboveZero(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// A benchSample is a run, or the runs of one boot, of a cell.
type benchSample struct{ runs []Run }

// benchSamples are in the order of their first runs.
func benchSamples(b block) []benchSample {
	perBoot := boots(b.samples()) > 1
	var samples []benchSample
	index := map[string]int{}
	for i := range b.runs {
		r := &b.runs[i]
		if !r.Sample() {
			continue
		}
		key := r.Cell + "\n" + r.Boot
		n, known := index[key]
		if !perBoot || !known {
			n = len(samples)
			index[key] = n
			samples = append(samples, benchSample{})
		}
		samples[n].runs = append(samples[n].runs, *r)
	}
	return samples
}

// lines returns a line for each place that the sample has readings of.
func (s benchSample) lines(config []benchfmt.Config) []*benchfmt.Result {
	var lines []*benchfmt.Result
	values := map[string][]float64{}
	type slot struct {
		line *benchfmt.Result
		n    int
	}
	slots := map[string]slot{}
	var order []string
	byName := map[string]*benchfmt.Result{}
	for i := range s.runs {
		for _, r := range readings(&s.runs[i]) {
			name := benchName(&s.runs[i], r.at)
			line := byName[name]
			if line == nil {
				line = &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: int(r.n)}
				byName[name] = line
				lines = append(lines, line)
			}
			key, unit := name+"\n"+r.name, benchUnit(r.quantity)
			if _, known := slots[key]; !known {
				slots[key] = slot{line, len(line.Values)}
				line.Values = append(line.Values, benchfmt.Value{Unit: unit})
				order = append(order, key)
			}
			values[key] = append(values[key], r.value)
		}
	}
	for _, key := range order {
		slots[key].line.Values[slots[key].n].Value = Summarize(values[key]).Median
	}
	return lines
}

// benchName is e.g. "DeleteIface/cell=addrs/phase=delete-2"; the number is that of the
// processors, as Go's is.
func benchName(r *Run, at []place) string {
	name := ""
	for part := range strings.SplitSeq(r.Command, "-") {
		name += word(strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):])
	}
	for _, p := range slices.Concat([]place{{"cell", r.Cell}}, at) {
		name += "/" + p.key + "=" + word(p.value)
	}
	return name + "-" + strconv.Itoa(max(1, r.Environment.CPUs))
}
