package functrace

import (
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// A record is what is known of one thread: for each function the words below. Only
// the thread itself changes its record, with preemption off, so nothing is atomic. The
// record of thread 0 has only calls: those of all threads that have no record.
const (
	wordDepth   = iota * 8 // calls that have not returned
	wordStart              // when the outermost of them began, CLOCK_MONOTONIC
	wordStack              // and the stack pointer then
	wordCalls              // entered
	wordReturns            // left, of those
	wordWall               // ns of the outermost calls
	wordMax                // of the longest
	functionBytes
)

// others is the key of the record of all other threads.
const others = 0

// Of the stack.
const stackKey = -8

// own has R0 point to the record of the current thread and goes to the label where it
// has none.
func own(threads *ebpf.Map, none string) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), // the thread's number is the lower half
		asm.StoreMem(asm.RFP, stackKey, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, threads.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, none),
	}
}

func leave() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("leave"), asm.Return()}
}

// entry counts a call of function number i and keeps when it began, unless it is one
// within another: resize calls itself for the children of a tnode that it has replaced
// (replace, net/ipv4/fib_trie.c).
//
// A call whose return was missed would look like one that goes on for ever. But a call
// within another has less stack than that, and one that has as much or more is not.
func entry(threads *ebpf.Map, i int) asm.Instructions {
	word := func(w int) int16 { return int16(i*functionBytes + w) }
	out := append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, own(threads, "other")...)
	out = append(out,
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.LoadMem(asm.R1, asm.R7, word(wordCalls), asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, word(wordCalls), asm.R1, asm.DWord),
		asm.LoadMem(asm.R8, asm.R7, word(wordDepth), asm.DWord))
	if at, ok := stackPointer(); ok {
		out = append(out,
			asm.LoadMem(asm.R6, asm.R6, at, asm.DWord),
			asm.LoadMem(asm.R1, asm.R7, word(wordStack), asm.DWord),
			asm.JLT.Reg(asm.R6, asm.R1, "within"),
			asm.Mov.Imm(asm.R8, 0))
	}
	out = append(out,
		asm.Mov.Reg(asm.R1, asm.R8).WithSymbol("within"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, word(wordDepth), asm.R1, asm.DWord),
		asm.JNE.Imm(asm.R8, 0, "leave"))
	if _, ok := stackPointer(); ok {
		out = append(out, asm.StoreMem(asm.R7, word(wordStack), asm.R6, asm.DWord))
	}
	out = append(out,
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R7, word(wordStart), asm.R0, asm.DWord),
		asm.Ja.Label("leave"),

		asm.StoreImm(asm.RFP, stackKey, others, asm.Word).WithSymbol("other"),
		asm.LoadMapPtr(asm.R1, threads.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "leave"),
		asm.Mov.Imm(asm.R1, 1),
		asm.Add.Imm(asm.R0, int32(word(wordCalls))),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord))
	return append(out, leave()...)
}

// exit takes the time of an outermost call of function number i. A call that began
// before the thread had a record is none.
func exit(threads *ebpf.Map, i int) asm.Instructions {
	word := func(w int) int16 { return int16(i*functionBytes + w) }
	out := own(threads, "leave")
	out = append(out,
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.LoadMem(asm.R8, asm.R7, word(wordDepth), asm.DWord),
		asm.JEq.Imm(asm.R8, 0, "leave"),
		asm.Sub.Imm(asm.R8, 1),
		asm.StoreMem(asm.R7, word(wordDepth), asm.R8, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, word(wordReturns), asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, word(wordReturns), asm.R1, asm.DWord),
		asm.JNE.Imm(asm.R8, 0, "leave"),
		asm.StoreMem(asm.R7, word(wordStack), asm.R8, asm.DWord), // 0: no call goes on
		asm.FnKtimeGetNs.Call(),
		asm.LoadMem(asm.R1, asm.R7, word(wordStart), asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		asm.LoadMem(asm.R1, asm.R7, word(wordWall), asm.DWord),
		asm.Add.Reg(asm.R1, asm.R0),
		asm.StoreMem(asm.R7, word(wordWall), asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, word(wordMax), asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R0, "leave"),
		asm.StoreMem(asm.R7, word(wordMax), asm.R0, asm.DWord))
	return append(out, leave()...)
}

// enrol gives the current thread an empty record, unless it has one. The thread runs the program itself
// (BPF_PROG_TEST_RUN of a raw tracepoint program, Linux 5.10): so the number is the
// one that the kernel knows the thread by, also from inside a PID namespace. The
// record is the one value of the array empty.
func enrol(threads, empty *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.RFP, stackKey, asm.R0, asm.Word),
		asm.LoadMapValue(asm.R3, empty.FD(), 0),
		asm.LoadMapPtr(asm.R1, threads.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackKey),
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
		asm.FnMapUpdateElem.Call(),
		asm.LoadMem(asm.R0, asm.RFP, stackKey, asm.Word), // the thread's number
		asm.Return(),
	}
}

// stackPointer is where in struct pt_regs the stack pointer is, where that is known.
func stackPointer() (offset int16, known bool) {
	switch runtime.GOARCH {
	case "amd64":
		return 19 * 8, true
	case "arm64":
		return 31 * 8, true
	}
	return 0, false
}
