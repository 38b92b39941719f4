package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-shellwords"
	"github.com/urfave/cli/v2"

	"fibchurn/ns"
)

//go:embed suites/*.suite
var builtinSuites embed.FS

// A suite is a list of command lines.
type suite struct {
	name    string // built-in name, or path
	builtin bool
	lines   []suiteLine
	files   []string // that the suite and its lines read
}

// A suiteLine is one command line, without the program's name.
type suiteLine struct {
	number int    // in the file, 1-based
	text   string // as written
	args   []string
	host   bool // it sets a sysctl of the whole machine
}

// builtinNames are the suites that need no file, the quickest first.
func builtinNames() []string { return []string{"quick", "nightly", "reference"} }

// builtinText is the text of a built-in suite; ok is false where there is none of
// that name.
func builtinText(name string) (text []byte, ok bool) {
	text, err := builtinSuites.ReadFile(path.Join("suites", name+".suite"))
	return text, err == nil
}

// loadSuite reads a suite and checks all of its lines. Every error is one of usage and
// names the file, and the line where there is one.
func loadSuite(name string) (*suite, error) {
	text, builtin := builtinText(name)
	s := &suite{name: name, builtin: builtin}
	if !builtin {
		var err error
		if text, err = readSuite(name); err != nil {
			return nil, err
		}
		s.files = []string{name}
	}
	var err error
	if s.lines, err = parseSuite(name, text); err != nil {
		return nil, err
	}
	return s, s.check()
}

const (
	longestSuite     = 1 << 20 // bytes; a suite is written by hand
	longestSuiteLine = 1 << 16
)

// readSuite reads the file. It must be a regular one: without root it is read twice,
// and for a guest it is copied.
func readSuite(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, usageErrorf("suite: %v; built in are %s", err, strings.Join(builtinNames(), ", "))
	case !info.Mode().IsRegular():
		return nil, usageErrorf("suite %s: not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usageErrorf("suite: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestSuite+1))
	switch {
	case err != nil:
		return nil, usageErrorf("suite: %v", err)
	case len(text) > longestSuite:
		return nil, usageErrorf("suite %s: longer than %d bytes", name, longestSuite)
	}
	return text, nil
}

// parseSuite splits a suite into command lines. Nothing is expanded, and nothing but
// quotes, backslashes and comments has a meaning.
func parseSuite(name string, text []byte) ([]suiteLine, error) {
	var lines []suiteLine
	number := 0
	for raw := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		line, err := parseSuiteLine(bytes.TrimRight(raw, "\r\n"))
		switch {
		case err != nil:
			return nil, usageErrorf("%s:%d: %v", name, number, err)
		case line != nil:
			line.number = number
			lines = append(lines, *line)
		}
	}
	if len(lines) == 0 {
		return nil, usageErrorf("%s:%d: the suite ends without a command", name, max(1, number))
	}
	return lines, nil
}

// parseSuiteLine returns nil where there is no command on the line.
func parseSuiteLine(raw []byte) (*suiteLine, error) {
	switch {
	case len(raw) > longestSuiteLine:
		return nil, fmt.Errorf("the line is longer than %d bytes", longestSuiteLine)
	case !utf8.Valid(raw):
		return nil, errors.New("the line is not UTF-8 text")
	case bytes.ContainsFunc(raw, isControl):
		return nil, errors.New("the line has a control character in it")
	}
	parser := shellwords.NewParser()
	parser.ParseEnv, parser.ParseBacktick, parser.ParseComment = false, false, true
	args, err := parser.Parse(string(raw))
	switch {
	case err != nil:
		return nil, errors.New("a quote, a bracket or a backslash is left open, or a bracket stands alone")
	case parser.Position >= 0:
		return nil, fmt.Errorf("%q: no shell reads a suite; a line is one command", []rune(string(raw))[parser.Position])
	case len(args) == 0:
		return nil, nil
	case slices.ContainsFunc(args, func(arg string) bool { return strings.ContainsFunc(arg, unicode.IsControl) }):
		return nil, errors.New(`an argument has a tab or, by \n, a newline in it`) // a shell knows no \n
	}
	return &suiteLine{text: strings.TrimSpace(string(raw)), args: args}, nil
}

// isControl: a tab is a space like any other.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// check checks the command of every line, and notes the files they read.
func (s *suite) check() error {
	for i, l := range s.lines {
		s.lines[i].host = slices.ContainsFunc(l.args, isSyncMem)
		args := l.args
		if s.lines[i].host {
			args = append([]string{allowHost}, args...)
		}
		chosen, files, err := checkCommand(args, mayBeInSuite)
		switch {
		case cannotBeDone(err):
			// That is known better, and said, when its turn comes.
		case err != nil:
			return usageErrorf("%s:%d: %v", s.name, l.number, err)
		case chosen == "":
			return usageErrorf("%s:%d: no command in %s", s.name, l.number, l.text)
		}
		s.files = append(s.files, files...)
	}
	return nil
}

// isSyncMem reports whether an argument is --sync-mem, in any way that a flag may be
// written.
func isSyncMem(arg string) bool {
	flag, _, _ := strings.Cut(arg, "=")
	return flag == "--sync-mem" || flag == "-sync-mem"
}

// mayBeInSuite refuses what makes no sense on a line of a suite.
func mayBeInSuite(c *cli.Context) error {
	if !measures(c.Command) {
		return usageErrorf("%s measures nothing: it cannot be in a suite", c.Command.Name)
	}
	if at(c, "profile-out").IsSet("profile-out") {
		return usageErrorf("--profile-out: a line of a suite has none of its own; 'fibchurn report --profile-out FILE' makes one of the runs")
	}
	for _, name := range []string{"output", "json", "format"} {
		if at(c, name).IsSet(name) {
			return usageErrorf("--%s: a line of a suite has none of its own; give it to the suite", name)
		}
	}
	return nil
}

// allowHost is the flag that allows a change of the whole machine. A line is skipped
// where it was not given to the suite: what is in a file cannot allow that.
const allowHost = "--allow-host-sysctl"

// cannotBeDone reports whether err is about this kernel or machine, not about the
// command line.
func cannotBeDone(err error) bool {
	var unsupported *ns.UnsupportedError
	var memory *memoryError
	return errors.As(err, &unsupported) || errors.As(err, &memory)
}

// A memoryError is a table that is too large for this machine: on a command line of its
// own a mistake, in a suite a reason to skip the line.
type memoryError struct{ usage usageError }

func memoryErrorf(format string, a ...any) error {
	return &memoryError{usageError{fmt.Sprintf(format, a...)}}
}

func (e *memoryError) Error() string { return e.usage.text }
func (e *memoryError) Unwrap() error { return &e.usage }
