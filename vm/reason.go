package vm

import (
	"errors"
	"io/fs"
	"syscall"
)

// reason is what the kernel said, without Go's account of the call.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
