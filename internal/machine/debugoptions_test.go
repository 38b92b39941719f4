package machine

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDebugInForce(t *testing.T) {
	const plain = "CONFIG_NET=y\nCONFIG_SLUB_DEBUG=y\n# CONFIG_KASAN is not set\n"
	const debug = plain + "CONFIG_KMSAN=y\nCONFIG_LOCKDEP=y\nCONFIG_PROVE_LOCKING=y\nCONFIG_PROVE_RCU=y\nCONFIG_DEBUG_PREEMPT=y\n"
	const symbols = "0000000000000000 T _stext\n0000000000000000 T kasan_report\n0000000000000000 t debug_smp_processor_id\n" +
		"0000000000000000 T kmsan_report\t[other]\n"
	tests := []struct {
		name        string
		commandLine string
		files       files
		want        []string
	}{
		{"nothing to go by", "", nil, nil},
		{"symbols of a kernel without", "", files{"proc/kallsyms": "0 T _stext\n"}, nil},
		{"embedded configuration", "", files{"proc/config.gz": gzipped(t, plain)}, []string{}},
		{"in /boot", "", files{"boot/config-6.12.0": debug}, []string{"KMSAN", "LOCKDEP", "PROVE_LOCKING", "PROVE_RCU", "DEBUG_PREEMPT"}},
		{"in /lib/modules", "", files{"lib/modules/6.12.0/config": debug}, []string{"KMSAN", "LOCKDEP", "PROVE_LOCKING", "PROVE_RCU", "DEBUG_PREEMPT"}},
		{"of another kernel", "", files{"boot/config-6.11.0": debug}, nil},
		{"embedded before /boot", "", files{"proc/config.gz": gzipped(t, plain), "boot/config-6.12.0": debug}, []string{}},
		{"embedded but cut off", "", files{"proc/config.gz": gzipped(t, plain)[:30]}, nil},
		{"symbols", "", files{"proc/kallsyms": symbols}, []string{"KASAN", "DEBUG_PREEMPT"}},
		{"symbols do not matter with a configuration", "", files{"proc/kallsyms": symbols, "boot/config-6.12.0": plain}, []string{}},
		{"lockdep by its files", "", files{"proc/lockdep": "", "proc/sys/kernel/prove_locking": "1"}, []string{"LOCKDEP", "PROVE_LOCKING"}},
		{"kmemleak by its file", "", files{"sys/kernel/debug/kmemleak": ""}, []string{"DEBUG_KMEMLEAK"}},
		{"kmemleak off at boot", "kmemleak=off", files{"boot/config-6.12.0": "CONFIG_DEBUG_KMEMLEAK=y\n"}, []string{}},
		{"kmemleak off by default", "", files{"boot/config-6.12.0": "CONFIG_DEBUG_KMEMLEAK=y\nCONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y\n"}, []string{}},
		{"kmemleak on at boot", "kmemleak=on", files{"boot/config-6.12.0": "CONFIG_DEBUG_KMEMLEAK=y\nCONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y\n"}, []string{"DEBUG_KMEMLEAK"}},
		{"page poisoning only compiled in", "", files{"boot/config-6.12.0": "CONFIG_PAGE_POISONING=y\nCONFIG_DEBUG_PAGEALLOC=y\nCONFIG_PAGE_OWNER=y\n"}, []string{}},
		{"page poisoning asked for", "page_poison=1 debug_pagealloc=on page-owner=on", files{"boot/config-6.12.0": "CONFIG_PAGE_POISONING=y\nCONFIG_DEBUG_PAGEALLOC=y\nCONFIG_PAGE_OWNER=y\n"},
			[]string{"DEBUG_PAGEALLOC", "PAGE_POISONING", "PAGE_OWNER"}},
		{"asked for after the dashes of init", "-- page_poison=1", files{"boot/config-6.12.0": "CONFIG_PAGE_POISONING=y\n"}, []string{}},
		{"hardware KASAN off", "kasan=off", files{"boot/config-6.12.0": "CONFIG_KASAN=y\nCONFIG_KASAN_HW_TAGS=y\n"}, []string{}},
		{"software KASAN stays", "kasan=off", files{"boot/config-6.12.0": "CONFIG_KASAN=y\nCONFIG_KASAN_GENERIC=y\n"}, []string{"KASAN"}},
		{"slab debugging at boot", "slub_debug=FZP", files{"boot/config-6.12.0": plain}, []string{"slub_debug"}},
		{"slab debugging at boot, new name", "slab_debug", files{"boot/config-6.12.0": plain}, []string{"slub_debug"}},
		{"slab debugging at boot, kernel without", "slub_debug", files{"boot/config-6.12.0": "CONFIG_NET=y\n"}, []string{}},
		{"slab debugging by default", "", files{"boot/config-6.12.0": plain + "CONFIG_SLUB_DEBUG_ON=y\n", "sys/kernel/slab/kmalloc-64/poison": "1\n"}, []string{"SLUB_DEBUG_ON"}},
		{"slab debugging by default, off", "slub_debug=-", files{"boot/config-6.12.0": plain + "CONFIG_SLUB_DEBUG_ON=y\n"}, []string{}},
		{"slab debugging by a cache", "", files{"sys/kernel/slab/kmalloc-64/red_zone": "1\n"}, []string{"slub_debug"}},
		{"debug objects", "", files{"boot/config-6.12.0": "CONFIG_DEBUG_OBJECTS=y\nCONFIG_DEBUG_OBJECTS_ENABLE_DEFAULT=1\n"}, []string{"DEBUG_OBJECTS"}},
		{"debug objects off by default", "", files{"boot/config-6.12.0": "CONFIG_DEBUG_OBJECTS=y\nCONFIG_DEBUG_OBJECTS_ENABLE_DEFAULT=0\n"}, []string{}},
		{"debug objects off at boot", "no_debug_objects", files{"boot/config-6.12.0": "CONFIG_DEBUG_OBJECTS=y\n"}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := debugInForce(fixture(t, test.files), "6.12.0", test.commandLine)
			if diff := cmp.Diff(test.want, got); diff != "" { // tells nil from empty
				t.Errorf("debug options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindConfigStaysInItsDirectories(t *testing.T) {
	root := fixture(t, files{"etc/config": "CONFIG_KASAN=y\n"})
	if c := findConfig(root, "x/../../etc/config"); c != nil {
		t.Errorf("a release with slashes led to %v", c)
	}
}

func TestParseConfig(t *testing.T) {
	got, err := parseConfig(strings.NewReader("#\n# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=m\nCONFIG_D=\"a=b\"\nCONFIG_E=n\nCONFIG_F\nother\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kernelConfig{"B": "y", "C": "m", "D": `"a=b"`}, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestSymbolName(t *testing.T) {
	for line, want := range map[string]string{
		"ffffffff81000000 T _stext":        "_stext",
		"0000000000000000 t a\t[module]":   "",
		"":                                 "",
		"0 T":                              "",
		"ffffffff81000000 T resize.isra.0": "resize.isra.0",
	} {
		if got := string(symbolName([]byte(line))); got != want {
			t.Errorf("symbolName(%q) = %q, want %q", line, got, want)
		}
	}
}

func BenchmarkFindSymbols(b *testing.B) {
	for b.Loop() {
		findSymbols(running)
	}
}
