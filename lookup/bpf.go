package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"fibchurn/internal/bpf"
	"fibchurn/internal/prefixes"
	"fibchurn/ns"
)

// A BPFProbe makes lookups inside the kernel, with the helper bpf_fib_lookup
// (bpf_ipv4_fib_lookup and bpf_ipv6_fib_lookup, net/core/filter.c) in a SCHED_CLS
// program that BPF_PROG_TEST_RUN runs over and over. The program itself reads the
// clock, fills the histogram and files the answers, so that what user space does
// is in no figure.
//
// The helper demands that the interface it is given forwards (IPv4 ip_forward,
// IPv6 forwarding), knows whether there is a unicast route and through which
// interface, and does not tell the prefix. It makes no source address check: an
// input lookup is that of the FIB alone. IPv6 output lookups show their source
// address to no rule (no RT6_LOOKUP_F_HAS_SADDR). IPv4 output lookups find only
// routes out of their interface.
//
// bpf_ktime_get_ns may count in steps of more than 1 ns, which batches divide.
//
// Its calibration is the same program without the helper.
//
// A probe belongs to the thread that opened it: the program runs in the network
// namespace of the thread that asks for it (bpf_prog_test_run_skb,
// net/bpf/test_run.c).
type BPFProbe struct {
	batch         int
	keys          *Keys
	ipv6          bool
	lookup, blank *bpfRun
	keyArea       *bpf.Area
}

// A bpfRun is a program with the maps that are its own.
type bpfRun struct {
	program                               *ebpf.Program
	slots, log, histogram, state, scratch *bpf.Area
	packet                                [64]byte // what the program is run on
	counts                                []uint64 // histogram
	before                                []uint64 // counts that take has taken
	stateWords, slotWords                 []uint64
	drained                               uint64 // changes of the log that drain has passed on
	lost                                  int64
	logWords                              []uint64
	test                                  bpf.TestRun
}

// maxBurst is how many lookups one call makes at most, and maxChanges how many
// changes of answers the log holds: 4 MB.
const (
	maxBurst   = 1 << 14
	maxChanges = 1 << 16
)

// OpenBPFProbe loads the programs from the calling thread, in whose network
// namespace they run. A user or kernel that cannot is an *ns.UnsupportedError.
func OpenBPFProbe(s *Spec, keys *Keys, batch int) (*BPFProbe, error) {
	p := &BPFProbe{batch: batch, keys: keys, ipv6: keys.family == prefixes.IPv6}
	if err := p.open(s); err != nil {
		p.Close()
		return nil, bpfRefused(err)
	}
	if err := p.try(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *BPFProbe) open(s *Spec) (err error) {
	if s.Direction == Output && s.OIF == 0 || s.Direction == Input && s.IIF == 0 {
		return errors.New("--probe bpf: needs an interface, --iif for input lookups and the one of the routes for output lookups")
	}
	if p.keyArea, err = bpf.NewArea("keys", p.slots()*keyBytes); err != nil {
		return err
	}
	for i := range p.slots() {
		copy(p.keyArea.Bytes()[i*keyBytes:], p.keys.raw(i%p.keys.Len()))
	}
	if p.lookup, err = p.load(s, false); err != nil {
		return err
	}
	p.blank, err = p.load(s, true)
	return err
}

// slots is how many keys the program has, with those that come once more.
func (p *BPFProbe) slots() int { return p.keys.Len() + p.batch }

// load makes a program and its maps.
func (p *BPFProbe) load(s *Spec, blank bool) (*bpfRun, error) {
	r := &bpfRun{}
	code := bpfProgram{ipv6: p.ipv6, blank: blank, batch: p.batch, chain: s.Order == Chain, keys: p.keys.Len(), log: maxChanges, keyMap: p.keyArea.FD()}
	code.params, code.flags = fibParams(s)
	for _, area := range []struct {
		name   string
		bytes  int
		to     **bpf.Area
		number *int
	}{
		{"slots", p.slots() * slotBytes, &r.slots, &code.slotMap},
		{"log", code.log * changeBytes, &r.log, &code.logMap},
		{"histogram", histogramBuckets * 8, &r.histogram, &code.histogramMap},
		{"state", stateBytes, &r.state, &code.stateMap},
		{"scratch", p.batch * lookupBytes, &r.scratch, &code.scratchMap},
	} {
		a, err := bpf.NewArea(area.name, area.bytes)
		if err != nil {
			r.close()
			return nil, err
		}
		*area.to, *area.number = a, a.FD()
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "fib_lookup", Type: ebpf.SchedCLS, Instructions: code.assemble(), License: "GPL"})
	if err != nil {
		r.close()
		return nil, fmt.Errorf("load the lookup program: %w", err)
	}
	r.program = program
	r.counts, r.stateWords = r.histogram.Words(), r.state.Words()
	r.slotWords, r.logWords = r.slots.Words(), r.log.Words()
	r.before = make([]uint64, len(r.counts))
	r.prepare()
	return r, nil
}

// try makes one batch of lookups, and sees that the helper takes the parameters.
func (p *BPFProbe) try() error {
	if err := p.lookup.run(1); err != nil {
		return bpfRefused(err)
	}
	scratch := p.lookup.scratch.Bytes()
	result := int32(binary.NativeEndian.Uint32(scratch[lookupResult:]))
	p.lookup.forget()
	switch {
	case result == -int32(unix.EINVAL):
		return &ns.UnsupportedError{
			What: "a lookup by bpf_fib_lookup without the neighbour, or with --table or --mark",
			Why:  "the kernel does not know a flag of it (EINVAL)",
			Help: "use Linux 6.3 (for --table 6.5, for --mark 6.10) or later, or --probe netlink",
		}
	case result == fibReturnForwardingDisabled:
		return errors.New("bpf_fib_lookup: forwarding is off on the interface of the lookup (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)")
	case result < 0:
		return fmt.Errorf("bpf_fib_lookup: %w", unix.Errno(-result))
	}
	return nil
}

// bpfRefused names what would help where this user or kernel may not use BPF.
func bpfRefused(err error) error {
	const what = "lookups inside the kernel (BPF)"
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		var v *ebpf.VerifierError
		if errors.As(err, &v) && errors.Is(err, unix.EACCES) {
			return err // a program that the verifier refuses: a fault of this package
		}
		return &ns.UnsupportedError{What: what, Why: "this user may not use bpf(2)", Help: "run as root, without kernel lockdown, or --probe netlink"}
	case errors.Is(err, unix.ENOSYS):
		return &ns.UnsupportedError{What: what, Why: "the kernel has no bpf(2)", Help: "use a kernel with CONFIG_BPF_SYSCALL, or --probe netlink"}
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.Errno(524)): // ENOTSUPP
		return &ns.UnsupportedError{What: what, Why: "the kernel does not run programs on request: " + err.Error(), Help: "use Linux 6.3 or later, or --probe netlink"}
	}
	return err
}

// Results of bpf_fib_lookup (enum, BPF_FIB_LKUP_RET_..., include/uapi/linux/bpf.h).
const (
	fibReturnSuccess = iota
	fibReturnBlackhole
	fibReturnUnreachable
	fibReturnProhibit
	fibReturnNotForwarded
	fibReturnForwardingDisabled
)

// bpfAnswer decodes what the program files. The helper calls everything that is
// not to be forwarded the same, whether there is no route or a local one.
func bpfAnswer(word uint64) Answer {
	switch result := int32(uint32(word) - 1); result {
	case fibReturnSuccess:
		return Answer{Kinds: Unicast, OIF: uint32(word >> 32), Bits: -1}
	case fibReturnBlackhole:
		return Answer{Kinds: Blackhole, Bits: -1}
	case fibReturnUnreachable:
		return Answer{Kinds: Unreachable, Bits: -1}
	case fibReturnProhibit:
		return Answer{Kinds: Prohibit, Bits: -1}
	case fibReturnNotForwarded:
		return Answer{Kinds: NoRoute | Local | Broadcast | Multicast, Bits: -1}
	case fibReturnForwardingDisabled, -int32(unix.ENODEV):
		return Answer{Kinds: NoRoute, Bits: -1}
	default:
		return Answer{Refused: unix.Errno(max(-result, 0)), Bits: -1}
	}
}

// Batch is how many lookups the probe times at once.
func (p *BPFProbe) Batch() int { return p.batch }

// Burst makes about n lookups, maxBurst at most, or as many without the lookup.
func (p *BPFProbe) Burst(n int, blank bool) error {
	r := p.lookup
	if blank {
		r = p.blank
	}
	return r.run(max(1, min(n, maxBurst)/p.batch))
}

// Times calls f with every time, in ns for one lookup, that was measured since
// the last call, and how many lookups took it. Of batches it is the mean of each,
// rounded.
func (p *BPFProbe) Times(blank bool, f func(ns, count int64)) {
	r := p.lookup
	if blank {
		r = p.blank
	}
	batch := int64(p.batch)
	for i, n := range r.counts {
		if n != r.before[i] {
			f((bucketStart(i)+batch/2)/batch, int64(n-r.before[i])*batch)
			r.before[i] = n
		}
	}
}

// One makes one batch of lookups, or none of them, and returns what the program
// measured: ns for the batch.
func (p *BPFProbe) One(blank bool) (int64, error) {
	r := p.lookup
	if blank {
		r = p.blank
	}
	err := r.run(1)
	return int64(r.stateWords[stateEnd/8] - r.stateWords[stateStart/8]), err
}

// drain passes on the reports of the log that are new. Times are the kernel's.
func (p *BPFProbe) drain(f func(report)) {
	r := p.lookup
	end := r.stateWords[stateChanges/8]
	if over := int64(end-r.drained) - maxChanges; over > 0 {
		r.lost += over
		r.drained += uint64(over)
	}
	for ; r.drained < end; r.drained++ {
		w := r.logWords[r.drained%maxChanges*changeBytes/8:][:changeBytes/8]
		key, now := int(w[0])%p.keys.Len(), w[reportBytes/8:]
		if w[1] != 0 {
			f(report{key, bpfSighting(w[1:])})
		}
		f(report{key, bpfSighting(now[1:])})
	}
}

// last passes on everything.
func (p *BPFProbe) last(f func(report)) {
	p.drain(f)
	for i := range p.slots() {
		if w := p.lookup.slotWords[i*slotBytes/8:]; w[0] != 0 {
			f(report{i % p.keys.Len(), bpfSighting(w)})
		}
	}
}

func bpfSighting(w []uint64) sighting {
	return sighting{bpfAnswer(w[0]).pack(), int64(w[1]), int64(w[2])}
}

// unkept is how many changes the log lost.
func (p *BPFProbe) unkept() int64 { return p.lookup.lost }

// Close unloads the programs.
func (p *BPFProbe) Close() error {
	for _, r := range []*bpfRun{p.lookup, p.blank} {
		if r != nil {
			r.close()
		}
	}
	p.keyArea.Close()
	return nil
}

func (r *bpfRun) close() {
	if r.program != nil {
		r.program.Close()
	}
	for _, a := range []*bpf.Area{r.slots, r.log, r.histogram, r.state, r.scratch} {
		a.Close()
	}
}

// forget drops what was measured and answered so far.
func (r *bpfRun) forget() {
	clear(r.counts)
	clear(r.stateWords)
	clear(r.slotWords)
}

func (r *bpfRun) prepare() {
	r.test = bpf.TestRun{
		Program: uint32(r.program.FD()),
		SizeIn:  uint32(len(r.packet)),
		DataIn:  uint64(uintptr(unsafe.Pointer(&r.packet))),
	}
}

// run runs the program so many times. That a signal ends a run early (EINTR) does no
// harm: the program itself counts.
func (r *bpfRun) run(times int) error {
	r.test.Repeat = uint32(times)
	if err := r.test.Run(); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("run the lookup program: %w", err)
	}
	return nil
}
