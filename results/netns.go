package results

import (
	"encoding/json"
	"fmt"
)

// The phases of netns that its conclusion speaks of.
const (
	dismantlePhase = "dismantle"
	loopsPhase     = "loops"
	fillPhase      = "fill"
)

func netnsLayout() layout {
	return layout{perTitle: "ns per\nnamespace", per: perNamespace, net: dismantlePhase, sentence: netnsSentences}
}

// perNamespace is the number of namespaces a phase works on; the requests of fill
// are others.
func perNamespace(p *Phase) int64 {
	if p.Name == fillPhase {
		return 0
	}
	return p.Ops
}

// A netnsSpec is what the conclusion needs to know of a cell's spec.
type netnsSpec struct {
	Load       string `json:"load"`
	Namespaces int    `json:"namespaces"`
	Loops      int    `json:"loops"`
	Routes     int    `json:"routes"`
	Subnets    int    `json:"subnets"`
	Families   []int  `json:"families"`
}

// netnsSpecOf reports whether all runs of the cell have one readable spec.
func netnsSpecOf(c *cell) (s netnsSpec, ok bool) {
	for i := range c.runs {
		if sharedSpec(&c.runs[i]) != sharedSpec(&c.runs[0]) {
			return s, false
		}
	}
	if len(c.runs) == 0 || json.Unmarshal(c.runs[0].Spec, &s) != nil {
		return s, false
	}
	return s, s.Namespaces > 0
}

// String names what was let go, e.g. "16 namespaces with 1000 routes each".
func (s netnsSpec) String() string {
	what := count(s.Namespaces, "namespace", "namespaces")
	families := int64(len(s.Families))
	routes := count(int64(s.Routes)*families, "route", "routes")
	subnets := count(int64(s.Subnets)*families, "local subnet", "local subnets")
	each := " each"
	if s.Namespaces == 1 {
		each = ""
	}
	switch s.Load {
	case cellAddrs:
		return what + " with " + subnets + each
	case cellRoutes:
		return what + " with " + routes + each
	case "both":
		return what + " with " + subnets + " and " + routes + each
	case cellEmpty:
		return what + " with an empty interface" + each
	case "bare":
		return what + " without an interface"
	}
	return what + " of the load " + plain(s.Load)
}

// netnsSentences says what dismantling the namespaces of each cell takes, net of as
// many with an empty interface where there are any.
func netnsSentences(b block) []string {
	var out []string
	for i := range b.cells {
		c := &b.cells[i]
		s, ok := netnsSpecOf(c)
		switch {
		case !ok:
		case s.Loops > 0:
			out = append(out, loopsSentence(c, s))
		default:
			out = append(out, dismantleSentence(c, s, emptyOf(b, s)))
		}
	}
	return out
}

// emptyOf is the calibration of a cell: the one with as many empty namespaces.
func emptyOf(b block, s netnsSpec) *cell {
	if s.Load == cellEmpty || s.Load == "bare" {
		return nil
	}
	for i := range b.cells {
		if other, ok := netnsSpecOf(&b.cells[i]); ok && other.Load == cellEmpty && other.Namespaces == s.Namespaces && other.Loops == 0 {
			return &b.cells[i]
		}
	}
	return nil
}

func loopsSentence(c *cell, s netnsSpec) string {
	wall := Of(c.runs, loopsPhase, WallTime)
	if wall.N == 0 {
		return fmt.Sprintf("No run of %s came to its end.", plain(c.name))
	}
	return fmt.Sprintf("%s of %s each take %s from the first unshare to the end of the last namespace: %s a namespace.",
		count(s.Loops, "loop", "loops"), count(s.Namespaces, "namespace", "namespaces"),
		figure(wall, "", netnsNote(c, wall)), duration(wall.Median/float64(s.Loops*s.Namespaces)))
}

func dismantleSentence(c *cell, s netnsSpec, empty *cell) string {
	wall := Of(c.runs, dismantlePhase, WallTime)
	if wall.N == 0 {
		return fmt.Sprintf("No run of %s came to its end.", plain(c.name))
	}
	text := fmt.Sprintf("Dismantling %s takes %s", s, figure(wall, "", netnsNote(c, wall)))
	if s.Namespaces > 1 {
		text += ": " + duration(wall.Median/float64(s.Namespaces)) + " a namespace"
	}
	if empty == nil {
		return text + "."
	}
	net := Net(c.runs, empty.runs, dismantlePhase, WallTime)
	switch {
	case net.N == 0:
		return text + "."
	case !net.HasInterval():
		return fmt.Sprintf("%s. Against the empty interfaces that is a difference of %s, which so few cannot tell from none.", text, figure(net, "", ""))
	case positive(net):
		return fmt.Sprintf("%s. The load costs %s.", text, figure(net, " net of the empty interfaces", ""))
	}
	return fmt.Sprintf("%s. The load %s empty interfaces: %s.", text, notMore(net), figure(net, " net", ""))
}

// netnsNote names the sample where it is too small for an interval.
func netnsNote(c *cell, s Summary) string {
	if s.HasInterval() {
		return ""
	}
	return sampleSize(s.N, boots(c.runs))
}
