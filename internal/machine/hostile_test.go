package machine

import (
	"strings"
	"testing"
)

// FuzzFiles parses what the kernel tells of itself.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		"MemTotal: 1 kB\nMemAvailable:   123 kB\n", "0-3,8,10-11", "0-99999999", "3-1", "CONFIG_KASAN=y\nCONFIG_X=\n# CONFIG_Y is not set\n",
		"ro kasan=off slab_debug=- a=b -- init", "12 (a) b) R 1", "Qemu version 8.2.0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseMemAvailable([]byte(text)); err == nil && n < 0 {
			t.Errorf("%d bytes of memory", n)
		}
		if n := countCPUList(text); n < 0 || n > 1<<20 {
			t.Errorf("%d CPUs", n)
		}
		_ = taskRunning([]byte(text))
		p := parseParameters(text)
		_, _ = p.slabDebug()
		for name := range p {
			_ = p.on(name, true)
		}
		if c, err := parseConfig(strings.NewReader(text)); err == nil && len(c) > strings.Count(text, "CONFIG_") {
			t.Errorf("%d options", len(c))
		}
	})
}
