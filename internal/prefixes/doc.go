// Package prefixes makes and reads the prefix sets that route tables are filled
// with.
//
// [Generate] makes a set of a [Layout]; [ReadFile] reads one from a prefix list,
// from what iproute2 prints or saves, or from an MRT RIB dump; [Estimate] says
// what the kernel will need to hold it.
package prefixes
