package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkOutput finds out before any work starts, and without making the file, whether
// it can be written to. Of what is no regular file the opening will tell.
func checkOutput(path string) error {
	if path == "" {
		return nil
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		path = created(path)
		if err := writable(filepath.Dir(path)); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("write to %s: %w", path, unix.EISDIR)
	case info.Mode().IsRegular():
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("write to %s: %w", path, err)
		}
	}
	return nil
}

// checkReplaced is checkOutput of a file that is written aside and renamed, unless the
// path leads to no regular file: one beside it is made, and removed.
func checkReplaced(path string) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case path == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return tryBeside(created(path))
	case err != nil:
		return err
	}
	if info, err := os.Stat(target); err != nil || !info.Mode().IsRegular() {
		return checkOutput(path)
	}
	return tryBeside(target)
}

// tryBeside makes a file beside path and removes it.
func tryBeside(path string) error {
	aside, err := createAside(path)
	if err != nil {
		return err
	}
	return errors.Join(aside.Close(), aside.remove())
}

// writable reports what keeps files from being made in a directory.
func writable(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return unix.ENOTDIR
	}
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}

// checkPlots finds what would keep files from being made in a directory, which is made,
// with those above it, where it is not there.
func checkPlots(path string) error {
	if path == "" {
		return nil
	}
	dir := filepath.Clean(path)
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("write to %s: %w", dir, err)
	}
	return nil
}

// consoleTitle begins the file of --console, and every boot in it.
const consoleTitle = "fibchurn: "

// checkConsole is checkOutput of a file that is emptied first. One with something in it
// must be of consoles.
func checkConsole(path string) error {
	if err := checkOutput(path); err != nil || path == "" {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // is made, or cannot be emptied
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if begin, _ := bufio.NewReader(f).Peek(len(consoleTitle)); !bytes.Equal(begin, []byte(consoleTitle)) {
		return fmt.Errorf("%s: is not empty, and not of consoles: it is not written over", path)
	}
	return nil
}
