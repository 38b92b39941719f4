package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/jedib0t/go-pretty/v6/text"

	"fibchurn/churn"
	"fibchurn/internal/netnstest"
)

// terminal opens a pseudo-terminal of so many columns, and returns what is written to it
// once it has been closed.
func terminal(t *testing.T, columns int) (tty *os.File, output func() string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	written := make(chan string)
	go func() {
		b, _ := io.ReadAll(master) // ends with EIO
		written <- string(b)
	}()
	return tty, func() string {
		tty.Close()
		return <-written
	}
}

// lastLine is what stands on the terminal's last line in the end.
func lastLine(written string) string {
	var shown []rune // of one column each
	for part := range strings.SplitSeq(written[strings.LastIndexByte(written, '\n')+1:], "\r") {
		over := []rune(part)
		shown = append(over, shown[min(len(over), len(shown)):]...)
	}
	return strings.TrimRight(string(shown), " ")
}

// The line has the count, the rate and both times, is never wider than the terminal, and
// is gone in the end.
func TestProgress(t *testing.T) {
	w := &churn.DeleteIfaceSpec{Load: "addrs"}
	for _, columns := range []int{20, 40, 46, 50, 60, 62, 70, 80, 132} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			tty, output := terminal(t, columns)
			p := newProgress(tty, false)
			for i := range 3 {
				p.show(i, 9999, w)
				time.Sleep(150 * time.Millisecond)
			}
			p.clear()
			written := output()
			if strings.Contains(written, "\n") || strings.Contains(written, "\x1b") {
				t.Errorf("there are newlines or escape sequences: %q", written)
			}
			for line := range strings.SplitSeq(written, "\r") {
				if w := text.StringWidth(line); w > columns {
					t.Errorf("a line of %d columns: %q", w, line)
				}
			}
			if left := lastLine(written); left != "" {
				t.Errorf("left behind: %q", left)
			}
			for need, pattern := range map[int]string{barColumns: `\(2/9999`, barColumns + 1: `\[\d+s:\d+[hms]`, barColumns + rateColumns: ` runs/(s|min|hr)\)`, 80: `^delete-iface,`} {
				if found := regexp.MustCompile(`(?m)` + pattern).MatchString(strings.ReplaceAll(written, "\r", "\n")); found != (columns >= need) && columns != barColumns {
					t.Errorf("%s: %v\n%q", pattern, found, written)
				}
			}
		})
	}
}

// Without a terminal, and with -q, there is none.
func TestNoProgress(t *testing.T) {
	tty, output := terminal(t, 80)
	for _, p := range []*progress{newProgress(tty, true), newProgress(&bytes.Buffer{}, false)} {
		p.show(0, 2, &churn.DeleteIfaceSpec{Load: "addrs"})
		p.show(1, 2, nil)
		p.clear()
		if b, ok := p.stderr.(*bytes.Buffer); ok && b.Len() > 0 {
			t.Errorf("not on a terminal: %q", b)
		}
	}
	if written := output(); written != "" {
		t.Errorf("with -q: %q", written)
	}
}

// The whole program on terminals of its own: no line of the table is wider than the
// terminal, NO_COLOR and --color are obeyed, and no progress is left.
func TestOnTerminal(t *testing.T) {
	netnstest.Root(t)
	for _, test := range []struct {
		columns int
		env     string
		args    string
		color   bool
	}{
		{60, "", "", true}, {80, "", "", true}, {100, "NO_COLOR=1", "", false}, {80, "", "--color never", false},
		{80, "NO_COLOR=1", "--color always", true},
	} {
		tty, output := terminal(t, test.columns)
		errs, stderrOutput := terminal(t, test.columns)
		args := append(strings.Fields(test.args), "delete-iface", "--subnets", "64", "--runs", "3")
		cmd := exec.Command(binary(t), args...)
		cmd.Stdout, cmd.Stderr = tty, errs
		cmd.Env = append(os.Environ(), "NO_COLOR=", test.env)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		out, stderr := output(), stderrOutput()
		if got := strings.Contains(out, "\x1b["); got != test.color {
			t.Errorf("%+v: colour is %v", test, got)
		}
		for line := range strings.Lines(strings.ReplaceAll(out, "\r\n", "\n")) {
			if w := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); w > test.columns {
				t.Errorf("%+v: %d columns: %q", test, w, line)
			}
		}
		if left := lastLine(stderr); left != "" {
			t.Errorf("%+v: progress is left: %q", test, left)
		}
		if test.columns >= 80 && !regexp.MustCompile(`\(\d+/12, \d+ runs/`).MatchString(stderr) {
			t.Errorf("%+v: no progress in %q", test, stderr)
		}
	}
}
