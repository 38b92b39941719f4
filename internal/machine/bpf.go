package machine

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

func probeBPF(t tree) finding {
	return judgeBPF(t, tryBPF())
}

// emptyProgramResult is what the program of tryBPF returns.
const emptyProgramResult = 7

// tryBPF loads a program of two instructions, of the type that does the lookups,
// and runs it once (BPF_PROG_TEST_RUN).
func tryBPF() error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.SchedCLS,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, emptyProgramResult), asm.Return()},
		License:      "MIT",
	})
	if err != nil {
		return fmt.Errorf("load a program: %w", err)
	}
	defer program.Close()
	result, err := program.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	if err != nil {
		return fmt.Errorf("run a program: %w", err)
	}
	if result != emptyProgramResult {
		return fmt.Errorf("a program returned %d, want %d", result, emptyProgramResult)
	}
	return nil
}

func judgeBPF(t tree, err error) finding {
	switch {
	case err == nil:
		return finding{OK, "a program of two instructions was loaded and run"}
	case errors.Is(err, unix.ENOSYS):
		return finding{Missing, "this kernel has no bpf(2)"}
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return finding{Missing, "bpf(2) is refused to this user" +
			sysctls(t, "kernel.unprivileged_bpf_disabled") + lockdown(t)}
	case errors.Is(err, ebpf.ErrNotSupported):
		return finding{Missing, "this kernel does not run programs on request: " + err.Error()}
	}
	return finding{Unknown, err.Error()}
}

// lockdown says so where the kernel is locked down
// (Documentation: kernel_lockdown(7)).
func lockdown(t tree) string {
	if level := lockdownLevel(t); level != "" && level != "none" {
		return " (kernel lockdown: " + level + ")"
	}
	return ""
}
