package results

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// writeLKP renders the medians as lines of "key: value", as the programs under stats of
// lkp-tests print them for its dump-stat: one line a key, keys without spaces, values
// without exponents (dump-stat would read 1e+06 as 1). Comments say what was measured.
func writeLKP(w io.Writer, runs []Run, _ FormatOptions) error {
	var b bytes.Buffer
	all := blocks(runs)
	names := setNames(all)
	written := map[string]bool{}
	line := func(key string, value float64) {
		for base, n := key, 2; written[key]; n++ {
			key = base + "." + strconv.Itoa(n) // a second value would be another record
		}
		written[key] = true
		fmt.Fprintf(&b, "%s: %s\n", key, decimal(value))
	}
	for i, block := range all {
		for _, c := range remarks(block) {
			fmt.Fprintf(&b, "# %s\n", c)
		}
		for _, d := range digests(block) {
			line(key(names[i], block.runs[0].Command, d.cell)+"."+d.path()+lkpSuffix(d.unit), d.Median)
		}
		for _, c := range countsOf(block) {
			cell := key(names[i], c.command, c.cell)
			line(cell+".runs", float64(c.runs))
			line(cell+".failed_checks", float64(c.failedChecks))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func lkpSuffix(unit string) string {
	switch unit {
	case unitNS:
		return "_ns"
	case unitBytes:
		return "_bytes"
	case unitRate:
		return "_per_second"
	case unitRatio:
		return "_ratio"
	}
	return ""
}

// decimal renders a figure without an exponent.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
