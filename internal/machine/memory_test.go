package machine

import "testing"

func TestParseMemAvailable(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:  100 kB\nMemAvailable:   23456 kB\nBuffers: 1 kB\n": 23456 << 10,
		"MemTotal:  100 kB\n":                    -1,
		"MemAvailable: many kB\n":                -1,
		"MemAvailable: -5 kB\n":                  -1,
		"":                                       -1,
		"MemAvailable: 0 kB\n":                   0,
		"MemAvailable: 9223372036854775807 kB\n": -1,
	} {
		got, err := parseMemAvailable([]byte(text))
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if n, err := MemAvailable(); err != nil || n < 1<<20 {
		t.Errorf("MemAvailable: %d, %v", n, err)
	}
	if n := PossibleCPUs(); n < 1 {
		t.Errorf("PossibleCPUs: %d", n)
	}
}
