// Package lookup measures what reads the route table: how long one lookup takes,
// from user space and inside the kernel, at rest and while something changes the
// table.
//
// A [Sampler] paces probes over stretches of a run and files their times; its
// Start and Stop make it an observer of a run. Every answer that a probe gets is
// compared with an [Oracle] outside the clock: a wrong answer is a
// [WrongAnswerError], not a sample.
//
// The probes are netlink (RTM_GETROUTE), connect (UDP connect(2)) and bpf
// (bpf_fib_lookup in a program that the kernel runs on request). Each is
// calibrated, in turn with its lookups, by the same call without the lookup.
//
// Times are ns of CLOCK_MONOTONIC.
package lookup
