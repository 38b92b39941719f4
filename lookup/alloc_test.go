package lookup

import (
	"runtime"
	"testing"
	"time"

	"fibchurn/internal/prefixes"
)

// Nothing is collected while a run goes on, so lookups must not allocate: neither each of
// them nor each turn, of which there are hundreds a second. 15 leave the Go runtime some
// of its own in half a second.
func TestTurnsAllocateNothing(t *testing.T) {
	const most = 15
	b := newBed(t, prefixes.IPv4, prefixes.DFZ, 1000)
	s := b.sampler(t, func(s *Spec) { s.Probes = Probes() })
	stretch(t, s, Rest, 300*time.Millisecond)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	time.Sleep(500 * time.Millisecond)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > most {
		t.Errorf("%d allocations (%d bytes) in half a second of lookups, want %d at most", n, after.TotalAlloc-before.TotalAlloc, most)
	}
}
