package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// A count is a flag's number of things: "8192", "8k" (8000), "8Ki" (8192), "1M",
// "1Mi". It is 0 or more; what a command makes of 0 is its own matter.
type count int

// Set parses text; it makes *count a flag.Value.
func (n *count) Set(text string) error {
	v, err := parseCount(text)
	if err == nil {
		*n = count(v)
	}
	return err
}

func (n *count) String() string { return strconv.Itoa(int(*n)) }

func parseCount(text string) (int, error) {
	digits := strings.TrimRight(text, "kKMGi")
	unit, known := map[string]uint64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}[text[len(digits):]]
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("%q is no count (such as 8192, 8k, 8Ki, 1M)", text)
	}
	if v > math.MaxInt32/unit {
		return 0, fmt.Errorf("%q is more than %d", text, math.MaxInt32)
	}
	return int(v * unit), nil
}

// numberOf is a count as the default of a flag.
func numberOf(n int) *count {
	c := count(n)
	return &c
}

// countOf is the value of a flag that is a count.
func countOf(c *cli.Context, name string) int { return int(*c.Generic(name).(*count)) }

// countList is the value of a flag that is a list of different counts.
func countList(c *cli.Context, name string) ([]int, error) {
	var counts []int
	for _, text := range c.StringSlice(name) {
		n, err := parseCount(text)
		if err != nil {
			return nil, usageErrorf("--%s: %v", name, err)
		}
		if slices.Contains(counts, n) {
			return nil, usageErrorf("--%s %d: given twice", name, n)
		}
		counts = append(counts, n)
	}
	return counts, nil
}
