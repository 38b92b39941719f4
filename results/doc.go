// Package results holds what was measured: the record of a run, the file of
// runs, their statistics and their renderings.
//
// A [Run] is one line of JSON. [Append] opens a file of runs, [NewEncoder] writes
// them elsewhere, [Read] reads them. [Of] and [Net] summarise the samples among
// them, [WriteText] renders them for a terminal, [Formats] for other programs. A renderer is a pure function of
// runs: it needs no kernel, no privilege and no terminal.
//
// Times are in nanoseconds unless a name says otherwise.
package results
