package results

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// nbsp keeps a figure and its unit on one line until wrap has done its work.
const nbsp = "\u00a0"

// A unit of time.
type unit struct {
	name string
	ns   float64
}

// unitOf returns the unit that shows a time of ns with one to three digits
// before the point where there is one.
func unitOf(ns float64) unit {
	switch ns = math.Abs(ns); {
	case ns < 1e3:
		return unit{"ns", 1}
	case ns < 1e6:
		return unit{"us", 1e3}
	case ns < 1e9:
		return unit{"ms", 1e6}
	}
	return unit{"s", 1e9}
}

// decimals returns how many digits after the point show x with three
// significant ones, at most 3.
func decimals(x float64) int {
	switch x = math.Abs(x); {
	case x >= 99.95:
		return 0
	case x >= 9.995:
		return 1
	case x >= 0.9995:
		return 2
	}
	return 3
}

func fixed(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // no negative zero
	}
	return s
}

// duration renders a time with its unit, e.g. "36.2 ms".
func duration(ns float64) string {
	u := unitOf(ns)
	return fixed(ns/u.ns, decimals(ns/u.ns)) + nbsp + u.name
}

// durations renders the median of s, and its interval as "lo to hi", in one
// unit and with the same digits after the point, so that they compare.
func durations(s Summary) (median, interval string) {
	scale := math.Abs(s.Median)
	if s.HasInterval() && scale < (s.Hi-s.Lo)/2 {
		scale = math.Max(math.Abs(s.Lo), math.Abs(s.Hi)) // the median is next to nothing
	}
	u := unitOf(scale)
	d := decimals(scale / u.ns)
	text := func(ns float64) string { return fixed(ns/u.ns, d) }
	median = text(s.Median) + nbsp + u.name
	if s.HasInterval() {
		interval = text(s.Lo) + nbsp + "to" + nbsp + text(s.Hi) + nbsp + u.name
	}
	return median, interval
}

// times renders a ratio above zero, e.g. "5.5 times".
func times(ratio float64) string {
	d := 0
	switch {
	case ratio < 0.95:
		d = 2
	case ratio < 9.95:
		d = 1
	}
	return fixed(ratio, d) + nbsp + "times"
}

// count renders n things, e.g. count(1, "run", "runs") is "1 run".
func count[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.FormatInt(int64(n), 10) + nbsp + many
}

// plain makes a string of a record harmless to a terminal: one line and no
// control characters.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}
