package prefixes

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A trieShape is the main table's part of /proc/net/fib_triestat.
type trieShape struct {
	depth                    float64
	leaves, prefixes, tnodes int
	bySize                   string
	kilobytes                int
}

func shapeOf(t *testing.T, s *Set) (shape trieShape) {
	inNamespace(t, func() {
		install(t, s)
		text, err := os.ReadFile("/proc/thread-self/net/fib_triestat")
		if err != nil {
			t.Error(err)
			return
		}
		shape = parseShape(string(text))
	})
	if shape.prefixes < s.Len() {
		t.Fatalf("%d prefixes in the trie, %d were installed", shape.prefixes, s.Len())
	}
	return shape
}

func parseShape(text string) (s trieShape) {
	_, text, _ = strings.Cut(text, "Main:")
	text, _, _ = strings.Cut(text, "Local:")
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		number, _ := strconv.Atoi(strings.Fields(value + " x")[0])
		switch name {
		case "Aver depth":
			s.depth, _ = strconv.ParseFloat(value, 64)
		case "Leaves":
			s.leaves = number
		case "Prefixes":
			s.prefixes = number
		case "Internal nodes":
			s.tnodes = number
		case "1":
			s.bySize = strings.TrimSpace(line)
		case "Total size":
			s.kilobytes = number
		}
	}
	return s
}

// The reason for the DFZ layout: the kernel builds the same trie from it as from
// the Internet's table.
func TestDFZTrie(t *testing.T) {
	const count = 200_000
	real, err := snapshot(t, IPv4).Sample(count)
	if err != nil {
		t.Fatal(err)
	}
	want := shapeOf(t, real)
	t.Logf("snapshot: %+v", want)
	for seed := range uint64(2) {
		made, err := Generate(DFZ, IPv4, count, seed)
		if err != nil {
			t.Fatal(err)
		}
		got := shapeOf(t, made)
		t.Logf("seed %d: %+v", seed, got)
		within(t, "average depth", want.depth, got.depth, 5)
		within(t, "internal nodes", float64(want.tnodes), float64(got.tnodes), 10)
		within(t, "leaves", float64(want.leaves), float64(got.leaves), 2)
		within(t, "size", float64(want.kilobytes), float64(got.kilobytes), 5)
	}
}

func within(t *testing.T, name string, want, got, percent float64) {
	t.Helper()
	if off := 100 * (got - want) / want; math.Abs(off) > percent {
		t.Errorf("%s", fmt.Sprintf("%s: %.2f of the snapshot, %.2f generated: %+.1f %%", name, want, got, off))
	}
}
