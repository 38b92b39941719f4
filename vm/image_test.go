package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fibchurn/vm/vmtest"
)

// An elfPart is a segment (and, named, a section) of a file that elfOf makes.
type elfPart struct {
	kind    elf.ProgType
	section string
	content []byte
}

func elfOf(machine elf.Machine, parts ...elfPart) []byte {
	const headerSize, progSize, sectionSize = 64, 56, 64
	names := []byte{0}
	var body bytes.Buffer
	start := headerSize + progSize*len(parts)
	var progs []elf.Prog64
	sections := []elf.Section64{{}}
	for _, p := range parts {
		offset := uint64(start + body.Len())
		progs = append(progs, elf.Prog64{Type: uint32(p.kind), Off: offset, Filesz: uint64(len(p.content)), Memsz: uint64(len(p.content)), Align: 1})
		if p.section != "" {
			sections = append(sections, elf.Section64{Name: uint32(len(names)), Type: uint32(elf.SHT_PROGBITS), Off: offset, Size: uint64(len(p.content)), Addralign: 1})
			names = append(names, p.section+"\x00"...)
		}
		body.Write(p.content)
	}
	sections = append(sections, elf.Section64{Name: uint32(len(names)), Type: uint32(elf.SHT_STRTAB), Off: uint64(start + body.Len())})
	names = append(names, ".shstrtab\x00"...)
	sections[len(sections)-1].Size = uint64(len(names))
	body.Write(names)

	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
		Phoff: headerSize, Shoff: uint64(start + body.Len()), Ehsize: headerSize,
		Phentsize: progSize, Phnum: uint16(len(parts)),
		Shentsize: sectionSize, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	var file bytes.Buffer
	for _, part := range []any{header, progs, body.Bytes(), sections} {
		_ = binary.Write(&file, binary.LittleEndian, part)
	}
	return file.Bytes()
}

func pvhNote() []byte {
	var note bytes.Buffer
	_ = binary.Write(&note, binary.LittleEndian, []uint32{4, 8, 18})
	note.WriteString("Xen\x00")
	note.Write(make([]byte, 8))
	return note.Bytes()
}

func TestIdentify(t *testing.T) {
	banner := elfPart{elf.PT_LOAD, "", []byte("xxLinux version %s\x00Linux version 6.1.176 (buildd@x) (gcc) #1\n")}
	uml := elfOf(elf.EM_X86_64, banner, elfPart{elf.PT_LOAD, ".uml.setup.init", []byte("x")})
	vmlinux := elfOf(elf.EM_X86_64, banner, elfPart{elf.PT_NOTE, "", pvhNote()})
	small := vmtest.BzImage("", 4)
	small[bootLoadFlags] = 0
	arm := make([]byte, 0x268)
	copy(arm[0x38:], "ARM\x64")

	for _, c := range []struct {
		name    string
		image   []byte
		kind    Kind
		release string
		why     string
	}{
		{"bzImage", vmtest.BzImage("6.12.0-cloud+ (me@here) #1 SMP", 64), BzImage, "6.12.0-cloud+", ""},
		{"bzImage with a signature after it", append(vmtest.BzImage("6.1.0 (x)", 4), "signature"...), BzImage, "6.1.0", ""},
		{"bzImage without a version", vmtest.BzImage("", 4), BzImage, "", ""},
		{"bzImage with an odd version", vmtest.BzImage("../../etc (x)", 4), BzImage, "", ""},
		{"User-Mode Linux", uml, UML, "6.1.176", ""},
		{"vmlinux with PVH", vmlinux, PVH, "6.1.176", ""},

		{"empty", nil, 0, "", "too short"},
		{"text", []byte("this is no kernel at all, but some text"), 0, "", "no kernel"},
		{"bzImage cut in the middle", vmtest.BzImage("6.1.0 (x)", 64)[:1500], 0, "", "cut short: it has 1500 bytes of 2048"},
		{"bzImage cut in its header", vmtest.BzImage("6.1.0 (x)", 64)[:0x210], 0, "", "cut short"},
		{"bzImage cut in its boot sector", vmtest.BzImage("6.1.0 (x)", 64)[:0x180], 0, "", "no kernel"},
		{"32-bit bzImage", small, 0, "", "without a 64-bit entry point"},
		{"arm64 Image", arm, 0, "", "arm64"},
		{"gzip", []byte("\x1f\x8b\x08\x00rest"), 0, "", "compressed"},
		{"User-Mode Linux cut in its sections", uml[:len(uml)-30], 0, "", "cut short"},
		{"User-Mode Linux cut in its content", uml[:190], 0, "", "cut short"},
		{"ELF header alone", uml[:64], 0, "", "cut short"},
		{"half an ELF header", uml[:20], 0, "", "cut short"},
		{"vmlinux without PVH", elfOf(elf.EM_X86_64, banner), 0, "", "bzImage instead"},
		{"program", elfOf(elf.EM_X86_64, elfPart{elf.PT_LOAD, "", []byte("hello")}), 0, "", "a program, but no kernel"},
		{"arm64 program", elfOf(elf.EM_AARCH64, banner), 0, "", "EM_AARCH64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")
			if err := os.WriteFile(path, c.image, 0o755); err != nil {
				t.Fatal(err)
			}
			k, err := Identify(path, "base")
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), path) {
					t.Fatalf("got %v, want an error with %q and the path", err, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := (Kernel{path, "base", c.kind, c.release}); k != want {
				t.Errorf("got %+v, want %+v", k, want)
			}
		})
	}
}

func TestIdentifyNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, why := range map[string]string{
		filepath.Join(dir, "none"): "no such file or directory",
		dir:                        "not a regular file",
		"/dev/zero":                "not a regular file",
	} {
		if _, err := Identify(path, ""); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: got %v, want %q", path, err, why)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add(vmtest.BzImage("6.1.0 (x)", 4))
	f.Add(elfOf(elf.EM_X86_64, elfPart{elf.PT_LOAD, ".uml.help.init", []byte("Linux version 6.1 (")}, elfPart{elf.PT_NOTE, "", pvhNote()}))
	path := filepath.Join(f.TempDir(), "image")
	f.Fuzz(func(t *testing.T, image []byte) {
		if err := os.WriteFile(path, image, 0o755); err != nil {
			t.Fatal(err)
		}
		if k, err := Identify(path, ""); err == nil && k.Release != "" && !releaseLike(k.Release) {
			t.Errorf("release %q", k.Release)
		}
	})
}
