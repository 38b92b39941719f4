package main

import (
	bytesof "encoding/binary" // binary is the program
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/results"
)

// entriesOf are the names in a directory.
func entriesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// While content is written, it has no name in the directory: a program that is killed
// leaves nothing beside what was there.
func TestNamelessWhileWritten(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs.jsonl")
	f, err := results.Append(runs)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(profiledRun()), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"report --format prometheus -o DIR/out.svg RUNS", "report --quiet RUNS --profile-out DIR/out.svg"} {
		dir := t.TempDir()
		words := strings.Fields(strings.NewReplacer("DIR", dir, "RUNS", runs).Replace(command))
		// The first time there is no file, the second one to be replaced.
		for _, allowed := range []uint32{0, unix.IN_CREATE | unix.IN_MOVED_FROM} {
			seen := eventsIn(t, dir, func() {
				if code, _, stderr := call(words...); code != exitOK {
					t.Fatalf("%q: exit %d, %s", words, code, stderr)
				}
			})
			if seen["out.svg"] == 0 {
				t.Errorf("%s: nothing happened to the file", command)
			}
			delete(seen, "out.svg")
			for name, mask := range seen {
				if mask&^allowed != 0 || !strings.HasPrefix(name, ".fibchurn.") {
					t.Errorf("%s: events %#x of %s", command, mask, name)
				}
			}
		}
	}
}

// eventsIn are the events of inotify, by name in a directory, while something is done.
// The names of the kernel's own for files without one, a "#" and a number, are left out.
func eventsIn(t *testing.T, dir string, do func()) map[string]uint32 {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_ALL_EVENTS); err != nil {
		t.Fatal(err)
	}
	do()
	seen, order := map[string]uint32{}, bytesof.NativeEndian
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buffer)
		if err == unix.EAGAIN {
			return seen
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := buffer[:n]; len(b) > 0; {
			mask, size := order.Uint32(b[4:]), int(order.Uint32(b[12:]))
			name := unix.ByteSliceToString(b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size])
			if name != "" && !strings.HasPrefix(name, "#") {
				seen[name] |= mask
			}
			b = b[unix.SizeofInotifyEvent+size:]
		}
	}
}

// Where a file system has no files without names, it goes by a name aside, which does not
// stay.
func TestReplaceByName(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, test := range []struct{ mode, want fs.FileMode }{{0, 0o640}, {0o644, 0o644}} {
		f, err := createNamed(path)
		if err != nil {
			t.Fatal(err)
		}
		if names := entriesOf(t, dir); !strings.HasPrefix(names[0], ".fibchurn.") {
			t.Errorf("aside: %q", names)
		}
		if err := f.become([]byte("content"), test.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if got, _ := os.ReadFile(path); string(got) != "content" || err != nil || info.Mode() != test.want {
			t.Errorf("%q, %v, mode %v, want %v", got, err, info.Mode(), test.want)
		}
	}
	f, err := createNamed(filepath.Join(dir, "sub"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "sub", "sub"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.become(nil, 0); err == nil {
		t.Error("a directory was replaced")
	}
	if got := entriesOf(t, dir); !slices.Equal(got, []string{"file", "sub"}) {
		t.Errorf("there are %q", got)
	}
}

// Both ways a file gets the mode that is asked for, or that of any new file.
func TestReplaceMode(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "file")
	for _, test := range []struct{ mode, want fs.FileMode }{{0, 0o640}, {0, 0o640}, {0o644, 0o644}} {
		if err := replaceWith(path, nil, test.mode); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != test.want {
			t.Errorf("%v, %v, want %v", info, err, test.want)
		}
	}
}
