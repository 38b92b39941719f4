package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// replaceFile gives a file new content, mode 0644: a collector is another user.
func replaceFile(path string, content []byte) error { return replaceWith(path, content, 0o644) }

// replaceWith gives a file new content in one step, and a mode, 0 for that of any new
// file. Symbolic links are followed. What is there and no regular file is written to as
// it is.
//
// The content has no name before it is whole, so that a program that is killed while it
// writes leaves nothing. A file that is there is then replaced by a rename, and killed
// between two system calls the program leaves the new content under its name aside.
func replaceWith(path string, content []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case !info.Mode().IsRegular():
		return withReader(path, func() error { return os.WriteFile(path, content, 0o644) })
	}
	f, err := createAside(path)
	if err != nil {
		return err
	}
	return f.become(content, mode)
}

// An aside is the file that is to become the one at path.
type aside struct {
	*os.File
	path string
	name string // "": none yet
}

// createAside creates a file without a name in the directory of path, or one with a name
// where the file system has no others. Its error names path, which is what was asked for.
func createAside(path string) (*aside, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err == nil {
		return &aside{File: os.NewFile(uintptr(fd), path), path: path}, nil
	}
	return createNamed(path)
}

// createNamed creates a file with a name aside.
func createNamed(path string) (*aside, error) {
	name := asideName(path)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("create a file beside %s: %w", path, failed.Err)
	}
	return &aside{File: f, path: path, name: name}, err
}

// asideName is a hidden name that does not end as the file's does, so that no reader of
// the directory takes it.
func asideName(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".fibchurn.%d", rand.Uint64()))
}

// become fills the file and has it take the place of the one at its path, or removes it.
func (f *aside) become(content []byte, mode fs.FileMode) error {
	if err := errors.Join(f.fill(content, mode), f.Close()); err != nil {
		return errors.Join(err, f.remove())
	}
	return nil
}

// fill writes the content, and puts the file in its place.
func (f *aside) fill(content []byte, mode fs.FileMode) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil { // the name must not come to be of an empty file
		return err
	}
	if f.name == "" {
		switch err := f.link(f.path); {
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		name := asideName(f.path)
		if err := f.link(name); err != nil {
			return err
		}
		f.name = name
	}
	if err := os.Rename(f.name, f.path); err != nil {
		return err
	}
	f.name = ""
	return nil
}

// link gives a file its first name. AT_EMPTY_PATH would take a capability.
func (f *aside) link(name string) error {
	self := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}

// remove removes the name, if there is one.
func (f *aside) remove() error {
	if f.name == "" {
		return nil
	}
	return os.Remove(f.name)
}
