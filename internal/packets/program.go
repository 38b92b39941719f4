package packets

import (
	"encoding/binary"
	"net"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// What becomes of a frame that was injected.
const (
	// Stack hands it to the kernel as received.
	Stack = "stack"
	// Lookup asks bpf_fib_lookup where it goes, and sends it there (bpf_redirect).
	Lookup = "lookup"
	// Direct is Lookup in the table main alone, without rules.
	Direct = "direct"
	// Redirect sends it to the one next hop without asking.
	Redirect = "redirect"

	drop = "drop" // it at once
)

// Verdicts of XDP programs (enum xdp_action, include/uapi/linux/bpf.h).
const (
	xdpDrop = 1
	xdpPass = 2
)

// Fields of the context of an XDP program (struct xdp_md).
const (
	contextData = 0
	contextEnd  = 4
)

// Offsets in struct bpf_fib_lookup (include/uapi/linux/bpf.h).
const (
	lookupFamily   = 0
	lookupProtocol = 1
	lookupLength   = 6 // tot_len
	lookupIndex    = 8 // of the incoming interface, and then of the outgoing
	lookupSource   = 16
	lookupDest     = 32
	lookupFrom     = 52 // smac
	lookupTo       = 58 // dmac
	lookupBytes    = 64

	lookupDirect = 1 // BPF_FIB_LOOKUP_DIRECT
)

// Words of the state that an injecting program shares with this process.
const (
	stateCursor  = iota // flow that is next
	stateFrames         // how often the program ran
	stateCut            // of these, with a frame that is too short
	stateStart          // first reading of the clock in a call, 0 before
	stateStarted        // stateFrames then
	stateEnd            // last reading of the clock
	stateEnded          // stateFrames then
	stateResults        // how often the helper said what, by result

	resultOther = 9 // results that there is no word for, errors among them
	stateWords  = stateResults + resultOther + 1

	readingEvery = 64 // frames from one reading of the clock to the next, a power of two
)

// A program says what an injecting program does; assemble makes it.
//
// It takes the next flow, writes what the last use of the frame may have changed,
// and decides. The four ways differ in what comes after the writing alone. No two of
// its runs are at once: the thread is on one CPU.
type program struct {
	frame            *frame
	fate             string
	flows            int
	in, out          uint32 // interfaces
	from, next       net.HardwareAddr
	flowMap, stateFD int
	stale            bool // leave frames as they come, for tests
}

// assemble writes the program. R6 is the context, R7 the frame, R8 the flow and R9
// the state.
func (p *program) assemble() asm.Instructions {
	var out asm.Instructions
	parts := []asm.Instructions{p.enter(), p.clock(), p.flow()}
	if !p.stale {
		parts = append(parts, p.write())
	}
	parts = append(parts, p.decide())
	for _, part := range parts {
		out = append(out, part...)
	}
	return append(out, p.cut()...)
}

// enter finds the frame and counts it.
func (p *program) enter() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMapValue(asm.R9, p.stateFD, 0),
		asm.LoadMem(asm.R1, asm.R9, 8*stateFrames, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 8*stateFrames, asm.R1, asm.DWord),
		asm.LoadMem(asm.R7, asm.R6, contextData, asm.Word),
		asm.LoadMem(asm.R2, asm.R6, contextEnd, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.Add.Imm(asm.R1, int32(len(p.frame.bytes))),
		asm.JGT.Reg(asm.R1, asm.R2, "cut"),
	}
}

// clock reads the clock at every so many frames.
func (p *program) clock() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R9, 8*stateFrames, asm.DWord),
		asm.And.Imm(asm.R1, readingEvery-1),
		asm.JNE.Imm(asm.R1, 0, "clock"),
		asm.FnKtimeGetNs.Call(),
		asm.LoadMem(asm.R1, asm.R9, 8*stateFrames, asm.DWord),
		asm.StoreMem(asm.R9, 8*stateEnd, asm.R0, asm.DWord),
		asm.StoreMem(asm.R9, 8*stateEnded, asm.R1, asm.DWord),
		asm.LoadMem(asm.R2, asm.R9, 8*stateStart, asm.DWord),
		asm.JNE.Imm(asm.R2, 0, "clock"),
		asm.StoreMem(asm.R9, 8*stateStart, asm.R0, asm.DWord),
		asm.StoreMem(asm.R9, 8*stateStarted, asm.R1, asm.DWord),
	}
}

// cut counts a frame that is shorter than it was made, and drops it.
func (p *program) cut() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R9, 8*stateCut, asm.DWord).WithSymbol("cut"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 8*stateCut, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
	}
}

// flow has R8 point to the next flow, whose number is then R5.
func (p *program) flow() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R5, asm.R9, 8*stateCursor, asm.DWord).WithSymbol("clock"),
		asm.JLT.Imm(asm.R5, int32(p.flows), "flow"),
		asm.Mov.Imm(asm.R5, 0),
		asm.Mov.Reg(asm.R1, asm.R5).WithSymbol("flow"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 8*stateCursor, asm.R1, asm.DWord),
		asm.LoadMapValue(asm.R8, p.flowMap, 0),
		asm.Mov.Reg(asm.R1, asm.R5),
		asm.Mul.Imm(asm.R1, flowBytes),
		asm.Add.Reg(asm.R8, asm.R1),
	}
}

// write makes the frame that of the flow: the addresses of its link, TTL, the flow's
// address, number or port, and the checksums.
func (p *program) write() asm.Instructions {
	f := p.frame
	out := p.constants(0, f.bytes[:12])
	ttl := ipv4TTL
	if f.ipv6 {
		ttl = ipv6Hops
	}
	out = append(out, asm.StoreImm(asm.R7, int16(ttl), sentTTL, asm.Byte))
	out = append(out, p.copyAddress(asm.R7, int16(f.flowAt))...)
	if !f.ipv6 {
		out = append(out, copyField(asm.R7, ipv4Checksum, asm.R8, flowHeader, asm.Half)...)
	}
	if f.protocol == protocolTCP {
		out = append(out, copyField(asm.R7, int16(f.transport()), asm.R8, flowPort, asm.Half)...)
	} else {
		out = append(out, asm.StoreMem(asm.R7, int16(f.payload()+4), asm.R5, asm.Word))
	}
	if f.ipv6 || f.protocol == protocolTCP {
		out = append(out, copyField(asm.R7, int16(f.checksumAt()), asm.R8, flowChecksum, asm.Half)...)
	}
	return out
}

// constants writes bytes to the frame, two at a time: the Ethernet header is aligned
// to no more where the kernel heeds alignment (NET_IP_ALIGN).
func (p *program) constants(at int, b []byte) (out asm.Instructions) {
	for i := 0; i < len(b); i += 2 {
		out = append(out, asm.StoreImm(asm.R7, int16(at+i), int64(binary.NativeEndian.Uint16(b[i:])), asm.Half))
	}
	return out
}

// copyField copies a field by way of R1.
func copyField(to asm.Register, toAt int16, from asm.Register, fromAt int16, size asm.Size) asm.Instructions {
	return asm.Instructions{asm.LoadMem(asm.R1, from, fromAt, size), asm.StoreMem(to, toAt, asm.R1, size)}
}

// copyAddress copies the flow's address.
func (p *program) copyAddress(to asm.Register, at int16) asm.Instructions {
	if !p.frame.ipv6 {
		return copyField(to, at, asm.R8, flowAddress, asm.Word)
	}
	return append(copyField(to, at, asm.R8, flowAddress, asm.DWord),
		copyField(to, at+8, asm.R8, flowAddress+8, asm.DWord)...)
}

// decide is the fate of the frame.
func (p *program) decide() asm.Instructions {
	switch p.fate {
	case Lookup, Direct:
		return append(p.lookUp(), p.send()...)
	case Redirect:
		out := p.constants(0, append(append([]byte{}, p.next...), p.from...))
		out = append(out, asm.Mov.Imm(asm.R1, int32(p.out)))
		return append(out, p.send()...)
	case drop:
		return asm.Instructions{asm.Mov.Imm(asm.R0, xdpDrop), asm.Return()}
	}
	return asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}
}

// lookUp asks for the flow's next hop, counts what the helper says and drops what it
// does not forward. The addresses of the link go into the frame, and R1 is the
// outgoing interface.
func (p *program) lookUp() asm.Instructions {
	out := p.parameters()
	flags := int32(0)
	if p.fate == Direct {
		flags = lookupDirect
	}
	out = append(out,
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -lookupBytes),
		asm.Mov.Imm(asm.R3, lookupBytes),
		asm.Mov.Imm(asm.R4, flags),
		asm.FnFibLookup.Call(),
		asm.LSh.Imm(asm.R0, 32), // the result is an int
		asm.RSh.Imm(asm.R0, 32),
		asm.JLT.Imm(asm.R0, resultOther, "result"),
		asm.Mov.Imm(asm.R0, resultOther),
		asm.Mov.Reg(asm.R1, asm.R0).WithSymbol("result"),
		asm.Mul.Imm(asm.R1, 8),
		asm.Mov.Reg(asm.R2, asm.R9),
		asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(asm.R1, asm.R2, 8*stateResults, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R2, 8*stateResults, asm.R1, asm.DWord),
		asm.JEq.Imm(asm.R0, 0, "found"),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return(),
	)
	found := len(out)
	for i := int16(0); i < 6; i += 2 {
		out = append(out, copyField(asm.R7, i, asm.RFP, -lookupBytes+lookupTo+i, asm.Half)...)
		out = append(out, copyField(asm.R7, 6+i, asm.RFP, -lookupBytes+lookupFrom+i, asm.Half)...)
	}
	out[found] = out[found].WithSymbol("found")
	return append(out, asm.LoadMem(asm.R1, asm.RFP, -lookupBytes+lookupIndex, asm.Word))
}

// parameters writes struct bpf_fib_lookup to the stack, all of it, since the helper
// left its results there.
func (p *program) parameters() (out asm.Instructions) {
	var b [lookupBytes]byte
	native, f := binary.NativeEndian, p.frame
	b[lookupFamily], b[lookupProtocol] = unix.AF_INET, f.protocol
	source := f.bytes[ipv4Source:][:4]
	native.PutUint16(b[lookupLength:], binary.BigEndian.Uint16(f.bytes[ethernetLength+2:]))
	if f.ipv6 {
		b[lookupFamily] = unix.AF_INET6
		source = f.bytes[ipv6Source:][:16]
		native.PutUint16(b[lookupLength:], binary.BigEndian.Uint16(f.bytes[ethernetLength+4:])+ipv6Length)
	}
	native.PutUint32(b[lookupIndex:], p.in)
	copy(b[lookupSource:], source)
	for at := 0; at < lookupBytes; at += 4 {
		out = append(out, asm.StoreImm(asm.RFP, int16(at-lookupBytes), int64(int32(native.Uint32(b[at:]))), asm.Word))
	}
	return append(out, p.copyAddress(asm.RFP, -lookupBytes+lookupDest)...)
}

// send takes one off the TTL, as ip_decrease_ttl does (include/net/ip.h), and
// redirects the frame to the interface R1.
func (p *program) send() asm.Instructions {
	if p.frame.ipv6 {
		return asm.Instructions{
			asm.LoadMem(asm.R2, asm.R7, ipv6Hops, asm.Byte),
			asm.Sub.Imm(asm.R2, 1),
			asm.StoreMem(asm.R7, ipv6Hops, asm.R2, asm.Byte),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
		}
	}
	one := int32(binary.NativeEndian.Uint16([]byte{1, 0}))
	return asm.Instructions{
		asm.LoadMem(asm.R2, asm.R7, ipv4Checksum, asm.Half),
		asm.Add.Imm(asm.R2, one),
		asm.JLT.Imm(asm.R2, 0xffff, "carried"),
		asm.Add.Imm(asm.R2, 1),
		asm.StoreMem(asm.R7, ipv4Checksum, asm.R2, asm.Half).WithSymbol("carried"),
		asm.LoadMem(asm.R2, asm.R7, ipv4TTL, asm.Byte),
		asm.Sub.Imm(asm.R2, 1),
		asm.StoreMem(asm.R7, ipv4TTL, asm.R2, asm.Byte),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
	}
}
