package vm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"fibchurn/results"
)

// The channel carries lines: a CRC-32C of eight hexadecimal digits, a space, a JSON
// object. A serial port has no checksum of its own, and a figure that lost a digit
// would still be a figure.
const frameHead = 9

// runStart is how every run's line begins (package results); messages do not.
const runStart = `{"schema":`

func checksum(payload []byte) uint32 {
	return crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli))
}

// appendFrame appends the line that carries payload, which has no newline.
func appendFrame(line, payload []byte) []byte {
	line = fmt.Appendf(line, "%08x ", checksum(payload))
	line = append(line, payload...)
	return append(line, '\n')
}

// A frame is what one line carried: a run or a message.
type frame struct {
	run     *results.Run
	message *message
}

// errTorn is the end of a channel inside a line: its writer died there.
var errTorn = errors.New("the last line is incomplete")

// A frameReader reads the guest's lines.
type frameReader struct{ in *bufio.Reader }

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next frame; io.EOF after the last, errTorn instead where the
// channel ends inside a line. Any other error means that the channel is not to be
// trusted any more.
func (r *frameReader) next() (frame, error) {
	line, err := r.line()
	if err != nil {
		return frame{}, err
	}
	payload, err := unframe(line)
	if err != nil {
		return frame{}, err
	}
	return decodeFrame(payload)
}

// line returns the next whole line without its end.
func (r *frameReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, errTorn
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > results.MaxLine:
			return nil, fmt.Errorf("a line longer than %d bytes", results.MaxLine)
		}
	}
}

// unframe takes a line's checksum off.
func unframe(line []byte) ([]byte, error) {
	if len(line) < frameHead || line[frameHead-1] != ' ' {
		return nil, fmt.Errorf("%.40q is no line of a guest", line)
	}
	want, err := strconv.ParseUint(string(line[:frameHead-1]), 16, 32)
	if err != nil {
		return nil, fmt.Errorf("%.40q is no line of a guest", line)
	}
	payload := line[frameHead:]
	if got := checksum(payload); uint64(got) != want {
		return nil, fmt.Errorf("a line of %d bytes was garbled on its way", len(line))
	}
	return payload, nil
}

func decodeFrame(payload []byte) (frame, error) {
	if !bytes.HasPrefix(payload, []byte(runStart)) {
		m := &message{}
		if err := json.Unmarshal(payload, m); err != nil {
			return frame{}, fmt.Errorf("message of the guest: %w", err)
		}
		return frame{message: m}, nil
	}
	runs, warnings, err := results.Read(bytes.NewReader(payload), "guest")
	if err == nil && (len(runs) != 1 || len(warnings) > 0) {
		err = fmt.Errorf("a line with %d runs", len(runs))
	}
	if err != nil {
		return frame{}, fmt.Errorf("run of the guest: %w", err)
	}
	return frame{run: &runs[0]}, nil
}
