package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkOutput finds out before any work starts, and without making the file, whether
// runs can be appended to it. Of what is no regular file the opening will tell.
func checkOutput(path string) error {
	if path == "" {
		return nil
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil && filepath.IsAbs(target) {
			path = target // a link to what is not there yet
		}
		if err := unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("append to %s: %w", path, unix.EISDIR)
	case info.Mode().IsRegular():
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("append to %s: %w", path, err)
		}
	}
	return nil
}
