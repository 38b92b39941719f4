package functrace

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"fibchurn/internal/kallsyms"
	"fibchurn/ns"
	"fibchurn/results"
)

// maxThreads is how many threads can be watched at a time: more than a run has writers.
const maxThreads = 4096

// A Tracer traces the functions. It is a churn.PhaseObserver; the probes are in the
// kernel from Start to Stop, since they slow every call down whoever makes it.
type Tracer struct {
	threads, empty *ebpf.Map
	enrol          *ebpf.Program
	probes         []*probe
	width          int // functions that a record has words for
	untraced       []results.Untraced

	tally
}

// A probe is one function's.
type probe struct {
	function, symbol string
	entry, exit      *ebpf.Program
	place            int         // of its words in a record
	links            []link.Link // while attached
}

// Open loads the programs for the functions that the kernel has, and sees that they can
// be attached. Where this user or kernel cannot, the error is an *ns.UnsupportedError.
func Open(names *kallsyms.Table) (*Tracer, error) {
	t := &Tracer{}
	if err := t.open(names); err != nil {
		t.Close()
		return nil, refused(err)
	}
	return t, nil
}

func (t *Tracer) open(names *kallsyms.Table) error {
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe"); err != nil {
		return unsupported("this kernel has no kprobe events (CONFIG_KPROBE_EVENTS)", "use a kernel that has them, or leave --trace-resize out")
	}
	for _, function := range Functions() {
		symbol, why := symbolOf(names, function)
		if why != "" {
			t.untraced = append(t.untraced, results.Untraced{Function: function, Why: why})
			continue
		}
		t.probes = append(t.probes, &probe{function: function, symbol: symbol})
	}
	if err := t.load(); err != nil {
		return err
	}
	kept := t.probes[:0]
	for _, p := range t.probes { // some functions cannot be probed, wherever they are
		err := p.attach()
		p.detach()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			return err
		}
		if err != nil {
			p.close()
			t.untraced = append(t.untraced, results.Untraced{Function: p.function, Why: err.Error()})
			continue
		}
		kept = append(kept, p)
	}
	t.probes = kept
	if len(kept) == 0 {
		return unsupported("none of the functions can be probed: "+t.Untraced(), "use a kernel whose functions are in /proc/kallsyms")
	}
	return nil
}

// load makes the maps and the programs. Programs find a function's words in a record
// by its place in t.probes, which is why those that cannot be attached keep theirs.
func (t *Tracer) load() (err error) {
	t.width = len(t.probes)
	bytes := uint32(t.width * functionBytes)
	if t.threads, err = ebpf.NewMap(&ebpf.MapSpec{Name: "threads", Type: ebpf.Hash, KeySize: 4, ValueSize: bytes, MaxEntries: maxThreads + 1}); err != nil {
		return fmt.Errorf("make the map of threads: %w", err)
	}
	if t.empty, err = ebpf.NewMap(&ebpf.MapSpec{Name: "empty", Type: ebpf.Array, KeySize: 4, ValueSize: bytes, MaxEntries: 1}); err != nil {
		return fmt.Errorf("make the map of the empty record: %w", err)
	}
	if t.enrol, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "enrol", Type: ebpf.RawTracepoint, Instructions: enrol(t.threads, t.empty), License: "GPL"}); err != nil {
		return fmt.Errorf("load the program that enrols threads: %w", err)
	}
	for i, p := range t.probes {
		p.place = i
		if p.entry, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "entry", Type: ebpf.Kprobe, Instructions: entry(t.threads, i), License: "GPL"}); err != nil {
			return fmt.Errorf("load the program at the entry of %s: %w", p.symbol, err)
		}
		if p.exit, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "exit", Type: ebpf.Kprobe, Instructions: exit(t.threads, i), License: "GPL"}); err != nil {
			return fmt.Errorf("load the program at the return of %s: %w", p.symbol, err)
		}
	}
	return nil
}

// attach puts the probes in, that of the return first: no call is entered without it.
func (p *probe) attach() error {
	back, err := link.Kretprobe(p.symbol, p.exit, nil)
	if err != nil {
		return fmt.Errorf("return probe on %s: %w", p.symbol, err)
	}
	p.links = append(p.links, back)
	there, err := link.Kprobe(p.symbol, p.entry, nil)
	if err != nil {
		return fmt.Errorf("probe on %s: %w", p.symbol, err)
	}
	p.links = append(p.links, there)
	return nil
}

// detach takes them out, that of the entry first.
func (p *probe) detach() {
	for i := len(p.links) - 1; i >= 0; i-- {
		p.links[i].Close()
	}
	p.links = nil
}

func (p *probe) close() {
	p.detach()
	for _, program := range []*ebpf.Program{p.entry, p.exit} {
		if program != nil {
			program.Close()
		}
	}
}

// Untraced says in one line which functions are not traced and why; "" where all are.
func (t *Tracer) Untraced() string {
	var all []string
	for _, u := range t.untraced {
		all = append(all, u.Function+" ("+u.Why+")")
	}
	return strings.Join(all, ", ")
}

// Close frees what Open made.
func (t *Tracer) Close() error {
	for _, p := range t.probes {
		p.close()
	}
	for _, m := range []*ebpf.Map{t.threads, t.empty} {
		if m != nil {
			m.Close()
		}
	}
	if t.enrol != nil {
		t.enrol.Close()
	}
	return nil
}

func unsupported(why, help string) error {
	return &ns.UnsupportedError{What: "a trace of the trie's functions", Why: why, Help: help}
}

func refused(err error) error {
	var verifier *ebpf.VerifierError
	switch {
	case errors.As(err, &verifier):
		return err // a fault of this package
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return unsupported("this user may not put BPF programs into the kernel", "run as root, without kernel lockdown")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, ebpf.ErrNotSupported):
		return unsupported("the kernel has no BPF for kprobes: "+err.Error(), "use Linux 5.10 or later with CONFIG_BPF_EVENTS")
	}
	return err
}

// look reads the record of a thread.
func (t *Tracer) look(thread uint32) ([]uint64, error) {
	words := make([]uint64, t.width*functionBytes/8)
	if err := t.threads.Lookup(thread, words); err != nil {
		return nil, fmt.Errorf("read what was traced of a thread: %w", err)
	}
	return words, nil
}

// take reads the record of a thread, which is not in any of the functions, and empties
// it.
func (t *Tracer) take(thread uint32) ([]uint64, error) {
	words, err := t.look(thread)
	if err != nil {
		return nil, err
	}
	if err := t.threads.Put(thread, make([]uint64, len(words))); err != nil {
		return nil, fmt.Errorf("empty the trace of a thread: %w", err)
	}
	return words, nil
}
