package functrace

import (
	"fmt"

	"fibchurn/internal/kallsyms"
)

// Functions are those that are traced where the kernel has them
// (net/ipv4/fib_trie.c), in the order of their names.
func Functions() []string {
	return []string{"fib_table_flush", "halve", "inflate", "resize", "tnode_free", "tnode_new", "update_suffix"}
}

// symbolOf finds the one symbol of a function, or says why there is none to probe.
func symbolOf(names *kallsyms.Table, function string) (symbol, why string) {
	switch found := names.Symbols(function); len(found) {
	case 0:
		return "", "no symbol: inlined into its callers"
	case 1:
		return found[0], ""
	default:
		return "", fmt.Sprintf("%d symbols of that name", len(found))
	}
}
