package lookup

import (
	"errors"
	"fmt"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"fibchurn/internal/monotonic"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// An instrument is a probe in the hands of one reader, with what it measured and
// was answered.
type instrument interface {
	// turn makes lookups, or calibrates, until a time or the end of the stretch.
	turn(t *turn) error
	// drain passes on answers to check, last all that are left.
	drain(f func(report))
	last(f func(report))
	unkept() int64
	close() error
}

// A turn is a short while in which one instrument has the reader's thread.
type turn struct {
	clock *monotonic.Clock
	pace  schedule // rate 0: closed loop
	until int64    // ns
	phase *phase
	blank bool // calibrate
	sheet *sheet

	witness rtnl.Witness // nil: nobody watches
}

// tell tells the witness of a lookup or a call.
func (t *turn) tell(start, end int64) {
	if t.witness != nil {
		t.witness.Timed(t.clock.At(start), time.Duration(end-start))
	}
}

// over reports whether a request that is due at a time falls outside the turn. One
// that fell due before the stretch ended belongs to it, however late it is asked.
func (t *turn) over(due int64) bool {
	ended := t.phase.ended.Load()
	return due >= t.until || ended != 0 && due >= ended
}

// A sheet is what one instrument of one reader measured in one stretch.
type sheet struct {
	times [2]*hdrhistogram.Histogram // lookups, calibration
	busy  [2]int64                   // ns of turns
	late  int64                      // lookups asked more than an interval after they were due
}

const (
	looked = iota
	blanked
)

func newSheet() *sheet {
	return &sheet{times: [2]*hdrhistogram.Histogram{newHistogram(), newHistogram()}}
}

func (t *turn) column() int {
	if t.blank {
		return blanked
	}
	return looked
}

// record files the time of one lookup.
func (t *turn) record(ns int64) { record(t.sheet.times[t.column()], ns, 1) }

// A kind says which instruments a spec asks for.
type kind struct {
	name  string
	probe string
	batch int // of a bpf probe
	// wanted says that the spec names the probe: that the kernel cannot do it is
	// then an error, else a reason to go without.
	wanted bool
}

// kinds lists the instruments of a spec. Batches inside the kernel are one of
// their own, for their times are means.
func (s *Spec) kinds() []kind {
	probes, wanted := s.Probes, true
	if len(probes) == 0 {
		probes, wanted = []string{ProbeNetlink, ProbeBPF}, false
	}
	var list []kind
	for _, p := range probes {
		list = append(list, kind{p, p, 1, wanted || p != ProbeBPF})
		if p == ProbeBPF && s.KernelBatch > 1 && s.Rate == 0 {
			list = append(list, kind{fmt.Sprintf("%s/%d", p, s.KernelBatch), p, s.KernelBatch, wanted})
		}
	}
	return list
}

// open makes the instrument in the calling thread's namespace. It is nil, and the
// error an *ns.UnsupportedError, where the kernel cannot do it.
func (k kind) open(s *Spec, keys *Keys, c *monotonic.Clock) (instrument, error) {
	if k.probe == ProbeBPF {
		p, err := OpenBPFProbe(s, keys, k.batch)
		if err != nil {
			return nil, err
		}
		return newBurster(p, c), nil
	}
	var p Probe
	var err error
	if k.probe == ProbeNetlink {
		p, err = OpenNetlinkProbe(s, keys)
	} else {
		p, err = OpenConnectProbe(s, keys)
	}
	if err != nil {
		return nil, err
	}
	return &asker{probe: p, keys: keys, chain: s.Order == Chain, ledger: newLedger(keys.Len())}, nil
}

// forgivable reports whether the sampler does without an instrument for that
// error.
func (k kind) forgivable(err error) bool {
	var unsupported *ns.UnsupportedError
	return !k.wanted && errors.As(err, &unsupported)
}

// bound is the interface that the lookups of an instrument are bound to. To IPv6
// that of an output lookup is a wish (rt6_score_route, net/ipv6/route.c).
func (k kind) bound(s *Spec) uint32 {
	if k.probe == ProbeBPF && s.Direction == Output && s.Family == 4 {
		return s.OIF
	}
	return 0
}
