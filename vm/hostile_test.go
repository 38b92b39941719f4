package vm

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// FuzzModule reads a module's file, whichever way it claims to be compressed.
func FuzzModule(f *testing.F) {
	module := moduleOf("6.1.0", "stp,llc")
	for i, d := range decompressors() {
		if d.suffix == "" {
			f.Add(uint8(i), module)
			continue
		}
		f.Add(uint8(i), compressed(f, "x"+d.suffix, module))
	}
	// A dictionary of 4 GiB, and a window as large.
	block := []byte("\x02\x00\x21\x01\x28\x00\x00\x00")
	block = binary.LittleEndian.AppendUint32(block, crc32.ChecksumIEEE(block))
	f.Add(uint8(1), slices.Concat([]byte("\xfd7zXZ\x00\x00\x01\x69\x22\xde\x36"), block, []byte("\x01\x00\x00x\x00")))
	f.Add(uint8(2), []byte("\x28\xb5\x2f\xfd\x00\xb0\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		d := decompressors()[int(which)%len(decompressors())]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plain, err := decompress(bytes.NewReader(content), d)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 160<<20+uint64(8*len(plain)) {
			t.Errorf("%d bytes%s took %d bytes of memory to read", len(content), d.suffix, used)
		}
		if err != nil {
			return
		}
		if info, err := moduleInfo(plain); err == nil && len(info) > len(plain) {
			t.Errorf("%d words of %d bytes", len(info), len(plain))
		}
	})
}

// FuzzModuleTree plans what to load from a directory of modules.
func FuzzModuleTree(f *testing.F) {
	f.Add("dummy.ko.xz: a.ko\n", "kernel/ipv6.ko\n", "dummy.ko\n", "a")
	f.Add("dummy.ko:\n/etc/passwd: ../../x.ko\n", "", "drivers/dummy.o\nveth.ko\n", "dummy")
	f.Add("a.ko: b.ko\nb.ko: a.ko\ndummy.ko: a.ko\n", "\n\n", "", "x,,y")
	f.Fuzz(func(t *testing.T, dep, builtin, order, depends string) {
		dir := filepath.Join(t.TempDir(), "6.1.0")
		for name, content := range map[string]string{
			"modules.dep": dep, "modules.builtin": builtin, "modules.order": order, "dummy.ko": string(moduleOf("6.1.0", depends)),
		} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := planModules(Kernel{Path: filepath.Join(dir, "image"), Label: "k", Release: "6.1.0"}, dir)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, m := range plan.load {
			if seen[m.name] {
				t.Errorf("%s is loaded twice", m.name)
			}
			seen[m.name] = true
		}
	})
}

// FuzzSysctl: what is taken stays below /proc/sys.
func FuzzSysctl(f *testing.F) {
	for _, seed := range []string{"net.ipv4.fib_sync_mem=65536", "a/b = c", "../x=1", "net..x=1", "=", "a=\n", "/etc/passwd=x", ".=0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSysctl(text)
		if err != nil {
			return
		}
		if path := filepath.Clean("/proc/sys/" + s.Name); !strings.HasPrefix(path, "/proc/sys/") || strings.ContainsAny(s.Name+s.Value, "\x00\n") {
			t.Errorf("%q is taken as %q", text, s)
		}
	})
}

// FuzzConsole: whatever a machine writes to its console, the lines that are shown move
// no cursor, and are few and short.
func FuzzConsole(f *testing.F) {
	for _, seed := range []string{"[    0.1] Linux version 6.1\r\n", "\x1b[2J\x1b]0;x\x07a\n", "\x1b[", "<4>[  1.0][ T1] Kernel panic - not syncing: x\n", "[<] >\n\x9b31m"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var copied bytes.Buffer
		c := watchConsole(bytes.NewReader(raw), &copied, func() {})
		<-c.done
		words := c.last()
		if len(words.tail) > tailLines || !bytes.Equal(copied.Bytes(), raw) {
			t.Errorf("%d lines; %q is copied as %q", len(words.tail), raw, &copied)
		}
		for _, line := range append(words.tail, words.panic, words.oops, words.qemu) {
			if len(line) > 4<<10 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
				t.Errorf("%q is shown as %q", raw, line)
			}
		}
	})
}
