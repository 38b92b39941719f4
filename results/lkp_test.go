package results

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// lkp-tests' dump-stat splits a line at the first ": ", refuses keys with spaces,
// values that are no numbers, and takes a number without a point for an integer; keys
// that are there more than once are further records.
func TestLKPIsRead(t *testing.T) {
	number := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	for name, runs := range formatCases(t) {
		seen := map[string]bool{}
		for line := range strings.Lines(formatted(t, "lkp", runs, FormatOptions{})) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "#") {
				continue
			}
			key, value, found := strings.Cut(line, ": ")
			if !found || strings.ContainsAny(key, " \t") || !number.MatchString(value) {
				t.Errorf("%s: %q", name, line)
			}
			if seen[key] {
				t.Errorf("%s: %s is there twice", name, key)
			}
			seen[key] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s: no keys", name)
		}
	}
}

func TestLKPFigures(t *testing.T) {
	runs := threeCells().make()
	out := formatted(t, "lkp", runs, FormatOptions{})
	b := blocks(runs)[0]
	for key, want := range map[string]float64{
		"delete-iface.addrs.delete.wall_ns":            Of(b.cell(cellAddrs).runs, deletePhase, WallTime).Median,
		"delete-iface.addrs.delete.wall_per_subnet_ns": Of(b.cell(cellAddrs).runs, deletePhase, WallTime).Median / 8192,
		"delete-iface.addrs.delete.net_wall_ns":        Net(b.cell(cellAddrs).runs, b.cell(cellEmpty).runs, deletePhase, WallTime).Median,
		"delete-iface.routes.runs":                     10,
		"delete-iface.routes.failed_checks":            0,
	} {
		if line := "\n" + key + ": " + strconv.FormatFloat(want, 'f', -1, 64) + "\n"; !strings.Contains(out, line) {
			t.Errorf("no line %q", line)
		}
	}
}
