package vm

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailLines is how many of the console's last lines an error shows.
const tailLines = 20

// A console reads what a machine writes to its console, keeps the end of it, and
// watches for last words.
type console struct {
	kill func() // ends the machine
	done chan struct{}

	mu sync.Mutex
	lastWords
}

// lastWords are what is known of a console that has ended.
type lastWords struct {
	tail   []string // the last lines
	kernel bool     // the kernel said something
	panic  string   // the first line that tells of a panic
	oops   string   // the first line of an oops
	qemu   string   // why QEMU gave up on the guest
}

// watchConsole starts reading until r ends; kill ends the machine where it would
// wait for ever.
func watchConsole(r io.Reader, to io.Writer, kill func()) *console {
	c := &console{kill: kill, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		in := bufio.NewReaderSize(io.TeeReader(r, forgiving{to}), 4<<10)
		for {
			line, err := in.ReadSlice('\n')
			if len(line) > 0 {
				c.add(line)
			}
			if err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}()
	return c
}

// forgiving keeps a console file on a full disk from ending the machine.
type forgiving struct{ w io.Writer }

func (f forgiving) Write(p []byte) (int, error) {
	_, _ = f.w.Write(p)
	return len(p), nil
}

func (c *console) add(raw []byte) {
	line := printable(raw)
	// What User-Mode Linux has to say of uml_dir is our doing.
	if line == "" || strings.HasPrefix(line, "remove_umid_dir - ") || strings.HasPrefix(line, "make_umid - ") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tail) == tailLines {
		c.tail = append(c.tail[:0], c.tail[1:]...)
	}
	c.tail = append(c.tail, line)
	switch text := withoutTimestamp(line); {
	case strings.HasPrefix(text, "Linux version "):
		c.kernel = true
	case c.panic == "" && strings.Contains(text, panicMark):
		c.panic = text
	case c.oops == "" && oopsOf(text):
		c.oops = text
	case strings.HasPrefix(text, "KVM internal error"):
		c.qemu = text // QEMU stops the guest and waits for a debugger
		c.kill()
	}
}

// last returns what there is by now.
func (c *console) last() lastWords {
	c.mu.Lock()
	defer c.mu.Unlock()
	words := c.lastWords
	words.tail = append([]string{}, words.tail...)
	return words
}

// printable drops what would move a terminal's cursor or change its colours.
func printable(raw []byte) string {
	var out strings.Builder
	for len(raw) > 0 {
		if bytes.HasPrefix(raw, []byte("\x1b[")) {
			end := bytes.IndexFunc(raw[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			raw = raw[2+end+1:]
			continue
		}
		if raw[0] >= ' ' && raw[0] < 0x7f || raw[0] == '\t' {
			out.WriteByte(raw[0])
		}
		raw = raw[1:]
	}
	return strings.TrimRight(out.String(), " \t")
}

// withoutTimestamp drops the "[    1.234567] " of CONFIG_PRINTK_TIME, with a caller
// in it or without, and the "<4>" of User-Mode Linux.
func withoutTimestamp(line string) string {
	if strings.HasPrefix(line, "<") {
		if _, rest, found := strings.Cut(line, ">"); found {
			line = rest
		}
	}
	if strings.HasPrefix(line, "[") {
		if _, rest, found := strings.Cut(line, "] "); found {
			line = rest
		}
	}
	return line
}
