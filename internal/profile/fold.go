package profile

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fibchurn/internal/kallsyms"
	"fibchurn/results"
)

// profile is what the sources that are done have, in the record's form.
func (p *Profiler) profile() (*results.Profile, error) {
	f := &folder{self: uint32(os.Getpid()), symbols: p.symbols, names: map[uint64][]string{}, tasks: map[uint32]string{}}
	err := f.prepare(p.done)
	profile := &results.Profile{Event: p.event.name, Hz: p.hz, Scope: p.scope, Phases: []results.PhaseProfile{}}
	for i, name := range p.phases {
		profile.Phases = append(profile.Phases, f.phase(name, i, p.done))
	}
	for _, s := range p.done {
		profile.Lost += s.lost
	}
	return profile, err
}

// A folder turns addresses into names.
type folder struct {
	self    uint32 // this process
	symbols *kallsyms.Table
	vdso    [2]uint64
	names   map[uint64][]string // of the program's frames, outermost first
	tasks   map[uint32]string   // by process
}

// prepare reads the kernel's symbols again if samples are of modules or BPF programs,
// which may have come since.
func (f *folder) prepare(sources []*source) error {
	f.vdso = vdsoRange()
	for _, s := range sources {
		for i := range s.stacks.len() {
			kernel := false
			for _, w := range s.stacks.at(i)[1:] {
				switch {
				case isMark(w):
					kernel = w == contextKernel
				case kernel && !f.symbols.Fixed(w):
					symbols, err := kallsyms.Read()
					if err != nil {
						return err
					}
					f.symbols = symbols
					return nil
				}
			}
		}
	}
	return nil
}

// phase sums up one phase.
func (f *folder) phase(name string, number int, sources []*source) results.PhaseProfile {
	ph := results.PhaseProfile{Phase: name}
	sums := map[string]int64{}
	for _, s := range sources {
		if number >= len(s.counts) {
			continue
		}
		for i, n := range s.counts[number] {
			if n > 0 {
				sums[f.stack(s, i)] += n
				ph.Samples += n
			}
		}
	}
	for frames, n := range sums {
		ph.Stacks = append(ph.Stacks, results.Stack{Frames: frames, Samples: n})
	}
	slices.SortFunc(ph.Stacks, func(a, b results.Stack) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Frames, b.Frames))
	})
	return ph
}

// The marks in a stack (enum perf_callchain_context, include/uapi/linux/perf_event.h).
const (
	contextKernel = math.MaxUint64 - 128 + 1
	contextUser   = math.MaxUint64 - 512 + 1
	contextMax    = math.MaxUint64 - 4095 + 1
)

func isMark(word uint64) bool { return word >= contextMax }

const unknown = "[unknown]"

// stack names the functions of a stack, outermost first.
func (f *folder) stack(s *source, i int) string {
	words := s.stacks.at(i)
	process := uint32(words[0])
	own := !s.cpus || process == f.self
	var frames []string // innermost first
	context, first := uint64(contextKernel), true
	for _, w := range words[1:] {
		if isMark(w) {
			context, first = w, true
			continue
		}
		switch context {
		case contextKernel:
			frames = append(frames, f.kernel(w, first))
		case contextUser:
			if !own && !first {
				continue // one frame says it: that program's functions are not known here
			}
			user := f.user(w, first, own)
			for i := len(user) - 1; i >= 0; i-- {
				frames = append(frames, user[i])
			}
		default: // of a guest, or a hypervisor
			frames = append(frames, unknown)
		}
		first = false
	}
	if len(frames) == 0 {
		frames = append(frames, unknown)
	}
	if s.cpus {
		frames = append(frames, f.task(process))
	}
	slices.Reverse(frames)
	return strings.Join(frames, ";")
}

// kernel names a function. All but the innermost address are where a call returns to,
// which may lie behind the caller's end.
func (f *folder) kernel(address uint64, first bool) string {
	if !first {
		address--
	}
	if name := f.symbols.Name(address); name != "" {
		return name
	}
	return unknown
}

// user names the program's function at an address, and those it is inlined in,
// outermost first.
func (f *folder) user(address uint64, first, own bool) []string {
	const suffix = "_[u]"
	if !own {
		return []string{unknown + suffix}
	}
	if first {
		address++ // CallersFrames takes all for addresses that a call returns to
	}
	if names, ok := f.names[address]; ok {
		return names
	}
	var names []string
	frames := runtime.CallersFrames([]uintptr{uintptr(address)})
	for {
		frame, more := frames.Next()
		if frame.Function != "" {
			names = append(names, strings.ReplaceAll(frame.Function, ";", ":")+suffix)
		}
		if !more {
			break
		}
	}
	slices.Reverse(names)
	switch {
	case names != nil:
	case f.vdso[0] <= address && address < f.vdso[1]:
		names = []string{"[vdso]" + suffix}
	default:
		names = []string{unknown + suffix}
	}
	f.names[address] = names
	return names
}

// task names what a CPU was at, where that may be anything: the idle task is "[idle]",
// any other its command, without the number of a kernel thread's CPU.
func (f *folder) task(process uint32) string {
	if process == 0 {
		return "[idle]"
	}
	if name, ok := f.tasks[process]; ok {
		return name
	}
	name := "[gone]"
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process)); err == nil {
		command, _, _ := strings.Cut(strings.TrimSpace(string(text)), "/")
		name = "[" + strings.ReplaceAll(command, ";", ":") + "]"
	}
	f.tasks[process] = name
	return name
}

// vdsoRange is where the kernel's functions for programs are in this process's memory.
func vdsoRange() (at [2]uint64) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return at
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			continue
		}
		from, rest, _ := strings.Cut(line, "-")
		to, _, _ := strings.Cut(rest, " ")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil {
			at = [2]uint64{start, end}
		}
	}
	return at
}
