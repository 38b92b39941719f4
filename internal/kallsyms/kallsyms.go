// Package kallsyms reads the names of the running kernel's functions from
// /proc/kallsyms.
package kallsyms

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// ErrHidden is returned where the kernel shows this user no addresses
// (kernel.kptr_restrict, kallsyms_show_value).
var ErrHidden = errors.New("/proc/kallsyms shows this user no addresses (kernel.kptr_restrict)")

// A Table is the functions of the kernel and its modules.
type Table struct {
	starts []uint64 // ascending
	names  []string // as the kernel has them, with what a compiler appends
}

// Read reads the table.
func Read() (*Table, error) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of the kernel's functions: %w", err)
	}
	return parse(text)
}

func parse(text []byte) (*Table, error) {
	type symbol struct {
		start uint64
		name  string
	}
	var symbols []symbol
	hidden := true
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 3 || len(fields[1]) != 1 || !bytes.ContainsAny(fields[1], "tTwW") {
			continue
		}
		start, err := strconv.ParseUint(string(fields[0]), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/kallsyms: %q: %w", line, err)
		}
		hidden = hidden && start == 0
		symbols = append(symbols, symbol{start, string(fields[2])})
	}
	if hidden {
		return nil, ErrHidden
	}
	slices.SortStableFunc(symbols, func(a, b symbol) int {
		if a.start < b.start {
			return -1
		}
		return min(1, int(min(a.start-b.start, 1)))
	})
	t := &Table{}
	for _, s := range symbols {
		t.starts, t.names = append(t.starts, s.start), append(t.names, s.name)
	}
	return t, nil
}

// Name is the function that an address lies in, without what a compiler appends to
// its name; "" where it lies before all.
func (t *Table) Name(address uint64) string {
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > address }) - 1
	if i < 0 {
		return ""
	}
	return Plain(t.names[i])
}

// Symbols are the symbols of a function: its name, or that with what a compiler
// appends to it ("resize.isra.0"), without the parts it moved away (".cold").
func (t *Table) Symbols(function string) []string {
	var found []string
	for _, name := range t.names {
		if (name == function || strings.HasPrefix(name, function+".")) && !strings.Contains(name, ".cold") {
			found = append(found, name)
		}
	}
	return found
}

// Plain is a symbol without what a compiler appends to a function's name.
func Plain(symbol string) string {
	if i := strings.IndexByte(symbol, '.'); i > 0 {
		return symbol[:i]
	}
	return symbol
}
