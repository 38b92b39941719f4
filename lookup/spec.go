package lookup

import (
	"fmt"
	"net/netip"
	"slices"

	"fibchurn/internal/prefixes"
)

// The probes.
const (
	ProbeNetlink = "netlink"
	ProbeBPF     = "bpf"
	ProbeConnect = "connect"
)

// Probes lists them in the order of the table.
func Probes() []string { return []string{ProbeNetlink, ProbeBPF, ProbeConnect} }

// Directions of a lookup.
const (
	Output = "output" // as for a packet of this machine's own
	Input  = "input"  // as for a packet that came in: with source and incoming interface
)

// A Spec is every parameter of a [Sampler]. [DefaultSpec] is the one to start
// from.
type Spec struct {
	// Probes are those asked for: one that this kernel cannot do is an error. None:
	// netlink, and bpf where the kernel can.
	Probes []string `json:"probes"`
	Family int      `json:"family"` // 4, 6

	Direction string `json:"direction"` // "output", "input"
	// RPFilter is the reverse path filter (0, 1, 2) that input lookups by netlink
	// pass; -1 leaves the namespace's. IPv4 only.
	RPFilter int `json:"rp_filter"`
	// Src is the source address, "" for none; input lookups by netlink need one.
	Src string `json:"src,omitempty"`
	// Dst is an address, or a prefix that keys are drawn from, instead of Keys.
	Dst string `json:"dst,omitempty"`
	// IIF is the index of the incoming interface of input lookups, which need one.
	// OIF is that of the outgoing interface of the bpf probe's output lookups, which
	// need one too. The other probes leave it open: with one, the kernel takes what
	// has no route to be on that link (ip_route_output_key_hash_rcu).
	IIF  uint32 `json:"iif,omitempty"`
	OIF  uint32 `json:"oif,omitempty"`
	Mark uint32 `json:"mark,omitempty"`
	TOS  uint8  `json:"tos,omitempty"`
	// FIBMatch has netlink answer with the route matched (RTM_F_FIB_MATCH), not
	// with the one made of it.
	FIBMatch bool `json:"fibmatch,omitempty"`
	// Direct has bpf ask one table, without the rules; Table is its number, 0 for
	// main. Other probes know no tables.
	Direct bool   `json:"direct,omitempty"`
	Table  uint32 `json:"table,omitempty"`

	Keys     string `json:"keys"`  // "hit", "miss", "mixed", "boundary"
	Order    string `json:"order"` // "random", "scan", "chain"
	KeyCount int    `json:"key_count"`
	Seed     uint64 `json:"seed"` // of the keys

	Readers int `json:"readers"` // threads that ask at once, each pinned to a CPU
	// Rate is lookups a second, of all readers together, open loop: each is measured
	// from when it was due. 0 is closed loop: each is asked when the one before is
	// answered.
	Rate int64 `json:"rate"`
	// KernelBatch is how many lookups the bpf probe times at once, besides single
	// ones; 1 is single ones alone. Not with a rate.
	KernelBatch int `json:"kernel_batch"`
}

// Bounds of a spec.
const (
	MaxReaders     = 1024
	MaxRate        = 10_000_000
	MaxKernelBatch = 1024
)

// DefaultSpec measures output lookups of random hits, closed loop, with one
// reader, by the probes that the kernel can do.
func DefaultSpec() Spec {
	return Spec{
		Family: 4, Direction: Output, RPFilter: -1,
		Keys: Hit, Order: Random, KeyCount: 1 << 16, Seed: 1,
		Readers: 1, KernelBatch: 64,
	}
}

func (s *Spec) family() prefixes.Family { return prefixes.Family(s.Family) }

// Validate returns the first thing that is wrong with the spec, in the words of
// the command line.
func (s *Spec) Validate() error {
	for _, check := range []func() error{s.validateProbes, s.validateRoute, s.validateKeys, s.validateLoad} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) validateProbes() error {
	for i, p := range s.Probes {
		if !slices.Contains(Probes(), p) {
			return fmt.Errorf("--probe %s: must be netlink, bpf or connect", p)
		}
		if slices.Contains(s.Probes[:i], p) {
			return fmt.Errorf("--probe %s: given twice", p)
		}
	}
	switch {
	case s.Family != 4 && s.Family != 6:
		return fmt.Errorf("unknown address family %d", s.Family)
	case s.Direction != Output && s.Direction != Input:
		return fmt.Errorf("--direction %s: must be output or input", s.Direction)
	case s.Direction == Input && slices.Contains(s.Probes, ProbeConnect):
		return fmt.Errorf("--probe connect: makes output lookups only, not --direction input")
	case s.FIBMatch && len(s.Probes) > 0 && !slices.Contains(s.Probes, ProbeNetlink):
		return fmt.Errorf("--fibmatch: is for --probe netlink")
	}
	return nil
}

func (s *Spec) validateRoute() error {
	switch {
	case s.RPFilter < -1 || s.RPFilter > 2:
		return fmt.Errorf("--rp-filter %d: must be 0, 1 or 2", s.RPFilter)
	case s.RPFilter >= 0 && (s.Direction != Input || s.Family != 4):
		return fmt.Errorf("--rp-filter: is for --direction input and IPv4")
	case s.Direction == Input && s.IIF == 0:
		return fmt.Errorf("--direction input: needs --iif")
	case s.Direction == Input && s.Src == "" && !s.only(ProbeBPF):
		return fmt.Errorf("--direction input: --probe netlink needs --src")
	case s.Direction == Output && s.IIF != 0:
		return fmt.Errorf("--iif: is for --direction input")
	case s.Direction == Input && s.OIF != 0:
		return fmt.Errorf("--oif: is for --direction output")
	case (s.Direct || s.Table != 0) && !s.only(ProbeBPF):
		return fmt.Errorf("--direct and --table: only --probe bpf can ask one table without the rules")
	case s.Table != 0 && !s.Direct:
		return fmt.Errorf("--table %d: is for --direct", s.Table)
	case s.Direct && s.Mark != 0:
		return fmt.Errorf("--mark: only rules look at it, and --direct asks none")
	}
	if s.Src != "" {
		a, err := netip.ParseAddr(s.Src)
		if err != nil || a.BitLen() != s.family().Bits() {
			return fmt.Errorf("--src %s: is no %s address", s.Src, s.family())
		}
	}
	return nil
}

// only reports whether p is the one probe asked for.
func (s *Spec) only(p string) bool { return len(s.Probes) == 1 && s.Probes[0] == p }

func (s *Spec) validateKeys() error {
	switch {
	case !slices.Contains(KeyKinds(), s.Keys):
		return fmt.Errorf("--keys %s: must be hit, miss, mixed or boundary", s.Keys)
	case !slices.Contains(KeyOrders(), s.Order):
		return fmt.Errorf("--order %s: must be random, scan or chain", s.Order)
	case s.KeyCount < 1 || s.KeyCount > MaxKeys:
		return fmt.Errorf("--key-count %d: must be 1 to %d", s.KeyCount, MaxKeys)
	}
	if s.Dst != "" {
		p, err := parseDst(s.Dst)
		if err != nil {
			return err
		}
		if p.Addr().BitLen() != s.family().Bits() {
			return fmt.Errorf("--dst %s: is not %s", s.Dst, s.family())
		}
		if !usable(p.Addr()) || !usable(lastOf(p)) {
			return fmt.Errorf("--dst %s: must be unicast, and neither loopback nor link-local", s.Dst)
		}
	}
	return nil
}

func (s *Spec) validateLoad() error {
	switch {
	case s.Readers < 1 || s.Readers > MaxReaders:
		return fmt.Errorf("--readers %d: must be 1 to %d", s.Readers, MaxReaders)
	case s.Rate < 0 || s.Rate > MaxRate:
		return fmt.Errorf("--rate %d: must be 1 to %d, or max", s.Rate, MaxRate)
	case s.Rate > 0 && s.Rate < int64(s.Readers):
		return fmt.Errorf("--rate %d: must be at least 1 for each of %d readers", s.Rate, s.Readers)
	case s.KernelBatch < 1 || s.KernelBatch > MaxKernelBatch:
		return fmt.Errorf("--kernel-batch %d: must be 1 to %d", s.KernelBatch, MaxKernelBatch)
	case s.KernelBatch&(s.KernelBatch-1) != 0:
		return fmt.Errorf("--kernel-batch %d: must be a power of two", s.KernelBatch)
	}
	return nil
}
