package machine

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A tree is the directory below which /proc, /sys, /dev and /boot are looked
// for: "/" on a real machine, a fixture in tests.
type tree string

// running is the tree of the machine this process runs on.
const running tree = "/"

func (t tree) path(name string) string { return filepath.Join(string(t), name) }

func (t tree) exists(name string) bool {
	_, err := os.Stat(t.path(name))
	return err == nil
}

// text returns the file's content without surrounding white space and NUL
// bytes (device tree strings end in one), or "" where it cannot be read.
func (t tree) text(name string) string {
	data, err := t.read(name, 1<<20)
	if err != nil {
		return ""
	}
	return strings.Trim(string(data), "\x00\t\n\r ")
}

// read returns the file's first limit bytes at most.
func (t tree) read(name string, limit int64) ([]byte, error) {
	f, err := os.Open(t.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
