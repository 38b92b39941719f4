// Package offcpu finds out what the timed threads of a run waited for: a perf event
// of each writes down every time it leaves the CPU, with the kernel's stack, and
// every time it has one again. It works wherever perf events do, without kprobes,
// hardware counters or tracefs, and costs some microseconds a wait.
package offcpu
