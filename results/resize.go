package results

import "math"

// A Resize is what the command resize saw of rebalancing in one run: the costs of
// single operations, and which tnodes they changed. Times of operations are wall
// times in ns without the time they were Blocked in, which is apart.
//
// What an operation does to the trie is what the model of net/ipv4/fib_trie.c
// predicts; the run's checks say whether the kernel did it.
type Resize struct {
	Pattern    string `json:"pattern"`
	NodeBits   int    `json:"node_bits"` // the pattern is about a tnode of this size
	Root       bool   `json:"root"`      // the tnode is a root: other thresholds
	Operations int64  `json:"operations"`
	// Beside is how many routes there are beside the pattern's own. These are what
	// every Size counts, in both cells alike.
	Beside int64 `json:"beside"`
	// InflateAt is how many routes of the dense block make the kernel inflate its
	// tnode of NodeBits, HalveAt how many left make it halve it again.
	InflateAt int64 `json:"inflate_at"`
	HalveAt   int64 `json:"halve_at"`

	Events ResizeEvents `json:"events"` // of all operations
	Calls  ResizeCalls  `json:"calls"`
	Looks  int64        `json:"looks"` // shapes of the trie compared with the model's

	Waits ResizeWaits `json:"waits"`

	// Crossed is how many operations changed a tnode. Transitions are these by what
	// they do, TransitionsTotal how many sorts there are. A control has the
	// transitions of the crossing cell too, with the times of its own operations in
	// the same places, which change nothing.
	Crossed          int64              `json:"crossed"`
	Transitions      []ResizeTransition `json:"transitions"`
	TransitionsTotal int64              `json:"transitions_total"`

	Crossings []ResizeOperation `json:"crossings"` // the slowest that changed a tnode, in order
	Spikes    []ResizeOperation `json:"spikes"`    // the slowest that changed none, in order
	Curve     []ResizeBin       `json:"curve"`
	Adds      *Distribution     `json:"adds,omitempty"`
	Deletes   *Distribution     `json:"deletes,omitempty"`
}

// ResizeEvents are what operations do to tnodes.
type ResizeEvents struct {
	Resizes     int64 `json:"resizes"` // calls of resize, also those that change nothing
	Splits      int64 `json:"splits"`
	Inflates    int64 `json:"inflates"`
	Halves      int64 `json:"halves"`
	Collapses   int64 `json:"collapses"`
	SuffixReads int64 `json:"suffix_reads"` // children read by update_suffix
	FreedBytes  int64 `json:"freed_bytes"`  // tnodes replaced (tnode_free)
}

// Changes counts the changes of tnodes.
func (e ResizeEvents) Changes() int64 { return e.Splits + e.Inflates + e.Halves + e.Collapses }

// ResizeCalls are the calls of the kernel's resize that a kprobe counted. Why
// says what stood against counting, and then there is no figure.
type ResizeCalls struct {
	Counted int64  `json:"counted,omitempty"`
	Why     string `json:"why,omitempty"`
}

// ResizeWaits are the operations in which the thread gave up the CPU to wait: for
// a grace period (synchronize_net in tnode_free), or for a lock.
type ResizeWaits struct {
	Count   int64 `json:"count"`
	Blocked int64 `json:"blocked_ns"`
}

// A ResizeTransition is the operations of one run that do the same to the same
// tnodes at the same table size.
type ResizeTransition struct {
	Op     string           `json:"op"`     // "add" or "delete"
	Size   int64            `json:"size"`   // the pattern's own routes after the operation
	Kinds  map[string]int64 `json:"kinds"`  // "split", "inflate", "halve", "collapse", "suffix" -> how many
	Before map[int]int64    `json:"before"` // sizes of tnodes of which the number changes -> the number before
	After  map[int]int64    `json:"after"`  // and after
	Ops    int64            `json:"ops"`
	P50    int64            `json:"p50_ns"`
	Min    int64            `json:"min_ns"`
	Max    int64            `json:"max_ns"`
	Waits  ResizeWaits      `json:"waits"`
}

// Work is the number of children of the tnodes that went and came: what tells a
// large transition from a small one.
func (t *ResizeTransition) Work() int64 {
	work := t.Kinds["suffix"]
	for bits, n := range t.Before {
		changed := max(n-t.After[bits], t.After[bits]-n)
		if changed > math.MaxInt64>>bits {
			return math.MaxInt64
		}
		work = plus(work, changed<<bits)
	}
	return work
}

// A ResizeOperation is one operation that is told by itself.
type ResizeOperation struct {
	Index   int64            `json:"index"` // 0-based, in the timed phase
	Op      string           `json:"op"`
	Prefix  string           `json:"prefix"`
	Size    int64            `json:"size"`
	Wall    int64            `json:"wall_ns"`
	Blocked int64            `json:"blocked_ns,omitempty"`
	Kinds   map[string]int64 `json:"kinds,omitempty"`
	Before  map[int]int64    `json:"before,omitempty"` // from the kernel, as ResizeTransition
	After   map[int]int64    `json:"after,omitempty"`
}

// A ResizeBin is the cost of operations of one sort that left From to To of the
// pattern's own routes, both included.
type ResizeBin struct {
	Op   string `json:"op"`
	From int64  `json:"size_from"`
	To   int64  `json:"size_to"`
	Ops  int64  `json:"ops"`
	P50  int64  `json:"p50_ns"`
	Max  int64  `json:"max_ns"`
}
