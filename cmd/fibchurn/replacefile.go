package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile gives a file new content, mode 0644, in one step: it is written beside
// under a hidden name that does not end as the file's does, so that no reader of the
// directory takes it, and renamed. Symbolic links are followed. What is there and no
// regular file is written to as it is.
func replaceFile(path string, content []byte) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case !info.Mode().IsRegular():
		return withReader(path, func() error { return os.WriteFile(path, content, 0o644) })
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(content); err == nil {
		err = f.Chmod(0o644) // a collector is another user
	}
	if err == nil {
		err = f.Sync() // the name must not come to be of an empty file
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
