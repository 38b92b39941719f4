package vm

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A kernelLog reads /dev/kmsg from its first record on.
type kernelLog struct {
	fd  int
	err error // why it cannot be read: a complaint in itself, once
}

func openKernelLog() *kernelLog {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		err = &os.PathError{Op: "open", Path: "/dev/kmsg", Err: err}
	}
	return &kernelLog{fd: fd, err: err}
}

// maxComplaints bounds what one call returns: the first tell most.
const maxComplaints = 20

// complaints returns what the kernel reported as a defect since the last call.
func (l *kernelLog) complaints() (found []string) {
	if l.err != nil {
		found, l.err, l.fd = []string{"the kernel log cannot be read: " + l.err.Error()}, nil, -1
		return found
	}
	if l.fd < 0 {
		return nil
	}
	buffer := make([]byte, 16<<10) // a record is at most 8 KiB (CONSOLE_EXT_LOG_MAX)
	for {
		n, err := unix.Read(l.fd, buffer)
		switch {
		case errors.Is(err, unix.EPIPE):
			continue // records were overwritten before they were read; the next is the oldest there is
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n <= 0:
			return found // EAGAIN: the end
		}
		if text, ok := logText(buffer[:n]); ok && complaintOf(text) && len(found) < maxComplaints {
			found = append(found, text)
		}
	}
}

// logText returns the text of a record "6,339,5140900,-;NET: Registered ..." with
// lines of a dictionary after it (Documentation/ABI/testing/dev-kmsg).
func logText(record []byte) (string, bool) {
	head, text, found := bytes.Cut(record, []byte(";"))
	if !found {
		return "", false
	}
	level, _, _ := strings.Cut(string(head), ",")
	if _, err := strconv.Atoi(level); err != nil {
		return "", false
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return string(text), true
}
