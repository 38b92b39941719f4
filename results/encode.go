package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// An Encoder writes runs as JSON lines.
type Encoder struct{ w io.Writer }

// NewEncoder returns an encoder that writes to w. It buffers nothing.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w} }

// Encode writes run as one line, its newline included, in one call of Write.
func (e *Encoder) Encode(run *Run) error {
	line, err := encodeLine(run)
	if err != nil {
		return err
	}
	_, err = e.w.Write(line)
	return err
}

// encodeLine returns the run's JSON and a newline. Phases and warnings are []
// rather than null, so that jq's .[] works on every run, and the time is in UTC.
// Debug stays null where the options are unknown.
func encodeLine(run *Run) ([]byte, error) {
	r := *run
	r.Time = r.Time.UTC()
	r.Phases = orEmpty(r.Phases)
	r.Warnings = orEmpty(r.Warnings)

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // a warning's "<" stays legible
	if err := enc.Encode(&r); err != nil {
		return nil, fmt.Errorf("encode run %d of cell %q: %w", r.Run, r.Cell, err)
	}
	return escapeJSON(buf.Bytes()), nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
