package results

import (
	"math"
	"strings"
	"testing"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0.000 ns", 7: "7.00 ns", 999: "999 ns", 1000: "1.00 us", 36_160_000: "36.2 ms", 99_960_000: "100 ms",
		-775_000: "-775 us", 2_400_000_000: "2.40 s", 6_000_000: "6.00 ms",
	} {
		if got := strings.ReplaceAll(duration(ns), nbsp, " "); got != want {
			t.Errorf("%v: got %q, want %q", ns, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		s    Summary
		want string
	}{
		{Summary{N: 10, Median: 36.2e6, Lo: 35.9e6, Hi: 36.8e6}, "36.2 ms, 35.9 to 36.8 ms"},
		{Summary{N: 10, Median: 99.2e6, Lo: 98.9e6, Hi: 101e6}, "99.2 ms, 98.9 to 101.0 ms"},
		{Summary{N: 10, Median: -40, Lo: -1.25e6, Hi: 0.5e6}, "0.00 ms, -1.25 to 0.50 ms"},
		{Summary{N: 3, Median: 5e6, Lo: math.Inf(-1), Hi: math.Inf(1)}, "5.00 ms, "},
	} {
		median, interval := durations(c.s)
		if got := strings.ReplaceAll(median+", "+interval, nbsp, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for ratio, want := range map[float64]string{0.184: "0.18", 0.96: "1.0", 1: "1.0", 5.47: "5.5", 9.96: "10", 123.4: "123"} {
		if got := times(ratio); got != want+nbsp+"times" {
			t.Errorf("%v: got %q, want %q", ratio, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two"+nbsp+"three four", 9, 2)
	if want := "one|  two three|  four"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
