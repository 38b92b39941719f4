package results

// The ways of a packet from one interface to another, which are the cells of forward.
const (
	PathStack    = "full-stack" // through the IP stack
	PathLookup   = "xdp-lookup" // an XDP program asks bpf_fib_lookup, and redirects
	PathDirect   = "xdp-direct" // the same in the table main alone, without rules
	PathRedirect = "redirect"   // an XDP program redirects without asking: the calibration
)

// Paths lists them, in the order in which they are shown.
func Paths() []string { return []string{PathStack, PathLookup, PathDirect, PathRedirect} }

// A Forward says what became of the packets that a run of forward put in.
type Forward struct {
	Path   string `json:"path"`   // one of Paths
	Family int    `json:"family"` // 4, 6
	Flows  int64  `json:"flows"`  // different destinations
	Burst  int    `json:"burst"`  // packets that are taken in together, as in one NAPI poll
	CPU    int    `json:"cpu"`    // that did all the work
	// Stretches are of the phases of their names: "rest", or "before", "during" and
	// "after" something that churns.
	Stretches []Forwarding `json:"stretches"`
}

// A Forwarding is the packets of one stretch of time. Every packet that was injected
// was forwarded or dropped: the run's checks say so.
type Forwarding struct {
	Stretch   string `json:"stretch"`
	Injected  int64  `json:"injected"`
	Forwarded int64  `json:"forwarded"` // arrived at the other end, as a router sends them on
	Drops     []Drop `json:"drops,omitempty"`
	// Errors is the ICMP errors that were sent to where packets come from.
	Errors int64 `json:"errors,omitempty"`
	// Wall is from the first to the last packet of each call, ns, of all calls. The
	// kernel does all the work within, but for what it leaves to ksoftirqd, which takes
	// the same CPU. What calls take before and after it, waits for grace periods, is in
	// the phase of that name and not here.
	Wall int64 `json:"wall_ns"`
}

// A Drop is the packets that were dropped for one reason: a counter of the kernel's,
// such as "IpExt InNoRoutes" and "fc0 tx_dropped", or what an XDP program was told.
type Drop struct {
	Reason  string `json:"reason"`
	Packets int64  `json:"packets"`
}

// Dropped is the sum of all reasons.
func (f *Forwarding) Dropped() int64 { return dropped(f.Drops) }

func dropped(drops []Drop) (n int64) {
	for _, d := range drops {
		n = plus(n, d.Packets)
	}
	return n
}

// Gap is the time from one forwarded packet to the next, in ns; ok is false where
// there was none.
func (f *Forwarding) Gap() (ns float64, ok bool) { return gap(f.Wall, f.Forwarded) }

func gap(wall, packets int64) (ns float64, ok bool) {
	if packets <= 0 {
		return 0, false
	}
	return float64(wall) / float64(packets), true
}

// A Flood says what became of the SYNs that a run of flood put in.
type Flood struct {
	Family   int    `json:"family"` // 4, 6
	Flows    int64  `json:"flows"`  // different sources
	Burst    int    `json:"burst"`
	CPU      int    `json:"cpu"`
	Injected int64  `json:"injected"`
	Cookies  int64  `json:"cookies"` // TcpExt SyncookiesSent
	Drops    []Drop `json:"drops,omitempty"`
	Answers  int64  `json:"answers"` // packets that the interface was handed
	Wall     int64  `json:"wall_ns"` // as of a Forwarding
}

// Gap is the time from one cookie to the next, in ns.
func (f *Flood) Gap() (ns float64, ok bool) { return gap(f.Wall, f.Cookies) }
