package results

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeJSON writes what could move a terminal's cursor, or turn the direction of its
// text, as JSON has it: \u009b. encoding/json does so for what is below a space only.
// In JSON such a character is inside a string, or it is no JSON.
func escapeJSON(line []byte) []byte {
	if !bytes.ContainsFunc(line, hidden) {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case !hidden(r):
			out = append(out, line[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		line = line[size:]
	}
	return out
}

// hidden: DEL, C1 controls and format characters. A newline ends the line.
func hidden(r rune) bool {
	return r != '\n' && r >= 0x7f && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}
