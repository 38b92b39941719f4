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
		few := 0
		for _, phase := range PhaseNames(c.runs) {
			ops := c.runs[0].Phase(phase)
			if ops == nil || ops.Ops < int64(writersOf(c)) || phase == "flush" {
				continue
			}
			// Throughputs stand to each other as the times do, the other way round.
			ratio := ratioWithin(c.runs, one.runs, phase, WallTime)
			switch {
			case ratio.HasInterval():
				parts = append(parts, fmt.Sprintf("%s %s", plain(phase), ratioText(ratio)))
			case ratio.N > 0:
				few = ratio.N
			}
		}
		switch {
		case len(parts) > 0:
			out = append(out, fmt.Sprintf("%d writers reach, against one, so many times the throughput: %s.", writersOf(c), strings.Join(parts, "; ")))
		case few > 0:
			out = append(out, fmt.Sprintf("%s are too few to say how %d writers compare with one: it takes %d.",
				capital(sampleSize(few, boots(c.runs))), writersOf(c), MinRuns))
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
