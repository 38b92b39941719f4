package churn

import (
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A Workload is one cell of a command: a spec, turned into a plan for every run.
type Workload interface {
	Command() string // "delete-iface"
	Cell() string    // "addrs"
	Spec() any       // becomes the record's spec
	// Plan encodes everything one run sends. It is called outside the clock,
	// before the namespace exists.
	Plan() (*Plan, error)
}

// A Plan is one run, encoded before the first clock starts.
type Plan struct {
	// Configure sets the fresh namespace up, untimed.
	Configure func(*ns.Namespace) error
	Families  []int // 4, 6: whose addresses and routes the checks count
	Phases    []*Phase
	// Close releases what the phases hold open, after the run's last check.
	Close func() error
}

// A Phase is one timed stretch of a run.
type Phase struct {
	Name    string
	Subnets int64 // local subnets or routes it works on, 0 where that means nothing

	// The requests, and how many of them go into one call (0: as many as fit).
	Batch   rtnl.Batch
	PerCall int
	// Timed replaces the batch where the kernel has no netlink request for it. It
	// runs on the namespace's thread, opens its own clock, and returns its cost.
	Timed func() (rtnl.Cost, error)
	// Describe names request i in an error, e.g. "add 10.0.0.1/24 to fc0".
	Describe func(i int) string

	// Loaded marks the last phase that builds the load: the trie's shape is taken
	// after it (and after the run's last phase), and Check follows.
	Loaded bool
	Check  func(*Inventory) []results.Check
}

// An Observer watches a run from beside its timed thread: Start is called before
// the first phase and Stop after the last, to add what it saw to the record.
type Observer interface {
	Start(*ns.Namespace) error
	Stop(*results.Run) error
}
