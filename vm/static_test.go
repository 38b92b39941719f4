package vm

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCheckStatic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	write := func(content []byte) {
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(elfOf(elf.EM_X86_64, elfPart{elf.PT_LOAD, "", []byte("x")}))
	if err := checkStatic(path); err != nil {
		t.Error(err)
	}
	write(elfOf(elf.EM_X86_64, elfPart{elf.PT_INTERP, "", []byte("/lib64/ld.so\x00")}))
	var unsupported *UnsupportedError
	if err := checkStatic(path); !errors.As(err, &unsupported) {
		t.Errorf("dynamic: got %v", err)
	}
}

func TestQEMUMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var unsupported *UnsupportedError
	if _, err := commands(Kernel{Kind: BzImage, Label: "base"}, Machine{}); !errors.As(err, &unsupported) {
		t.Errorf("got %v", err)
	}
}
