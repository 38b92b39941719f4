package results

import (
	"encoding/json"
	"fmt"
	"strings"
)

// writersOf is the number of parallel writers of a cell's runs, 1 where the spec
// does not say.
func writersOf(c *cell) int { return writersIn(c.runs) }

func writersIn(runs []Run) int {
	var spec struct {
		Parallel int `json:"parallel"`
	}
	if len(runs) == 0 || json.Unmarshal(runs[0].Spec, &spec) != nil || spec.Parallel < 1 {
		return 1
	}
	return spec.Parallel
}

// scalingSentences compares the throughput of several writers with that of one at
// the same table, phase by phase.
func scalingSentences(b block) []string {
	var out []string
	for i := range b.cells {
		c := &b.cells[i]
		one := singleWriter(b, c)
		if writersOf(c) == 1 || one == nil {
			continue
		}
		var parts []string
		for _, phase := range phaseNames(c.runs) {
			many, alone := Of(c.runs, phase, WallTime), Of(one.runs, phase, WallTime)
			ops := c.runs[0].Phase(phase)
			if ops == nil || ops.Ops < int64(writersOf(c)) || many.Median <= 0 || alone.N == 0 || phase == "flush" {
				continue
			}
			parts = append(parts, fmt.Sprintf("%s %s", phase, times(alone.Median/many.Median)))
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("%d writers reach, against one (ratio of median throughputs): %s.", writersOf(c), strings.Join(parts, ", ")))
		}
	}
	return out
}

// singleWriter is the cell of one writer with as many routes as c.
func singleWriter(b block, c *cell) *cell {
	for i := range b.cells {
		other := &b.cells[i]
		if writersOf(other) == 1 && routesOf(other) == routesOf(c) {
			return other
		}
	}
	return nil
}

// routesOf is the number of routes that a cell's first run added.
func routesOf(c *cell) int64 {
	if len(c.runs) == 0 {
		return 0
	}
	if p := c.runs[0].Phase("add"); p != nil {
		return p.Subnets
	}
	return 0
}

// routesSentences concludes the command routes.
func routesSentences(b block) []string {
	return append(growthSentences(b, "routes"), scalingSentences(b)...)
}
