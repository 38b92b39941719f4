package packets

import (
	"maps"
	"testing"
)

func TestCountersParse(t *testing.T) {
	c := Counters{}
	for _, err := range []error{
		c.pairs("Ip: Forwarding InReceives\nIp: 1 1000\nTcpExt: SyncookiesSent\nTcpExt: 7\n"),
		c.lines("Ip6InReceives                   \t3\nIp6OutNoRoutes \t0\n"),
		c.devices("Inter-|   Receive                 |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
			"    lo:       1       2    3    4    0     0          0         0        5       6    7    8    0     0       0          0\n" +
			"fc0p:10 20 0 0 0 0 0 0 50 60 0 9 0 0 0 0\n"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{
		"Ip InReceives": 1000, "TcpExt SyncookiesSent": 7, "Ip6InReceives": 3, "lo rx_dropped": 4, "lo tx_dropped": 8,
		"fc0p rx_packets": 20, "fc0p tx_packets": 60, "fc0p tx_dropped": 9,
	} {
		if got, ok := c[name]; !ok || got != want {
			t.Errorf("%s is %d (%v), want %d", name, got, ok, want)
		}
	}
	later := maps.Clone(c)
	later["Ip InReceives"] += 5
	if grown := later.Since(c); grown["Ip InReceives"] != 5 || grown["lo rx_dropped"] != 0 {
		t.Errorf("grew by %v", grown)
	}
}

func TestCountersRefuse(t *testing.T) {
	c := Counters{}
	for _, err := range []error{
		c.pairs("Ip: A\n"), c.pairs("Ip: A B\nIp: 1\n"), c.pairs("Ip: A\nTcp: 1\n"), c.pairs("Ip: A\nIp: x\n"),
		c.lines("Ip6InReceives\n"), c.lines("Ip6InReceives x\n"),
		c.devices("a\nb\nlo 1 2 3\n"), c.devices("a\nb\nlo: 1 2 3\n"), c.devices("a\nb\nlo: x 2 3 4 5 6 7 8 9 10 11 12\n"),
	} {
		if err == nil {
			t.Error("taken")
		}
	}
}
