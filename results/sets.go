package results

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// setID is a short name of what a block was measured on and with: it is the same for
// the same machine, kernel and parameters, whenever they are measured.
func setID(b block) string {
	var specs []string
	for i := range b.runs {
		if s := sharedSpec(&b.runs[i]); !slices.Contains(specs, s) {
			specs = append(specs, s)
		}
	}
	slices.Sort(specs)
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v\n%s", machineKey(&b.runs[0]), strings.Join(specs, "\n")))
	return hex.EncodeToString(sum[:4])
}

// setNames has a name for each block that no other block of its command has: "" where
// there is but one, else the label or the kernel, and where these are not enough the
// set's identifier too.
func setNames(all []block) []string {
	names := make([]string, len(all))
	same := map[string]int{}
	commands := map[string]int{}
	kernel := func(b block) string {
		e := &b.runs[0].Environment
		return strings.TrimSpace(plain(firstOf(e.Label, e.Kernel)))
	}
	for _, b := range all {
		commands[b.runs[0].Command]++
		same[b.runs[0].Command+"\n"+kernel(b)]++
	}
	for i, b := range all {
		command := b.runs[0].Command
		switch {
		case commands[command] == 1:
		case same[command+"\n"+kernel(b)] == 1 && kernel(b) != "":
			names[i] = kernel(b)
		default:
			names[i] = strings.TrimSpace(kernel(b) + " " + setID(b))
		}
	}
	return names
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// word makes a text one word that stands in a key of any of the formats: spaces become
// underscores, and what has a meaning in one of them is escaped as in a URL.
func word(text string) string {
	var b strings.Builder
	for _, r := range plain(text) {
		switch {
		case r == ' ':
			b.WriteByte('_')
		case strings.ContainsRune("/%=<>#\"'\\`", r) || unicode.IsSpace(r):
			fmt.Fprintf(&b, "%%%02X", r)
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "-"
	}
	return b.String()
}

// key names what the parts say, each of which becomes a word; empty ones are left out.
func key(parts ...string) string {
	var words []string
	for _, p := range parts {
		if p != "" {
			words = append(words, word(p))
		}
	}
	return strings.Join(words, ".")
}

// path is the place and the quantity of a figure, e.g. "delete.wall".
func (d digest) path() string {
	var parts []string
	for _, p := range d.at {
		if p.key != "phase" {
			parts = append(parts, p.key)
		}
		parts = append(parts, p.value)
	}
	return key(append(parts, d.name)...)
}
