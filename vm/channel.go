package vm

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// channelDevice is the second serial port, under QEMU (8250) and User-Mode Linux
// (arch/um/drivers/ssl.c) alike.
const channelDevice = "/dev/ttyS1"

// A channel is the guest's end of the results channel.
type channel struct {
	mu   sync.Mutex
	port *os.File
}

// openChannel opens the port and turns off all that a terminal would do to lines.
func openChannel() (*channel, error) {
	fd, err := unix.Open(channelDevice, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: channelDevice, Err: err}
	}
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "TCGETS", Path: channelDevice, Err: err}
	}
	mode.Iflag, mode.Oflag, mode.Lflag = 0, 0, 0
	mode.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, mode); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "TCSETS", Path: channelDevice, Err: err}
	}
	return &channel{port: os.NewFile(uintptr(fd), channelDevice)}, nil
}

// write sends one line and waits until it has left, so that its sending is over
// before the next clock starts.
func (c *channel) write(payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.port.Write(appendFrame(nil, payload)); err != nil {
		return err
	}
	for {
		// tcdrain(3). It ends early with EINTR for any signal, SA_RESTART or not, and Go's
		// scheduler sends signals (SIGURG) to threads that it wants to preempt.
		err := unix.IoctlSetInt(int(c.port.Fd()), unix.TCSBRK, 1)
		if err != unix.EINTR {
			return os.NewSyscallError("tcdrain "+channelDevice, err)
		}
	}
}

// send sends a message.
func (c *channel) send(m *message) error {
	payload, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.write(payload)
}

// A lineWriter cuts a stream into lines.
type lineWriter struct {
	mu   sync.Mutex
	rest []byte
	line func([]byte) error // without its end
}

func newLineWriter(line func([]byte) error) *lineWriter { return &lineWriter{line: line} }

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		if err := w.line(line); err != nil {
			return 0, err
		}
	}
}

// flush passes on a last line that has no end.
func (w *lineWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	line := w.rest
	w.rest = nil
	return w.line(line)
}

// A runWriter takes the lines of the command's output.
type runWriter struct {
	ch   *channel
	log  *kernelLog
	runs int
}

// line sends a run as it is, after what the kernel complained of while it ran, and
// any other line as a message.
func (w *runWriter) line(line []byte) error {
	if !bytes.HasPrefix(line, []byte(runStart)) {
		return w.ch.send(&message{Guest: messageStdout, Text: string(line)})
	}
	if err := w.complaints(); err != nil {
		return err
	}
	w.runs++
	return w.ch.write(line)
}

// complaints sends what is new in the kernel's log.
func (w *runWriter) complaints() error {
	found := w.log.complaints()
	if len(found) == 0 {
		return nil
	}
	return w.ch.send(&message{Guest: messageLog, Log: found})
}
