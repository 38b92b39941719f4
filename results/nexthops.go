package results

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Kinds of next hops, as the spec of nexthops has them.
const (
	hopsObjects = "objects"
	hopsPlain   = "plain"
)

func nexthopsLayout() layout {
	return layout{perTitle: "ns per\nroute", per: perRoute, sentence: nexthopsSentences}
}

// A nexthopsSpec is what the conclusion needs to know of a cell's spec.
type nexthopsSpec struct {
	Hops  string `json:"hops"`
	Paths int    `json:"paths"`
}

// nexthopsSpecOf reports whether all runs of the cell have one readable spec.
func nexthopsSpecOf(c *cell) (s nexthopsSpec, ok bool) {
	for i := range c.runs {
		if sharedSpec(&c.runs[i]) != sharedSpec(&c.runs[0]) {
			return s, false
		}
	}
	if len(c.runs) == 0 || json.Unmarshal(c.runs[0].Spec, &s) != nil {
		return s, false
	}
	return s, s.Paths > 0
}

// nexthopsSentences compares, for each number of paths, next hops in the routes with
// next hops in an object, phase by phase.
func nexthopsSentences(b block) []string {
	var out []string
	for i := range b.cells {
		own := &b.cells[i]
		s, ok := nexthopsSpecOf(own)
		if !ok || s.Hops == hopsObjects {
			continue
		}
		if objects := objectsOf(b, s.Paths); objects != nil {
			out = append(out, compareHops(own, objects, s))
		}
	}
	if out == nil {
		return nil
	}
	return append(out, "Without objects, replace and delete are one request a route; with them, one request to what all routes share.")
}

func objectsOf(b block, paths int) *cell {
	for i := range b.cells {
		if s, ok := nexthopsSpecOf(&b.cells[i]); ok && s.Hops == hopsObjects && s.Paths == paths {
			return &b.cells[i]
		}
	}
	return nil
}

func compareHops(own, objects *cell, s nexthopsSpec) string {
	name, object := "multipath", "a nexthop group"
	if s.Hops == hopsPlain {
		name, object = "plain", "a nexthop object"
	}
	var parts []string
	for _, phase := range PhaseNames(own.runs) {
		if part := compareHopsPhase(own, objects, phase); part != "" {
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return fmt.Sprintf("No run of %s and of %s went side by side.", plain(own.name), plain(objects.name))
	}
	routes, which := own.runs[0].Phase("add"), "the routes"
	if routes != nil && routes.Subnets > 0 {
		which = count(routes.Subnets, "route", "routes")
	}
	return fmt.Sprintf("With %s, %s next hops in %s against %s that all share: %s.",
		count(s.Paths, "path", "paths"), name, which, object, strings.Join(parts, "; "))
}

// compareHopsPhase gives a ratio only where the difference, run by run, is
// distinguishable from nothing.
func compareHopsPhase(own, objects *cell, phase string) string {
	a, o := Of(own.runs, phase, WallTime), Of(objects.runs, phase, WallTime)
	net := Net(own.runs, objects.runs, phase, WallTime)
	if a.N == 0 || o.N == 0 || net.N == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s against %s", plain(phase), duration(a.Median), duration(o.Median))
	switch {
	case !net.HasInterval():
		return fmt.Sprintf("%s (%s, too few to tell them apart)", text, sampleSize(net.N, boots(own.runs)))
	case net.Lo > 0 && o.Median > 0:
		return fmt.Sprintf("%s, %s as long", text, times(a.Median/o.Median))
	case net.Hi < 0 && a.Median > 0:
		return fmt.Sprintf("%s, which is %s as long", text, times(o.Median/a.Median))
	}
	return text + ", no measurable difference"
}
