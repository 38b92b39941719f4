package lookup

import (
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzHolds: whatever a reply names for a prefix, it is compared without a fault.
func FuzzHolds(f *testing.F) {
	f.Add([]byte{192, 0, 2, 0}, 24, []byte{192, 0, 2, 1})
	f.Add([]byte{}, 0, make([]byte, 16))
	f.Add([]byte{1}, 128, []byte{1, 2, 3, 4})
	f.Add(make([]byte, 16), -1, make([]byte, 16))
	f.Fuzz(func(t *testing.T, prefix []byte, bits int, key []byte) {
		if holds(prefix, bits, key) && bits > 8*len(key) {
			t.Errorf("a prefix of %d bits holds a key of %d bytes", bits, len(key))
		}
		_ = answerOfError(unix.Errno(-int32(bits)))
	})
}
