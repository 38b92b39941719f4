package packets

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"fibchurn/internal/bpf"
	"fibchurn/ns"
)

// MaxFlows bounds the flows of an injector.
const MaxFlows = 1 << 20

// MaxBurst is the most frames the kernel takes through the program before it hands
// them on (TEST_XDP_MAX_BATCH, net/bpf/test_run.c); DefaultBurst is one NAPI poll's,
// which it does by itself.
const (
	MaxBurst     = 256
	DefaultBurst = 64
)

// A Datagram says what an Injector does that has datagrams forwarded.
type Datagram struct {
	Fate   string           // Stack, Lookup, Direct or Redirect
	Source netip.Addr       // of every datagram
	Flows  []netip.Addr     // their destinations, which take turns
	In     Port             // the link that they come in by
	Out    Port             // the link that Redirect sends them to
	Next   net.HardwareAddr // of the next hop there
	Burst  int              // frames to one poll, 1 to MaxBurst

	// Stale leaves frames as the last forwarding left them: for tests of what notices.
	Stale bool
}

// A Port is an interface by index and link address.
type Port struct {
	Index   uint32
	Address net.HardwareAddr
}

// A SYN says what an Injector does that asks for connections.
type SYN struct {
	To    netip.AddrPort
	Flows []netip.Addr // that they come from, in turn
	In    Port
	Burst int
}

// peerAddress is where injected frames say that they come from.
func peerAddress() net.HardwareAddr { return net.HardwareAddr{2, 0xfc, 0xff, 0, 0, 1} }

// An Injector puts frames into a network namespace. It belongs to the thread that
// opened it, which must stay on one CPU.
type Injector struct {
	frame        *frame
	program      program
	flows, state *bpf.Area
	words        []uint64
	loaded       *ebpf.Program
	context      [6]uint32 // struct xdp_md
	test         bpf.TestRun
}

// OpenDatagrams loads an injector of datagrams from the calling thread, in whose
// network namespace it works. A kernel or user that cannot is an
// *ns.UnsupportedError.
func OpenDatagrams(d Datagram) (*Injector, error) {
	f := newDatagram(d.In.Address, peerAddress(), d.Source)
	return open(f, d.Flows, d.Burst, program{
		fate: d.Fate, in: d.In.Index, out: d.Out.Index, from: d.Out.Address, next: d.Next, stale: d.Stale,
	})
}

// OpenSYNs loads an injector of SYNs, as OpenDatagrams does.
func OpenSYNs(s SYN) (*Injector, error) {
	f := newSYN(s.In.Address, peerAddress(), s.To)
	return open(f, s.Flows, s.Burst, program{fate: Stack, in: s.In.Index})
}

func open(f *frame, flows []netip.Addr, burst int, p program) (*Injector, error) {
	i := &Injector{frame: f, program: p}
	if err := i.open(flows, burst); err != nil {
		i.Close()
		return nil, refused(injecting, err)
	}
	return i, nil
}

func (i *Injector) open(flows []netip.Addr, burst int) (err error) {
	p := &i.program
	if i.flows, err = bpf.NewArea("flows", len(flows)*flowBytes); err != nil {
		return err
	}
	for n, address := range flows {
		i.frame.flow(i.flows.Bytes()[n*flowBytes:], n, address)
	}
	i.frame.fill(i.flows.Bytes())
	if i.state, err = bpf.NewArea("state", 8*stateWords); err != nil {
		return err
	}
	i.words = i.state.Words()
	p.frame, p.flows, p.flowMap, p.stateFD = i.frame, len(flows), i.flows.FD(), i.state.FD()
	i.loaded, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "inject", Type: ebpf.XDP, Instructions: p.assemble(), License: "GPL"})
	if err != nil {
		return fmt.Errorf("load the injecting program: %w", err)
	}
	i.prepare(burst)
	return nil
}

func (i *Injector) prepare(burst int) {
	const liveFrames = 1 << 1                                             // BPF_F_TEST_XDP_LIVE_FRAMES
	i.context = [6]uint32{1: uint32(len(i.frame.bytes)), 3: i.program.in} // data_end, ingress_ifindex
	i.test = bpf.TestRun{
		Program: uint32(i.loaded.FD()),
		SizeIn:  uint32(len(i.frame.bytes)), DataIn: address(&i.frame.bytes[0]),
		ContextIn: uint32(unsafe.Sizeof(i.context)), ContextData: address(&i.context),
		Flags: liveFrames, Batch: uint32(burst),
	}
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// Inject puts so many frames in, in one call, and returns how many went, fewer where a
// signal ended it early, and how long that took. When it returns, those that others
// were to do something with may still be on their way.
//
// The time is what the program read of the clock at the first and the last of its
// readings, drawn out to all frames. The call itself takes longer: the kernel waits
// for a grace period before and after it runs a program over and over
// (bpf_prog_change_xdp, net/bpf/test_run.c). It is 0 of fewer than two readings.
func (i *Injector) Inject(frames int) (sent int64, took time.Duration, err error) {
	i.test.Repeat = uint32(frames)
	i.words[stateStart] = 0
	before := i.Frames()
	err = i.test.Run()
	sent = i.Frames() - before
	switch {
	case err != nil && !errors.Is(err, unix.EINTR):
		return sent, 0, refused(injecting, fmt.Errorf("inject frames: %w", err))
	case err == nil && sent != int64(frames):
		return sent, 0, fmt.Errorf("inject frames: the kernel took %d through the program and not %d", sent, frames)
	}
	if between := int64(i.words[stateEnded] - i.words[stateStarted]); i.words[stateStart] != 0 && between > 0 {
		ns := float64(i.words[stateEnd]-i.words[stateStart]) * float64(sent) / float64(between)
		took = time.Duration(ns)
	}
	return sent, took, nil
}

// Frames is how many frames went in so far.
func (i *Injector) Frames() int64 { return int64(i.words[stateFrames]) }

// Refused is how many frames the program dropped so far, by why.
func (i *Injector) Refused() map[string]int64 {
	refused := map[string]int64{"frame cut short": int64(i.words[stateCut])}
	for result, name := range lookupResults() {
		if result > 0 {
			refused["bpf_fib_lookup: "+name] = int64(i.words[stateResults+result])
		}
	}
	return refused
}

// lookupResults are what bpf_fib_lookup says (BPF_FIB_LKUP_RET_...,
// include/uapi/linux/bpf.h), by number.
func lookupResults() []string {
	return []string{
		"success", "blackhole", "unreachable", "prohibit", "not forwarded (no route, or local)", "forwarding is off",
		"unsupported encapsulation", "no neighbour", "MTU", "other",
	}
}

// Close unloads the injector.
func (i *Injector) Close() {
	if i == nil {
		return
	}
	if i.loaded != nil {
		i.loaded.Close()
	}
	i.flows.Close()
	i.state.Close()
}

const injecting = "injecting frames (XDP live frames)"

// refused names what would help where this user or kernel cannot.
func refused(what string, err error) error {
	var v *ebpf.VerifierError
	switch {
	case errors.As(err, &v) && errors.Is(err, unix.EACCES):
		return err // a program that the verifier refuses: a fault of this package
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return &ns.UnsupportedError{What: what, Why: "this user may not use bpf(2)", Help: "run as root, without kernel lockdown"}
	case errors.Is(err, unix.ENOSYS):
		return &ns.UnsupportedError{What: what, Why: "the kernel has no bpf(2)", Help: "use a kernel with CONFIG_BPF_SYSCALL"}
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.Errno(524)), errors.Is(err, unix.EOPNOTSUPP): // ENOTSUPP
		return &ns.UnsupportedError{What: what, Why: err.Error(), Help: "use Linux 5.18 or later with CONFIG_BPF_JIT"}
	}
	return err
}

// Probe finds out whether frames can be injected here, by doing it: some frames that
// are dropped at once. The calling thread must be in a namespace of its own.
func Probe() error {
	const loopback = 1
	i, err := OpenDatagrams(Datagram{
		Fate: drop, Source: netip.AddrFrom4([4]byte{198, 18, 0, 1}), Flows: []netip.Addr{netip.AddrFrom4([4]byte{198, 18, 0, 2})},
		In: Port{loopback, make(net.HardwareAddr, 6)}, Burst: 0,
	})
	if err != nil {
		return err
	}
	defer i.Close()
	const frames = 128
	_, _, err = i.Inject(frames)
	if errors.Is(err, unix.EINVAL) {
		return &ns.UnsupportedError{What: injecting, Why: "the kernel does not know how to (EINVAL)", Help: "use Linux 5.18 or later"}
	}
	return err
}
