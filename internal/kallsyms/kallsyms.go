// Package kallsyms reads the names of the running kernel's functions from
// /proc/kallsyms.
package kallsyms

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// ErrHidden is returned where the kernel shows this user no addresses
// (kallsyms_show_value, kernel/ksyms_common.c).
var ErrHidden = errors.New("/proc/kallsyms shows this user no addresses (kernel.kptr_restrict, kernel.perf_event_paranoid)")

// A Table is the functions of the kernel, its modules, and its BPF programs.
type Table struct {
	starts []uint64 // ascending, each once
	names  []string // as the kernel has them, with what a compiler appends
	all    []string // the names that were left out for another of the same address too
	text   [2]uint64
}

// Read reads the table.
func Read() (*Table, error) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of the kernel's functions: %w", err)
	}
	return parse(text)
}

// A symbol is one line of the file, "ffffffff81a2b3c0 t fib_table_lookup\t[module]"
// (s_show, kernel/kallsyms.c).
type symbol struct {
	start uint64
	kind  byte
	name  string
}

func parse(text []byte) (*Table, error) {
	t := &Table{}
	symbols := make([]symbol, 0, bytes.Count(text, []byte("\n"))+1)
	file := string(text) // of which the names are parts
	hidden := true
	for line := range strings.Lines(file) {
		s, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("/proc/kallsyms: %w", err)
		}
		switch s.name {
		case "_stext":
			t.text[0] = s.start
		case "_etext":
			t.text[1] = s.start
		}
		if isFunction(s) {
			hidden = hidden && s.start == 0
			symbols = append(symbols, s)
		}
	}
	switch {
	case len(symbols) == 0:
		return nil, errors.New("/proc/kallsyms has no functions")
	case hidden:
		return nil, ErrHidden
	}
	slices.SortStableFunc(symbols, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.start, b.start), preference(a, b))
	})
	for i, s := range symbols {
		t.all = append(t.all, s.name)
		if i == 0 || symbols[i-1].start != s.start {
			t.starts, t.names = append(t.starts, s.start), append(t.names, s.name)
		}
	}
	return t, nil
}

func parseLine(line string) (symbol, error) {
	fields := strings.Fields(line)
	if len(fields) < 3 || len(fields[1]) != 1 {
		return symbol{}, fmt.Errorf("%q is no symbol", strings.TrimSpace(line))
	}
	start, err := strconv.ParseUint(fields[0], 16, 64)
	if err != nil {
		return symbol{}, fmt.Errorf("%q: the address: %w", strings.TrimSpace(line), err)
	}
	return symbol{start, fields[1][0], fields[2]}, nil
}

// isFunction leaves out data, and the marks in the text that are no functions: those
// of the linker, of mapping symbols ("$x", arm64) and of the compiler (".L").
func isFunction(s symbol) bool {
	switch {
	case !strings.ContainsRune("tTwW", rune(s.kind)),
		strings.HasPrefix(s.name, "$"), strings.HasPrefix(s.name, "."),
		slices.Contains([]string{"_text", "_stext", "_sinittext"}, s.name):
		return false
	}
	return true
}

// preference orders two names of one address, the better one first, as perf chooses
// (choose_best_symbol, tools/perf/util/symbol.c): not weak, global, fewer
// underscores in front, longer.
func preference(a, b symbol) int {
	rank := func(s symbol) int { return strings.IndexByte("TtWw", s.kind) }
	underscores := func(s symbol) int { return len(s.name) - len(strings.TrimLeft(s.name, "_")) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(underscores(a), underscores(b)),
		cmp.Compare(len(b.name), len(a.name)), cmp.Compare(a.name, b.name))
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

// Fixed reports whether an address is in the kernel itself, where functions stay
// where they are: not in a module or a BPF program, which come and go.
func (t *Table) Fixed(address uint64) bool { return t.text[0] <= address && address < t.text[1] }

// Symbols are the symbols of a function: its name, or that with what a compiler
// appends to it ("resize.isra.0"), without the parts it moved away (".cold").
func (t *Table) Symbols(function string) []string {
	var found []string
	for _, name := range t.all {
		if (name == function || strings.HasPrefix(name, function+".")) && !strings.Contains(name, ".cold") {
			found = append(found, name)
		}
	}
	return found
}

// Plain is a symbol without what a compiler appends to a function's name: ".isra.0",
// ".constprop.0", ".part.0", ".cold", ".llvm.1234".
func Plain(symbol string) string {
	if i := strings.IndexByte(symbol, '.'); i > 0 {
		return symbol[:i]
	}
	return symbol
}
