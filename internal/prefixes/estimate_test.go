package prefixes

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// What the kernel itself says an IPv4 table takes is the estimate at most, and not
// so much less that the estimate would refuse what fits.
func TestEstimateIPv4(t *testing.T) {
	const count = 50_000
	for _, l := range []Layout{Dense, Sparse, Random, Linear32, DFZ} {
		t.Run(string(l), func(t *testing.T) {
			s, err := Generate(l, IPv4, count, 1)
			if err != nil {
				t.Fatal(err)
			}
			checkEstimate(t, l, s, int64(shapeOf(t, s).kilobytes)<<10)
		})
	}
}

func TestEstimateIPv6(t *testing.T) {
	s, err := Generate(DFZ, IPv6, 30_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Whatever else the machine does shows in the memory of the kernel.
	var grown int64
	for range 5 {
		grown = measure(t, s)
		if per := grown / int64(s.Len()); per > 400 && per < 928 {
			break
		}
	}
	checkEstimate(t, DFZ, s, grown)
}

func checkEstimate(t *testing.T, l Layout, s *Set, got int64) {
	t.Helper()
	most, err := Estimate(l, s.Family(), s.Len(), runtime.NumCPU())
	if err != nil {
		t.Fatal(err)
	}
	if got > most || got < most*2/5 {
		t.Errorf("estimate of %d bytes, %d are taken (%d a route)", most, got, got/int64(s.Len()))
	}
}

func TestEstimateErrors(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		family Family
		count  int
	}{
		{"round", IPv4, 1},
		{"round", IPv6, 1},
		{Dense, 5, 1},
		{Dense, IPv4, -1},
	} {
		if _, err := Estimate(c.layout, c.family, c.count, 1); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

// measure is the memory in bytes that installing the set takes.
func measure(t *testing.T, s *Set) (grown int64) {
	first, err := s.Sample(1)
	if err != nil {
		t.Fatal(err)
	}
	inNamespace(t, func() {
		install(t, first)
		time.Sleep(50 * time.Millisecond) // the grace period of what setup freed
		before := kernelMemory(t)
		install(t, s)
		grown = kernelMemory(t) - before
	})
	return grown
}

// kernelMemory is what the kernel has allocated in the ways that route tables
// use: slabs, vmalloc (tnodes above a page) and per-CPU areas, in bytes. Unlike
// MemAvailable it does not move with what other processes map.
func kernelMemory(t *testing.T) (sum int64) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name string
		var kilobytes int64
		fmt.Sscanf(lines.Text(), "%s %d", &name, &kilobytes)
		switch name {
		case "SUnreclaim:", "VmallocUsed:", "Percpu:":
			sum += kilobytes << 10
		}
	}
	return sum
}
