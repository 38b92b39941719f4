package results

// A Profile says where the CPU was while a run's clocks ran: samples of the threads
// that were timed (or of all CPUs), taken by the kernel's perf events. Samples that
// fell outside a timed stretch are not in it.
type Profile struct {
	Event  string         `json:"event"` // "cycles" (of the hardware) or "cpu-clock" (a timer)
	Hz     int            `json:"hz"`    // samples asked for a second of each thread or CPU
	Scope  string         `json:"scope"` // "thread" or "cpus"
	Lost   int64          `json:"lost"`  // samples that the kernel had no room for
	Phases []PhaseProfile `json:"phases"`
}

// A PhaseProfile is the profile of one phase of a run.
type PhaseProfile struct {
	Phase   string  `json:"phase"`
	Samples int64   `json:"samples"`
	Stacks  []Stack `json:"stacks,omitempty"` // most samples first
}

// A Stack is one way of calls and how many samples found the CPU at its end.
type Stack struct {
	// Frames are the functions, outermost first, joined by ";", as flame graphs have
	// it (Gregg, "The flame graph", CACM 59(6), 2016). Kernel functions have the name
	// that /proc/kallsyms gives them, without what a compiler appends (".isra.0");
	// those of the program end in "_[u]".
	Frames  string `json:"frames"`
	Samples int64  `json:"samples"`
}

// A Trace counts calls of the kernel's trie functions in a run's timed phases, and
// the time from entering to leaving each, by kprobes.
type Trace struct {
	Phases   []PhaseTrace `json:"phases"`
	Untraced []Untraced   `json:"untraced,omitempty"` // functions that could not be traced
}

// An Untraced is a function that was to be traced, and why it is not.
type Untraced struct {
	Function string `json:"function"`
	Why      string `json:"why"` // "no symbol: inlined into its callers"
}

// A PhaseTrace is what was traced in one phase of a run.
type PhaseTrace struct {
	Phase     string          `json:"phase"`
	Functions []FunctionTrace `json:"functions"` // in the order of their names
}

// A FunctionTrace is the calls of one kernel function.
type FunctionTrace struct {
	Function string `json:"function"`         // "resize"
	Symbol   string `json:"symbol"`           // "resize.isra.0": what this kernel calls it
	Calls    int64  `json:"calls"`            // entered
	Missed   int64  `json:"missed,omitempty"` // calls whose time is not known: the kernel had no free return probe
	// Wall is the sum from entering to leaving, with the probes' own time and with
	// functions called within. Of a call within another of the same function only the
	// outer one is in it.
	Wall int64 `json:"wall_ns"`
	Max  int64 `json:"max_ns"` // the longest of those
	// Elsewhere are calls that other threads of the machine made meanwhile: of other
	// programs, and of the kernel's own threads, which dismantle namespaces.
	Elsewhere int64 `json:"elsewhere,omitempty"`
}
