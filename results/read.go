package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fibchurn/internal/foreign"
)

// MaxLine is the length in bytes of the longest line that Read takes.
const MaxLine = 64 << 20

// A TornLine is a line that ends in the middle of a run because its writer was
// killed. That run is lost and no other.
type TornLine struct {
	File string
	Line int // 1-based
}

func (t *TornLine) Error() string {
	return fmt.Sprintf("%s:%d: torn line: its writer was stopped, the run is lost", t.File, t.Line)
}

// A LineError is a line that is no run and not torn either.
type LineError struct {
	File string
	Line int // 1-based
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// A SchemaError is a record of a schema that this package does not know.
type SchemaError struct{ Schema int }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema %d is newer than this fibchurn reads (%d): a newer fibchurn is needed", e.Schema, Schema)
}

// Read reads all runs from r, one JSON line each; name is the file's name for
// messages. Blank lines, byte-order marks and unknown fields are passed over. Warnings are
// *TornLine. The first malformed line ends the reading with a *LineError, which
// wraps a *SchemaError where the record is of a newer schema; the runs before
// it are returned too.
func Read(r io.Reader, name string) (runs []Run, warnings []error, err error) {
	return read(r, name, MaxLine)
}

func read(r io.Reader, name string, maxLine int) (runs []Run, warnings []error, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(in, maxLine)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return runs, warnings, &LineError{name, number, err}
		}
		if number == 1 {
			if kind := foreign.Kind(line); kind != "" {
				return runs, warnings, &LineError{name, number, foreignError(kind)}
			}
		}
		// Some editors begin a file with a byte-order mark; cat leaves it at the start of a line.
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		found, torn, err := decodeLine(bytes.TrimRight(line, "\r\n"))
		runs = append(runs, found...)
		for range torn {
			warnings = append(warnings, &TornLine{name, number})
		}
		if err != nil {
			return runs, warnings, &LineError{name, number, err}
		}
		if last {
			return runs, warnings, nil
		}
	}
}

// foreignError is of a file that holds no text.
func foreignError(kind string) error {
	remedy := "; decompress it first"
	if kind == foreign.UTF16 {
		remedy = ", not in UTF-8"
	}
	return &noRunError{why: ": the file is " + kind + remedy}
}

// readLine returns the next line, or io.EOF with the last one. It holds at most
// max bytes and a buffer.
func readLine(in *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, fmt.Errorf("line is longer than %d bytes", max)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// runStart is how every line of ours begins. Inside a string its quotes would
// be escaped, so it marks where a torn line was continued by another file's
// first run, as `cat` of files does.
const runStart = `{"schema":`

// decodeLine returns the runs of one line, normally one or none, and how many
// torn runs it holds.
func decodeLine(line []byte) (runs []Run, torn int, err error) {
	runs, torn, err = decodePart(line)
	if err == nil && torn == 0 {
		return runs, 0, nil
	}
	if joined, joinedTorn, ok := decodeJoined(line); ok {
		return joined, joinedTorn, nil
	}
	return runs, torn, err
}

// decodeJoined decodes a line that torn runs and whole ones share.
func decodeJoined(line []byte) (runs []Run, torn int, ok bool) {
	for len(line) > 0 {
		end := len(line)
		if i := bytes.Index(line[1:], []byte(runStart)); i >= 0 {
			end = i + 1
		}
		part, partTorn, err := decodePart(line[:end])
		if err != nil {
			return nil, 0, false
		}
		runs, torn = append(runs, part...), torn+partTorn
		line = line[end:]
	}
	return runs, torn, true
}

// decodePart decodes runs of which the last may be torn.
func decodePart(part []byte) (runs []Run, torn int, err error) {
	runs, err = decodeRuns(part)
	if errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasPrefix(part, []byte("{")) {
		return runs, 1, nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = &noRunError{err: err}
	}
	return runs, 0, err
}

// decodeRuns decodes the JSON values of a line. A value that the line's end
// cuts off is io.ErrUnexpectedEOF.
func decodeRuns(line []byte) ([]Run, error) {
	var runs []Run
	dec := json.NewDecoder(bytes.NewReader(line))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return runs, nil
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			return runs, err
		} else if err != nil {
			return runs, &noRunError{err: err}
		}
		run, err := decodeRun(raw)
		if err != nil {
			return runs, err
		}
		runs = append(runs, run)
	}
}

// decodeRun looks at the schema alone first: a newer one may have changed the
// type of any other field.
func decodeRun(raw json.RawMessage) (Run, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Run{}, noRun(err)
	}
	switch {
	case head.Schema < 1:
		return Run{}, &noRunError{why: ": it has no schema number"}
	case head.Schema > Schema:
		return Run{}, &SchemaError{head.Schema}
	}
	var run Run
	if err := json.Unmarshal(raw, &run); err != nil {
		return Run{}, noRun(err)
	}
	if run.Command == "" {
		return Run{}, &noRunError{why: ": it names no command"}
	}
	switch missing, err := missingField(raw); {
	case err != nil:
		return Run{}, noRun(err)
	case missing != "":
		return Run{}, &noRunError{why: ": it has no " + missing}
	}
	for _, wrong := range []func(*Run) string{wrongFigure, wrongStacks} {
		if why := wrong(&run); why != "" {
			return Run{}, &noRunError{why: ": " + why}
		}
	}
	markUnknownCPU(&run)
	return run, nil
}

// markUnknownCPU: earlier versions wrote 0 for the CPU time of a dismantling, which
// none has.
func markUnknownCPU(r *Run) {
	if r.Command != "netns" {
		return
	}
	if p := r.Phase(dismantlePhase); p != nil && p.User+p.System == 0 {
		p.CPUUnknown = true
	}
}

// wrongStacks names a phase whose stacks are not all of its samples.
func wrongStacks(r *Run) string {
	if r.Profile == nil {
		return ""
	}
	for _, p := range r.Profile.Phases {
		left := p.Samples
		for _, s := range p.Stacks {
			if left -= s.Samples; left < 0 {
				return fmt.Sprintf("the stacks of the phase %s are not those of its samples", plain(p.Phase))
			}
		}
	}
	return ""
}

// A noRunError is of a line of something else. It keeps what the decoder said from
// people, to whom the types of this program mean nothing.
type noRunError struct {
	why string
	err error
}

func (e *noRunError) Error() string { return "is no record of a run" + e.why }
func (e *noRunError) Unwrap() error { return e.err }

// noRun names the field that is of the wrong kind, where it is one.
func noRun(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return &noRunError{fmt.Sprintf(": its %s is a %s", plain(kind.Field), kind.Value), err}
	}
	return &noRunError{err: err}
}
