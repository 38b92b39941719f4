package lookup

import (
	"encoding/binary"
	"net/netip"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
)

// Flags of bpf_fib_lookup (include/uapi/linux/bpf.h).
const (
	fibLookupDirect    = 1 << iota // one table, no rules
	fibLookupOutput                // as output; ifindex is the outgoing interface
	fibLookupSkipNeigh             // without the neighbour: Linux 6.3, and stable 6.1
	fibLookupTBID                  // table by its number: Linux 6.5, and stable 6.1
	_                              // BPF_FIB_LOOKUP_SRC
	fibLookupMark                  // with a mark: Linux 6.10
)

// Offsets in struct bpf_fib_lookup.
const (
	fibParamsSize    = 64
	fibParamsFamily  = 0
	fibParamsLength  = 6 // tot_len; what is not 0 has the route's MTU looked at, and not the skb's
	fibParamsIfindex = 8
	fibParamsTOS     = 12
	fibParamsSrc     = 16
	fibParamsDst     = 32
	fibParamsTBID    = 48
	fibParamsMark    = 52
)

// Offsets in the one value of each map of a bpf program.
const (
	keyBytes = 16 // of an address, IPv4 in the first four

	slotBytes = 24 // struct sighting: answer, asked, answered

	// Two of struct report: the answer that a key had, and the one it has: key,
	// answer, asked, answered.
	reportBytes = 32
	changeBytes = 2 * reportBytes

	stateCursor  = 0  // key that is next
	stateChanges = 8  // how many changes were logged so far; the log is a ring
	stateStart   = 16 // the last two readings of the clock
	stateEnd     = 24
	stateBytes   = 32

	// One lookup of the batch: its key, and what came of it.
	lookupKey, lookupResult, lookupIfindex = 0, 16, 20
	lookupBytes                            = 24

	notAsked = 1 << 16 // lookupResult of a key that the chain has not come to
)

// A bpfProgram says what a program does; assemble makes it.
//
// It copies the next keys to a small scratch area, looks them up between two
// readings of the clock, files the answers, and counts the time in a histogram. The
// calibration is the same program with the call of the helper replaced by one that
// sets its result to 0.
//
// The keys are followed by the first of them once more, as many as a batch has,
// each with a slot of its own, so that a batch may begin at any.
//
// No loop branches but at its end: the verifier follows each batch once through, and
// every branch inside would have it do so again (states are forgotten after some
// misses, is_state_visited, kernel/bpf/verifier.c).
type bpfProgram struct {
	params [fibParamsSize]byte // struct bpf_fib_lookup without the destination
	flags  uint32
	ipv6   bool
	blank  bool // the calibration
	batch  int  // lookups between two readings of the clock, a power of two
	chain  bool // which key is next depends on the last answer
	keys   int
	log    int // changes that the log has room for, a power of two

	keyMap, slotMap, logMap, histogramMap, stateMap, scratchMap int // descriptors
}

// fibParams fills in struct bpf_fib_lookup, and the flags, from a spec.
func fibParams(s *Spec) (params [fibParamsSize]byte, flags uint32) {
	native, big := binary.NativeEndian, binary.BigEndian
	flags = fibLookupSkipNeigh
	params[fibParamsFamily] = unix.AF_INET
	native.PutUint16(params[fibParamsLength:], 64)
	params[fibParamsTOS] = s.TOS
	if s.family() == prefixes.IPv6 {
		params[fibParamsFamily] = unix.AF_INET6
		big.PutUint32(params[fibParamsTOS:], uint32(s.TOS)<<20) // flowinfo
	}
	native.PutUint32(params[fibParamsIfindex:], s.IIF)
	if s.Direction == Output {
		flags |= fibLookupOutput
		native.PutUint32(params[fibParamsIfindex:], s.OIF)
	}
	if s.Src != "" {
		copy(params[fibParamsSrc:], netip.MustParseAddr(s.Src).AsSlice())
	}
	if s.Direct {
		flags |= fibLookupDirect
	}
	if s.Table != 0 {
		flags |= fibLookupTBID
		native.PutUint32(params[fibParamsTBID:], s.Table)
	}
	if s.Mark != 0 {
		flags |= fibLookupMark
		native.PutUint32(params[fibParamsMark:], s.Mark)
	}
	return params, flags
}

// Where the program keeps things on its stack.
const (
	stackParams = -fibParamsSize
	stackStart  = stackParams - 8
	stackEnd    = stackParams - 16
	stackChain  = stackParams - 24 // what the last answer was
	stackCursor = stackParams - 32 // the first key of the batch
)

// assemble writes the program. R6 is the context, R9 the state, throughout; R8
// counts lookups.
func (p *bpfProgram) assemble() asm.Instructions {
	var out asm.Instructions
	for _, part := range []asm.Instructions{
		p.enter(), p.draw(), p.readClock(stackStart), p.lookups(), p.readClock(stackEnd),
		p.file(), p.count(), {asm.Mov.Imm(asm.R0, 0), asm.Return()},
	} {
		out = append(out, part...)
	}
	return out
}

func (p *bpfProgram) enter() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMapValue(asm.R9, p.stateMap, 0),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, stackChain, asm.R1, asm.DWord),
	}
}

// draw copies the next keys to the scratch area.
func (p *bpfProgram) draw() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R9, stateCursor, asm.DWord),
		asm.JLT.Imm(asm.R1, int32(p.keys), "cursor"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, stackCursor, asm.R1, asm.DWord).WithSymbol("cursor"),
		asm.Mov.Imm(asm.R8, 0),

		asm.LoadMapValue(asm.R3, p.keyMap, 0).WithSymbol("draw"),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Mul.Imm(asm.R2, keyBytes),
		asm.Add.Reg(asm.R3, asm.R2),
		asm.LoadMem(asm.R4, asm.R3, 0, asm.DWord),
		asm.LoadMem(asm.R5, asm.R3, 8, asm.DWord),
		asm.LoadMapValue(asm.R3, p.scratchMap, 0),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Mul.Imm(asm.R2, lookupBytes),
		asm.Add.Reg(asm.R3, asm.R2),
		asm.StoreMem(asm.R3, lookupKey, asm.R4, asm.DWord),
		asm.StoreMem(asm.R3, lookupKey+8, asm.R5, asm.DWord),
		asm.StoreImm(asm.R3, lookupResult, notAsked, asm.Word),
		asm.Add.Imm(asm.R1, 1),
		asm.Add.Imm(asm.R8, 1),
		asm.JLT.Imm(asm.R8, int32(p.batch), "draw"),

		asm.StoreMem(asm.R9, stateCursor, asm.R1, asm.DWord),
	}
}

func (p *bpfProgram) readClock(to int16) asm.Instructions {
	return asm.Instructions{
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.RFP, to, asm.R0, asm.DWord),
	}
}

// lookups is what the clock measures.
func (p *bpfProgram) lookups() asm.Instructions {
	out := asm.Instructions{
		asm.Mov.Imm(asm.R8, 0),
		asm.Mov.Reg(asm.R2, asm.R8).WithSymbol("lookup"),
	}
	if p.chain && p.batch > 1 {
		// The key is the one as far on as the last answer's interface says, round
		// the batch: an order that is not known before. One may be looked up twice
		// and another not at all.
		out = append(out,
			asm.LoadMem(asm.R3, asm.RFP, stackChain, asm.DWord),
			asm.Add.Reg(asm.R2, asm.R3),
			asm.And.Imm(asm.R2, int32(p.batch-1)))
	}
	out = append(out,
		asm.Mul.Imm(asm.R2, lookupBytes),
		asm.LoadMapValue(asm.R7, p.scratchMap, 0),
		asm.Add.Reg(asm.R7, asm.R2))
	out = append(out, p.fill()...)
	out = append(out,
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackParams),
		asm.Mov.Imm(asm.R3, fibParamsSize),
		asm.Mov.Imm(asm.R4, int32(p.flags)))
	if p.blank {
		out = append(out, asm.Mov.Imm(asm.R0, 0))
	} else {
		out = append(out, asm.FnFibLookup.Call())
	}
	return append(out,
		asm.LoadMem(asm.R1, asm.RFP, stackParams+fibParamsIfindex, asm.Word),
		asm.StoreMem(asm.RFP, stackChain, asm.R1, asm.DWord),
		asm.StoreMem(asm.R7, lookupResult, asm.R0, asm.Word),
		asm.StoreMem(asm.R7, lookupIfindex, asm.R1, asm.Word),
		asm.Add.Imm(asm.R8, 1),
		asm.JLT.Imm(asm.R8, int32(p.batch), "lookup"))
}

// fill writes the parameters anew, since the helper leaves its results in them.
func (p *bpfProgram) fill() asm.Instructions {
	var out asm.Instructions
	for at := 0; at < fibParamsSize; at += 4 {
		word := int32(binary.NativeEndian.Uint32(p.params[at:]))
		out = append(out, asm.StoreImm(asm.RFP, stackParams+int16(at), int64(word), asm.Word))
	}
	if !p.ipv6 {
		return append(out,
			asm.LoadMem(asm.R1, asm.R7, lookupKey, asm.Word),
			asm.StoreMem(asm.RFP, stackParams+fibParamsDst, asm.R1, asm.Word))
	}
	return append(out,
		asm.LoadMem(asm.R1, asm.R7, lookupKey, asm.DWord),
		asm.StoreMem(asm.RFP, stackParams+fibParamsDst, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, lookupKey+8, asm.DWord),
		asm.StoreMem(asm.RFP, stackParams+fibParamsDst+8, asm.R1, asm.DWord))
}

// count adds one to the bucket of the time between the readings (see bucketOf).
func (p *bpfProgram) count() asm.Instructions {
	out := asm.Instructions{
		asm.LoadMem(asm.R2, asm.RFP, stackEnd, asm.DWord),
		asm.LoadMem(asm.R1, asm.RFP, stackStart, asm.DWord),
		asm.StoreMem(asm.R9, stateStart, asm.R1, asm.DWord),
		asm.StoreMem(asm.R9, stateEnd, asm.R2, asm.DWord),
		asm.Sub.Reg(asm.R2, asm.R1),
		asm.Mov.Imm(asm.R3, 0),
	}
	labels := []string{"shift-16", "shift-8", "shift-4", "shift-2", "shift-1", "shifted"}
	for i, shift := range []int32{16, 8, 4, 2, 1} {
		// As long as shifting leaves the highest bit at 2^11 or above.
		out = append(out,
			asm.JLT.Imm(asm.R2, 1<<(11+shift), labels[i+1]).WithSymbol(labels[i]),
			asm.RSh.Imm(asm.R2, shift),
			asm.Add.Imm(asm.R3, shift))
	}
	return append(out,
		asm.JLT.Imm(asm.R2, 1<<12, "in-range").WithSymbol("shifted"),
		asm.Mov.Imm(asm.R2, 1<<12-1),
		asm.Mul.Imm(asm.R3, 1<<11).WithSymbol("in-range"),
		asm.Add.Reg(asm.R2, asm.R3),
		asm.Mul.Imm(asm.R2, 8),
		asm.LoadMapValue(asm.R1, p.histogramMap, 0),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord))
}

// file does for the answers of the batch what ledger.note does. R6 is the first
// key from here on, for the context is not needed any more.
func (p *bpfProgram) file() asm.Instructions {
	out := asm.Instructions{
		asm.LoadMem(asm.R6, asm.RFP, stackCursor, asm.DWord),
		asm.Mov.Imm(asm.R8, 0),

		asm.Mov.Reg(asm.R2, asm.R8).WithSymbol("file"),
		asm.Mul.Imm(asm.R2, lookupBytes),
		asm.LoadMapValue(asm.R7, p.scratchMap, 0),
		asm.Add.Reg(asm.R7, asm.R2),
		// R5 is the key's slot, and R0 the answer it had.
		asm.LoadMapValue(asm.R5, p.slotMap, 0),
		asm.Mov.Reg(asm.R2, asm.R6),
		asm.Add.Reg(asm.R2, asm.R8),
		asm.Mul.Imm(asm.R2, slotBytes),
		asm.Add.Reg(asm.R5, asm.R2),
		asm.LoadMem(asm.R0, asm.R5, 0, asm.DWord),
		// R3 is the answer it has: the helper's result + 1 below, the interface above.
		asm.LoadMem(asm.R3, asm.R7, lookupIfindex, asm.Word),
		asm.LSh.Imm(asm.R3, 32),
		asm.LoadMem(asm.R4, asm.R7, lookupResult, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R4),
		asm.Add.Imm32(asm.R1, 1),
		asm.Or.Reg(asm.R3, asm.R1),
	}
	out = append(out, p.times()...)
	out = append(out, p.report()...)
	out = append(out,
		asm.StoreMem(asm.R5, 0, asm.R3, asm.DWord),
		asm.StoreMem(asm.R5, 8, asm.R1, asm.DWord),
		asm.StoreMem(asm.R5, 16, asm.R2, asm.DWord),
		asm.Add.Imm(asm.R8, 1),
		asm.JLT.Imm(asm.R8, int32(p.batch), "file"))
	if p.chain {
		out = append(out, // where the next batch begins depends on the last answer too
			asm.LoadMem(asm.R1, asm.R9, stateCursor, asm.DWord),
			asm.LoadMem(asm.R2, asm.RFP, stackChain, asm.DWord),
			asm.And.Imm(asm.R2, 7),
			asm.Add.Reg(asm.R1, asm.R2),
			asm.StoreMem(asm.R9, stateCursor, asm.R1, asm.DWord))
	}
	return out
}

// times sets R1 and R2 to when the key was asked and answered. Of one that the
// chain has not come to (R4 is its result) they are those of its slot, and so is
// the answer R3.
func (p *bpfProgram) times() asm.Instructions {
	out := asm.Instructions{
		asm.LoadMem(asm.R1, asm.RFP, stackStart, asm.DWord),
		asm.LoadMem(asm.R2, asm.RFP, stackEnd, asm.DWord),
	}
	if !p.chain || p.batch == 1 {
		return out
	}
	out = append(out, asm.Xor.Imm(asm.R4, notAsked))
	out = append(out, unequal(asm.R4, asm.R7)...)
	out = append(out, asm.Neg.Imm(asm.R4, 0)) // all ones where it was asked
	for _, choice := range []struct {
		now asm.Register
		was int16
	}{{asm.R3, 0}, {asm.R1, 8}, {asm.R2, 16}} {
		out = append(out,
			asm.LoadMem(asm.R7, asm.R5, choice.was, asm.DWord),
			asm.Xor.Reg(choice.now, asm.R7),
			asm.And.Reg(choice.now, asm.R4),
			asm.Xor.Reg(choice.now, asm.R7))
	}
	return out
}

// unequal makes of x, which is a difference, 0 or 1, by way of another register.
func unequal(x, by asm.Register) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(by, x),
		asm.Neg.Imm(by, 0),
		asm.Or.Reg(x, by),
		asm.RSh.Imm(x, 63),
	}
}

// report appends to the log the answer that a key had, R0, and the one it has, R3,
// R1 and R2, and has the log end behind them where they differ. R5 is the slot; all
// but R0, R4 and R7 stay what they are.
func (p *bpfProgram) report() asm.Instructions {
	out := asm.Instructions{
		asm.LoadMem(asm.R4, asm.R9, stateChanges, asm.DWord),
		asm.And.Imm(asm.R4, int32(p.log-1)),
		asm.Mul.Imm(asm.R4, changeBytes),
		asm.LoadMapValue(asm.R7, p.logMap, 0),
		asm.Add.Reg(asm.R7, asm.R4),
		asm.Mov.Reg(asm.R4, asm.R6),
		asm.Add.Reg(asm.R4, asm.R8),
		asm.StoreMem(asm.R7, 0, asm.R4, asm.DWord),
		asm.StoreMem(asm.R7, 8, asm.R0, asm.DWord),
		asm.LoadMem(asm.R4, asm.R5, 8, asm.DWord),
		asm.StoreMem(asm.R7, 16, asm.R4, asm.DWord),
		asm.LoadMem(asm.R4, asm.R5, 16, asm.DWord),
		asm.StoreMem(asm.R7, 24, asm.R4, asm.DWord),
		asm.StoreMem(asm.R7, reportBytes+8, asm.R3, asm.DWord),
		asm.StoreMem(asm.R7, reportBytes+16, asm.R1, asm.DWord),
		asm.StoreMem(asm.R7, reportBytes+24, asm.R2, asm.DWord),
		asm.Xor.Reg(asm.R0, asm.R3),
	}
	out = append(out, unequal(asm.R0, asm.R4)...)
	return append(out,
		asm.LoadMem(asm.R4, asm.R9, stateChanges, asm.DWord),
		asm.Add.Reg(asm.R4, asm.R0),
		asm.StoreMem(asm.R9, stateChanges, asm.R4, asm.DWord))
}

// The histogram of a program counts ns one by one to 4095, and then with 2048
// buckets to each power of two.
const histogramBuckets = 33 * 2048

// bucketOf is the bucket that the program counts a time in.
func bucketOf(ns uint64) int {
	shift := 0
	for ; ns >= 4096 && shift < 31; shift++ {
		ns >>= 1
	}
	return shift*2048 + int(min(ns, 4095))
}

// bucketStart is the least time that the program counts in a bucket, in ns.
func bucketStart(bucket int) int64 {
	if bucket < 4096 {
		return int64(bucket)
	}
	shift := bucket/2048 - 1
	return int64(bucket-shift*2048) << shift
}
