package packets

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"fibchurn/internal/bpf"
)

// Words of what a sink shares with this process.
const (
	sinkGood  = iota // frames as they should be
	sinkWrong        // of ours, but not so
	sinkOther        // none of ours
	sinkWords
)

// A Sink counts the frames of an injector that an interface receives, and drops all
// that it receives. A frame is good where its address is that of the flow it says it
// is of, its TTL one less than it was sent with, and its link address begins with
// that of the next hop.
type Sink struct {
	program *ebpf.Program
	link    link.Link
	area    *bpf.Area
	words   []uint64
}

// OpenSink attaches a sink to an interface, by the driver, from the calling thread
// in the interface's network namespace. next is the next hop's address, of which the
// first four bytes count.
func OpenSink(index uint32, in *Injector, next net.HardwareAddr) (*Sink, error) {
	s := &Sink{}
	if err := s.open(index, in, next); err != nil {
		s.Close()
		return nil, refused("receiving frames (XDP on a veth)", err)
	}
	return s, nil
}

func (s *Sink) open(index uint32, in *Injector, next net.HardwareAddr) (err error) {
	if s.area, err = bpf.NewArea("sink", 8*sinkWords); err != nil {
		return err
	}
	s.words = s.area.Words()
	code := sinkProgram{in.frame, in.program.flows, next, in.flows.FD(), s.area.FD()}
	s.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "sink", Type: ebpf.XDP, Instructions: code.assemble(), License: "GPL"})
	if err != nil {
		return fmt.Errorf("load the receiving program: %w", err)
	}
	s.link, err = link.AttachXDP(link.XDPOptions{Program: s.program, Interface: int(index), Flags: link.XDPDriverMode})
	if err != nil {
		return fmt.Errorf("attach the receiving program: %w", err)
	}
	return nil
}

// Good, Wrong and Other are the frames that came so far: as they should be, of the
// injector but changed, and none of its.
func (s *Sink) Good() int64  { return int64(s.words[sinkGood]) }
func (s *Sink) Wrong() int64 { return int64(s.words[sinkWrong]) }
func (s *Sink) Other() int64 { return int64(s.words[sinkOther]) }

// Close detaches the sink. A nil sink has nothing to detach.
func (s *Sink) Close() {
	if s == nil {
		return
	}
	if s.link != nil {
		s.link.Close()
	}
	if s.program != nil {
		s.program.Close()
	}
	s.area.Close()
}

// A sinkProgram says what a sink does; assemble makes it.
type sinkProgram struct {
	frame           *frame
	flows           int
	next            net.HardwareAddr
	flowMap, areaFD int
}

func (p *sinkProgram) assemble() asm.Instructions {
	f, native := p.frame, binary.NativeEndian
	typ := int32(native.Uint16(f.bytes[ethernetType:]))
	mark := int32(payloadMark)
	next := [2]int32{int32(native.Uint16(p.next)), int32(native.Uint16(p.next[2:]))}
	ttl := int16(ipv4TTL)
	if f.ipv6 {
		ttl = ipv6Hops
	}
	out := asm.Instructions{
		asm.LoadMapValue(asm.R9, p.areaFD, 0),
		asm.LoadMem(asm.R7, asm.R1, contextData, asm.Word),
		asm.LoadMem(asm.R2, asm.R1, contextEnd, asm.Word),
		asm.Mov.Imm(asm.R4, 8*sinkOther),
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.Add.Imm(asm.R1, int32(len(f.bytes))),
		asm.JGT.Reg(asm.R1, asm.R2, "count"),
		asm.LoadMem(asm.R1, asm.R7, ethernetType, asm.Half),
		asm.JNE.Imm(asm.R1, typ, "count"),
		asm.LoadMem(asm.R1, asm.R7, int16(f.payload()), asm.Word),
		asm.JNE.Imm32(asm.R1, mark, "count"),
		asm.Mov.Imm(asm.R4, 8*sinkWrong),
		asm.LoadMem(asm.R1, asm.R7, 0, asm.Half),
		asm.JNE.Imm(asm.R1, next[0], "count"),
		asm.LoadMem(asm.R1, asm.R7, 2, asm.Half),
		asm.JNE.Imm(asm.R1, next[1], "count"),
		asm.LoadMem(asm.R1, asm.R7, ttl, asm.Byte),
		asm.JNE.Imm(asm.R1, sentTTL-1, "count"),
		asm.LoadMem(asm.R1, asm.R7, int16(f.payload()+4), asm.Word),
		asm.JGE.Imm(asm.R1, int32(p.flows), "count"),
		asm.LoadMapValue(asm.R8, p.flowMap, 0),
		asm.Mul.Imm(asm.R1, flowBytes),
		asm.Add.Reg(asm.R8, asm.R1),
	}
	size, step := asm.Word, int16(4)
	end := int16(4)
	if f.ipv6 {
		size, step, end = asm.DWord, 8, 16
	}
	for at := int16(0); at < end; at += step {
		out = append(out,
			asm.LoadMem(asm.R1, asm.R7, int16(f.flowAt)+at, size),
			asm.LoadMem(asm.R2, asm.R8, flowAddress+at, size),
			asm.JNE.Reg(asm.R1, asm.R2, "count"))
	}
	return append(out,
		asm.Mov.Imm(asm.R4, 8*sinkGood),
		asm.Add.Reg(asm.R9, asm.R4).WithSymbol("count"),
		asm.LoadMem(asm.R1, asm.R9, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return())
}
