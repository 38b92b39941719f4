package churn

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// The cells of resize: a sequence of operations that takes one tnode through its
// thresholds, and the same operations where no tnode changes.
const (
	resizeCrossing = "crossing"
	resizeControl  = "control"
)

// ResizeCells are the cells of resize.
func ResizeCells() []string { return []string{resizeCrossing, resizeControl} }

// The patterns of resize.
const (
	patternOscillate = "oscillate" // a dense block shrinks and grows through both thresholds, again and again
	patternGrow      = "grow"      // it grows from nothing
	patternShrink    = "shrink"    // it shrinks to nothing
	patternSplit     = "split"     // a route on a compressed path comes and goes
	patternSuffix    = "suffix"    // a route of a longer suffix comes and goes
)

// ResizePatterns are the patterns of resize, the default first.
func ResizePatterns() []string {
	return []string{patternOscillate, patternGrow, patternShrink, patternSplit, patternSuffix}
}

// ResizeCycles is how often a pattern is gone through in a run unless the spec
// says otherwise.
func ResizeCycles(pattern string) int {
	switch pattern {
	case patternGrow, patternShrink:
		return 1
	case patternOscillate:
		return 10
	}
	return 1000
}

const (
	minNodeBits = 3 // a smaller tnode collapses before it is halved
	maxNodeBits = 18
	// maxResizeOps bounds the memory in which the times of a run are kept.
	maxResizeOps = 1 << 22
	// resizeTable is the table of a tnode that is to be a root: all others share
	// theirs with the local table, whose loopback entries are the root's other
	// children.
	resizeTable = 1000
	mainTable   = unix.RT_TABLE_MAIN
)

// A ResizeSpec is one cell of resize: the time of every single operation that
// takes one tnode through the thresholds of should_inflate and should_halve
// (net/ipv4/fib_trie.c), or of the same operations where it does not get there.
type ResizeSpec struct {
	Load     string `json:"load"` // "crossing" or "control"
	Pattern  string `json:"pattern"`
	NodeBits int    `json:"node_bits"` // the tnode's bits below the threshold; NodeBits+1 above
	Cycles   int    `json:"cycles"`
	Root     bool   `json:"root"`     // the tnode is the root of a table of its own
	Families []int  `json:"families"` // 4
	LinkKind string `json:"link_kind"`
	Seed     uint64 `json:"seed"` // of the order of the runs

	forecast *resizeForecast // made once, by Prepare
}

// Validate returns the first thing that is wrong with the spec, in the words of
// the command line.
func (s *ResizeSpec) Validate() error {
	once := s.Pattern == patternGrow || s.Pattern == patternShrink
	switch {
	case !slices.Contains(ResizeCells(), s.Load):
		return fmt.Errorf("unknown cell %q", s.Load)
	case !slices.Contains(ResizePatterns(), s.Pattern):
		return fmt.Errorf("--pattern %s: must be %s", s.Pattern, strings.Join(ResizePatterns(), ", "))
	case s.NodeBits < minNodeBits || s.NodeBits > maxNodeBits:
		return fmt.Errorf("--node-bits %d: must be %d to %d", s.NodeBits, minNodeBits, maxNodeBits)
	case s.Cycles < 1:
		return fmt.Errorf("--cycles %d: must be at least 1", s.Cycles)
	case once && s.Cycles != 1:
		return fmt.Errorf("--cycles %d: the pattern %s goes through its sizes once a run", s.Cycles, s.Pattern)
	case !slices.Equal(s.Families, []int{4}):
		return fmt.Errorf("-6: resize is about the trie of IPv4; the tables of IPv6 are not resized (net/ipv6/ip6_fib.c)")
	}
	// Two operations a cycle, or at most twice the routes of the dense block.
	cycle := 2
	if s.Pattern == patternOscillate {
		cycle = 2 << s.NodeBits
	}
	if s.Cycles > maxResizeOps/cycle {
		return fmt.Errorf("--cycles %d: one run takes at most %d here", s.Cycles, maxResizeOps/cycle)
	}
	return nil
}

// Prepare finds the pattern's operations and what they will do, by the model. It
// takes seconds for the largest tnodes; Plan does it where it was not called.
func (s *ResizeSpec) Prepare() error {
	if s.forecast != nil {
		return nil
	}
	cells, err := resizePattern(s.Pattern, s.Root, s.NodeBits, s.Cycles)
	if err != nil {
		return err
	}
	s.forecast, err = forecast(cells, s.Root, s.Load, s.Pattern == patternSuffix)
	return err
}

// Command, Cell and Spec make the spec a Workload.
func (s *ResizeSpec) Command() string { return "resize" }

// Cell is "crossing" or "control".
func (s *ResizeSpec) Cell() string { return s.Load }

// Spec returns s.
func (s *ResizeSpec) Spec() any { return s }

// table is where the pattern's routes go.
func (s *ResizeSpec) table() uint32 {
	if s.Root {
		return resizeTable
	}
	return mainTable
}

// Plan fills the table, times the operations of the pattern one by one, in the
// phase of the pattern's name, and then goes through them once more in another
// namespace, untimed, to look at the trie: a look walks the whole trie, and the
// operation after it would find everything in the caches.
func (s *ResizeSpec) Plan() (*Plan, error) {
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	tuns := &tunSet{}
	links := []ns.Link{ns.NewLink(s.LinkKind, 0)}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	create.Untimed, up.Untimed = true, true
	r, err := newResizeRun(s, links)
	if err != nil {
		return nil, err
	}
	pattern := &s.forecast.pattern
	fill := &Phase{Name: "fill", Untimed: true, Loaded: true, Timed: r.fill, Check: r.countRoutes("fill", pattern.setup)}
	// A cycle of several leaves the table as it was.
	timed := &Phase{
		Name: s.Pattern, Timed: r.measure, After: r.report,
		Check: r.countRoutes(s.Pattern, pattern.setup, pattern.cycle),
	}
	look := &Phase{
		Name: "look", Untimed: true, Timed: r.look, After: r.reportLooks,
		Check: func(*Inventory) []results.Check { return r.looks.checks() },
	}
	return &Plan{
		Configure: func(n *ns.Namespace) error { return quiet(n, s.Families) },
		Families:  s.Families,
		Phases:    []*Phase{create, up, fill, timed, look},
		Close:     tuns.close,
	}, nil
}

// countRoutes demands the routes that lists of operations leave.
func (r *resizeRun) countRoutes(phase string, lists ...[]routeOp) func(*Inventory) []results.Check {
	var want int64
	for _, list := range lists {
		own, beside := sizesOf(list)
		want += own + beside
	}
	return func(inv *Inventory) []results.Check {
		ours := func(c rtnl.RouteClass) bool { return c.Index == r.links[0].Index && c.Type == unix.RTN_UNICAST }
		return []results.Check{{Name: "IPv4 routes after " + phase, Want: want, Got: inv.routes(4, ours)}}
	}
}

// Links is the kind of the links.
func (s *ResizeSpec) Links() *string { return &s.LinkKind }
