package vm

import (
	"debug/elf"
	"fmt"
)

// checkStatic refuses a program that needs a dynamic linker, which the initramfs
// has not.
func checkStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("read the program for the guest: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return &UnsupportedError{
				What: "a kernel with this program as its init",
				Why:  "the program is dynamically linked",
				Help: "build fibchurn with CGO_ENABLED=0",
			}
		}
	}
	return nil
}
