package results

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A ranged is a warning of several runs whose texts are the same but for their
// figures.
type ranged struct {
	kind      string
	words     []string // the text around its figures
	low, high []string // each figure's smallest and largest value, as written
	runs      int
	last      int // index of the last run counted, -1 none
}

// A phrase is a warning taken apart: the words around its figures, of which
// there is one more, and the figures.
type phrase struct {
	kind           string
	words, figures []string
}

// figurePattern matches a decimal figure.
func figurePattern() *regexp.Regexp { return regexp.MustCompile(`\d+(\.\d+)?`) }

func takeApart(w Warning, pattern *regexp.Regexp) phrase {
	return phrase{w.Kind, pattern.Split(w.Text, -1), pattern.FindAllString(w.Text, -1)}
}

func newRanged(p phrase) *ranged {
	return &ranged{kind: p.kind, words: p.words, low: slices.Clone(p.figures), high: slices.Clone(p.figures), last: -1}
}

// takes reports whether p is the same warning.
func (r *ranged) takes(p phrase) bool { return p.kind == r.kind && slices.Equal(p.words, r.words) }

// add takes in the figures of a warning of the run with that index. Runs come in
// order, and one that bears a warning twice counts once.
func (r *ranged) add(p phrase, run int) {
	for i, f := range p.figures {
		r.low[i] = slices.MinFunc([]string{r.low[i], f}, compareFigures)
		r.high[i] = slices.MaxFunc([]string{r.high[i], f}, compareFigures)
	}
	if run != r.last {
		r.runs++
		r.last = run
	}
}

func compareFigures(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64) // out of range is ±Inf, which compares
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y)
}

// text is the warning, with "low to high" for a figure that differs.
func (r *ranged) text() string {
	var b strings.Builder
	for i, word := range r.words {
		b.WriteString(word)
		if i < len(r.low) {
			b.WriteString(r.low[i])
			if compareFigures(r.low[i], r.high[i]) != 0 {
				b.WriteString(" to " + r.high[i])
			}
		}
	}
	return b.String()
}
