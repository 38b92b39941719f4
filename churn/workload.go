package churn

import (
	"time"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A Workload is one cell of a command: a spec, turned into a plan for every run.
type Workload interface {
	Command() string // "delete-iface"
	Cell() string    // "addrs"
	Spec() any       // becomes the record's spec
	// Plan prepares one run, outside of every clock and before the namespace
	// exists.
	Plan() (*Plan, error)
}

// An Interruptible is a Workload whose runs take a time of their own and end early,
// partial but with their checks made, once the channel is closed.
type Interruptible interface{ Interrupt(stop <-chan struct{}) }

// A Prober is a Workload that may be impossible here. Probe finds that out before
// anything is opened for the results: the error is an *ns.UnsupportedError.
type Prober interface{ Probe() error }

// A Plan is one run, prepared.
type Plan struct {
	// Configure sets the fresh namespace up, untimed.
	Configure func(*ns.Namespace) error
	Families  []int // 4, 6: whose addresses and routes the checks count
	Phases    []*Phase
	Observers []Observer // of this run alone
	// Watched, where it is not nil, is called before the run with what to call on
	// timed threads that the workload makes itself, and for phases that share the time
	// of another.
	Watched func(Watching)
	// Elsewhere says that the load is in namespaces of the workload's own: the
	// record has no trie.
	Elsewhere bool
	// Spaces is how many namespaces the run has, if not one. Phases go through them
	// one after the other, unless they have a writer for each.
	Spaces int
	// Close, where it is not nil, releases what the phases hold open, after the
	// run's last check.
	Close func() error
}

// A Phase is one stretch of a run. Unless it is Untimed it ends up in the record.
type Phase struct {
	Name    string
	Subnets int64 // local subnets or routes it works on, 0 where that means nothing

	// The phase's requests: Ops of them, of which Fill appends [from, to) to a
	// batch. They are encoded a chunk at a time between the timed calls, so that a
	// table of millions takes no more memory than one of thousands.
	Ops  int
	Fill func(b *rtnl.Batch, from, to int) error
	// How they are sent: PerCall 0 puts all into one call.
	PerCall int
	Ack     rtnl.Ack
	// Writers above 1 share the requests out to as many threads, each with a socket
	// of its own, that start together: in the run's namespace, or each in one of its
	// own where the run has that many. Fill is then called concurrently.
	Writers int
	// Each keeps the wall time of every call; with PerCall 1, of every request.
	Each bool

	// Timed replaces the requests where the phase is not a batch of them. It runs on
	// the namespace's thread, opens its own clocks, and returns their sum.
	Timed func(*rtnl.Conn) (rtnl.Cost, error)
	// Times describes the single operations of a Timed phase, where it is not nil.
	Times func() *results.Distribution
	// Describe names request i in an error, e.g. "add 10.0.0.1/24 to fc0".
	Describe func(i int) string

	// Quiet phases begin in the same state whatever came before: two grace periods
	// after it, with nothing of it left to RCU. How long a grace period takes depends
	// on what else waits for one, and cells that differ in that cannot be compared.
	Quiet bool
	// Untimed phases prepare: they are checked and not recorded.
	Untimed bool
	// Loaded marks the last phase that builds the load: the trie's shape is taken
	// after it and after the run's last phase.
	Loaded bool
	// Check, where it is not nil, states what must be there after the phase.
	Check func(*Inventory) []results.Check
	// After, where it is not nil, is called with the calls' times once the phase
	// has ended, to add to the record what only the workload can make of them.
	After func(run *results.Run, walls []time.Duration)
}

// An Observer watches a run from beside its timed thread: Start is called before
// the first phase and Stop after the last, to add what it saw to the record.
type Observer interface {
	Start(*ns.Namespace) error
	Stop(*results.Run) error
}

// A PhaseObserver is an Observer that is told of the recorded phases as well.
type PhaseObserver interface {
	Observer
	// Phase is called on each thread that works on the phase, just before it begins,
	// and end on the same thread just after. The witness, unless it is nil, is told of
	// every stretch of time that the thread's stopwatches measured.
	Phase(name string) (witness rtnl.Witness, end func() error, err error)
}
