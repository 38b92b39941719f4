// Package functrace counts and times the calls of the kernel's trie functions that a
// run's timed threads make in its phases: a BPF program at each function's entry and
// one at its return, by kprobes. No compiler and no tracefs are needed.
package functrace
