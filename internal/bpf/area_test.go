package bpf

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"fibchurn/internal/netnstest"
)

// What a program writes into an area this process reads, and a closed area is no
// longer mapped, whatever its size.
func TestArea(t *testing.T) {
	netnstest.Root(t)
	for _, bytes := range []int{24, 4096, 5000} {
		a, err := NewArea("area_test", bytes)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Bytes()) != bytes || len(a.Words()) != bytes/8 {
			t.Errorf("%d bytes and %d words of %d bytes", len(a.Bytes()), len(a.Words()), bytes)
		}
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
			asm.LoadMapValue(asm.R1, a.FD(), 0),
			asm.Mov.Imm(asm.R2, 7),
			asm.StoreMem(asm.R1, 16, asm.R2, asm.DWord),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		packet := make([]byte, 64)
		run := TestRun{Program: uint32(program.FD()), SizeIn: uint32(len(packet)), DataIn: uint64(uintptr(unsafe.Pointer(&packet[0]))), Repeat: 1}
		if err := run.Run(); err != nil {
			t.Fatal(err)
		}
		if got := a.Words()[2]; got != 7 {
			t.Errorf("the program wrote 7, and the area has %d", got)
		}
		program.Close()
		a.Close()
		if maps, err := os.ReadFile("/proc/self/maps"); err != nil || strings.Contains(string(maps), "bpf-map") {
			t.Errorf("still mapped after Close, or %v", err)
		}
	}
	(*Area)(nil).Close()
}
