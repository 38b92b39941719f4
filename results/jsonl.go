package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A File is a file of runs, one JSON line each, open for appending. It is not
// safe for concurrent use; several processes may append to one file.
type File struct {
	f    *os.File
	torn bool // the file may end inside a line
	lost bool // an error has said that the name leads elsewhere
}

// Append opens the file for appending and creates it (mode 0644) if need be.
// Symbolic links are followed; a directory is refused (EISDIR). Nothing is
// written before the first run.
func Append(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644) // Go adds O_CLOEXEC
	if err != nil {
		return nil, fmt.Errorf("append runs: %w", err)
	}
	torn, err := endsTorn(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("append runs: %w", err)
	}
	return &File{f: f, torn: torn}, nil
}

// endsTorn reports whether the file's last byte is something other than a
// newline: a process was killed while it wrote there.
func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return false, nil
	}
	r, err := os.Open(f.Name())
	if err != nil {
		return true, nil // write-only to us: a blank line does no harm
	}
	defer r.Close()
	var last [1]byte
	if _, err := r.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// Write appends the run as one line in one write(2). Where the file ended
// inside a line, that line is closed first, in the same call, so that it spoils
// nothing but itself. After an error the file may end in a torn line, which the
// next Write closes. It is an error also where the name does not lead to the file any
// more, though the run is written then.
func (f *File) Write(run *Run) error {
	line, err := encodeLine(run)
	if err != nil {
		return err
	}
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	// os.File repeats write(2) only after a short write, which on a regular file
	// is a full disk or a limit and fails at the second.
	n, err := f.f.Write(line)
	if err != nil {
		f.torn = f.torn || n > 0
		return fmt.Errorf("append run %d of cell %q: %w", run.Run, run.Cell, err)
	}
	f.torn = false
	return f.Named()
}

// Named returns an error where the file has been removed or renamed, or another has
// taken its name: whoever reads by that name finds none of the runs. It does so once.
// What is no regular file may have no name.
func (f *File) Named() error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if f.lost || !info.Mode().IsRegular() {
		return nil
	}
	unlinked := info.Sys().(*syscall.Stat_t).Nlink == 0
	now, err := os.Stat(f.f.Name())
	switch {
	case unlinked:
		f.lost = true
		return fmt.Errorf("%s: was removed or replaced while runs were appended: they are in a file that has no name any more", f.f.Name())
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, now):
		f.lost = true
		return fmt.Errorf("%s: was renamed while runs were appended: they are in a file that has another name now", f.f.Name())
	}
	return nil
}

// Close closes the file. It does not sync it. Its error may be that of Named.
func (f *File) Close() error { return errors.Join(f.Named(), f.f.Close()) }
