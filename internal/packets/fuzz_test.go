package packets

import "testing"

// Whatever stands in the files of counters, they are read or refused, and no counter
// comes of nothing.
func FuzzCounters(f *testing.F) {
	for _, seed := range []string{
		"Ip: Forwarding InReceives\nIp: 1 1000\nTcpExt: SyncookiesSent\nTcpExt: 7\n", "Ip: A B\nIp: 1\n", "Ip: A\nTcp: 1\n", "Ip: A\nIp: -1\n",
		"Ip6InReceives                   \t3\nIp6OutNoRoutes \t0\n", "Ip6InReceives\n", "Ip6InReceives 99999999999999999999\n",
		"Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "a\nb\nlo 1 2 3\n", "a\nb\n::: 1 2 3 4 5 6 7 8 9 10 11 12\n", "\n", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func(Counters) error{
			"pairs":   func(c Counters) error { return c.pairs(text) },
			"lines":   func(c Counters) error { return c.lines(text) },
			"devices": func(c Counters) error { return c.devices(text) },
		} {
			c := Counters{}
			_ = parse(c)
			if len(c) > len(text)/2 { // each takes a digit and what is before it
				t.Errorf("%s: %d counters of %q", name, len(c), text)
			}
			for counter, n := range c.Since(c) {
				if n != 0 {
					t.Errorf("%s: %s grew by %d since itself", name, counter, n)
				}
			}
		}
	})
}
