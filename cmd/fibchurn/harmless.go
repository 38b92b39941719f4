package main

import (
	"io"
	"strconv"
	"strings"
	"unicode"
)

// harmless shows a text that may come from a file, a guest or the kernel as one line
// that moves no terminal's cursor: control and format characters stand there as Go
// writes them, such as \x1b.
func harmless(text string) string {
	if !strings.ContainsFunc(text, harmful) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !harmful(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// shortened leaves out the middle of a line that nobody would read: an argument comes
// back in an error, however long it is, and what is wrong with it stands behind it.
func shortened(line string) string {
	const begin, end = 500, 400 // bytes
	if len(line) <= begin+end {
		return line
	}
	head, tail := strings.ToValidUTF8(line[:begin], ""), strings.ToValidUTF8(line[len(line)-end:], "")
	return head + " ... " + tail
}

func harmful(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// A harmlessWriter passes lines on harmlessly.
type harmlessWriter struct{ to io.Writer }

func (w *harmlessWriter) Write(p []byte) (int, error) {
	text, end := strings.CutSuffix(string(p), "\n")
	text = harmless(text)
	if end {
		text += "\n"
	}
	if _, err := io.WriteString(w.to, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
