package vm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Offsets in the x86 boot protocol's header (Documentation/arch/x86/boot.rst).
const (
	bootSetupSects  = 0x1f1
	bootSysSize     = 0x1f4 // 16-byte units
	bootFlag        = 0x1fe
	bootMagic       = 0x202
	bootVersion     = 0x206
	bootKernelName  = 0x20e // offset of the version string, less 0x200
	bootLoadFlags   = 0x236 // since protocol 2.12
	bootHeaderEnd   = 0x268
	bootSector      = 512
	loadFlagsX86_64 = 1 // XLF_KERNEL_64
)

// identifyBzImage reads the header that make bzImage puts into the image. why is
// empty where it is a bootable one.
func identifyBzImage(f io.ReaderAt, size int64) (kind Kind, release, why string) {
	head := make([]byte, bootHeaderEnd)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return 0, "", reason(err)
	}
	if n < bootVersion || string(head[bootMagic:bootMagic+4]) != "HdrS" || binary.LittleEndian.Uint16(head[bootFlag:]) != 0xaa55 {
		return 0, "", notAKernel(head[:n])
	}
	sects := int64(head[bootSetupSects])
	if sects == 0 {
		sects = 4 // as the protocol has it
	}
	whole := (sects+1)*bootSector + 16*int64(binary.LittleEndian.Uint32(head[bootSysSize:]))
	if size < whole || n < bootHeaderEnd {
		return 0, "", fmt.Sprintf("a bzImage cut short: it has %d bytes of %d", size, max(whole, bootHeaderEnd))
	}
	protocol := binary.LittleEndian.Uint16(head[bootVersion:])
	if protocol < 0x20c || head[bootLoadFlags]&loadFlagsX86_64 == 0 {
		return 0, "", "a bzImage without a 64-bit entry point, which fibchurn cannot run in"
	}
	return BzImage, bzImageRelease(f, int64(binary.LittleEndian.Uint16(head[bootKernelName:]))), ""
}

// bzImageRelease is the first word of the version string, such as
// "6.1.0-57-cloud-amd64 (debian-kernel@...) #1 SMP", or empty.
func bzImageRelease(f io.ReaderAt, offset int64) string {
	if offset == 0 {
		return ""
	}
	text := make([]byte, 256)
	n, _ := f.ReadAt(text, 0x200+offset)
	text, _, _ = bytes.Cut(text[:n], []byte{0})
	fields := strings.Fields(string(text))
	if len(fields) == 0 || !releaseLike(fields[0]) {
		return ""
	}
	return fields[0]
}

// notAKernel says what a file is instead, where that helps.
func notAKernel(head []byte) string {
	switch {
	case len(head) >= 0x3c && string(head[0x38:0x3c]) == "ARM\x64":
		return "an arm64 kernel: only x86-64 and User-Mode Linux are supported"
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte("\xfd7zXZ")), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "no kernel but a compressed file: give a bzImage or a User-Mode Linux program"
	}
	return "no kernel: neither a bzImage nor a User-Mode Linux program"
}

// releaseLike keeps a release from being taken for a path or an option.
func releaseLike(text string) bool {
	if text == "" || text[0] < '0' || text[0] > '9' {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '/'
	})
}
