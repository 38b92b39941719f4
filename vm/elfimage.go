package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// identifyELF tells a User-Mode Linux program and a vmlinux that QEMU can enter
// from other programs. User-Mode Linux is known by its tables of boot options
// (.uml.*.init, arch/um/include/asm/common.lds.S), a bootable vmlinux by its PVH
// note (XEN_ELFNOTE_PHYS32_ENTRY, arch/x86/platform/pvh/head.S).
func identifyELF(f io.ReaderAt, size int64) (kind Kind, release, why string) {
	if end := elfEnd(f, size); end > size {
		return 0, "", fmt.Sprintf("an ELF file cut short: it has %d bytes of at least %d", size, end)
	}
	image, err := elf.NewFile(f)
	if err != nil {
		return 0, "", "no kernel: " + err.Error()
	}
	defer image.Close()
	switch {
	case image.Class != elf.ELFCLASS64 || image.Machine != elf.EM_X86_64:
		return 0, "", fmt.Sprintf("no x86-64 kernel: an ELF file for %s", image.Machine)
	case isUML(image):
		return UML, elfRelease(image), ""
	case hasPVHNote(image):
		return PVH, elfRelease(image), ""
	case elfRelease(image) != "":
		return 0, "", "a vmlinux without a PVH entry point (CONFIG_PVH), which QEMU cannot boot: give arch/x86/boot/bzImage instead"
	}
	return 0, "", "a program, but no kernel"
}

// elfEnd is where the last thing that the ELF header and the program headers
// speak of ends, or 0 where there is no telling.
func elfEnd(f io.ReaderAt, size int64) int64 {
	var h elf.Header64
	if err := binary.Read(io.NewSectionReader(f, 0, size), binary.LittleEndian, &h); err != nil {
		return int64(binary.Size(h))
	}
	if elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(h.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return 0
	}
	end := int64(h.Phoff) + int64(h.Phnum)*int64(h.Phentsize)
	end = max(end, int64(h.Shoff)+int64(h.Shnum)*int64(h.Shentsize))
	if end < 0 || end > size {
		return end
	}
	programs := io.NewSectionReader(f, int64(h.Phoff), int64(h.Phnum)*int64(h.Phentsize))
	for range h.Phnum {
		var p elf.Prog64
		if h.Phentsize != uint16(binary.Size(p)) || binary.Read(programs, binary.LittleEndian, &p) != nil {
			break
		}
		if p.Filesz > 0 {
			end = max(end, int64(p.Off)+int64(p.Filesz))
		}
	}
	return end
}

func isUML(image *elf.File) bool {
	for _, s := range image.Sections {
		if strings.HasPrefix(s.Name, ".uml.") {
			return true
		}
	}
	return false
}

// hasPVHNote looks for a note of owner "Xen" and type 18.
func hasPVHNote(image *elf.File) bool {
	for _, p := range image.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			continue
		}
		if noteOf(notes, "Xen\x00", 18) {
			return true
		}
	}
	return false
}

func noteOf(notes []byte, owner string, kind uint32) bool {
	padded := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(notes) >= 12 {
		nameSize, descSize := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		end := 12 + padded(nameSize) + padded(descSize)
		if end > uint64(len(notes)) {
			return false
		}
		if string(notes[12:12+nameSize]) == owner && binary.LittleEndian.Uint32(notes[8:]) == kind {
			return true
		}
		notes = notes[end:]
	}
	return false
}

// elfRelease finds the banner "Linux version 6.1.176 (builder) ..." (init/version.c)
// in what the file loads, and returns the release in it.
func elfRelease(image *elf.File) string {
	const window = 1 << 20
	banner := []byte("Linux version ")
	buffer := make([]byte, window+256)
	for _, p := range image.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		for offset := int64(0); offset < int64(p.Filesz); offset += window {
			n, _ := p.ReadAt(buffer, offset)
			for text := buffer[:n]; ; {
				_, after, found := bytes.Cut(text, banner)
				if !found {
					break
				}
				release, rest, _ := bytes.Cut(after[:min(len(after), 128)], []byte(" "))
				if releaseLike(string(release)) && bytes.HasPrefix(rest, []byte("(")) {
					return string(release)
				}
				text = after
			}
		}
	}
	return ""
}
