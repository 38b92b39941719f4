// Package profile says where the CPU was while a run's clocks ran, by samples that
// the kernel's perf events take.
//
// Every sample bears the time of the clock that the phases are timed with
// (CLOCK_MONOTONIC). The kernel writes samples to a ring in this process's memory;
// whenever a stopwatch has stopped, those in it are kept or dropped, as they lie
// within the stretch of time that was measured or not. A stretch without a sample,
// most are, costs one load of the ring's head.
package profile
