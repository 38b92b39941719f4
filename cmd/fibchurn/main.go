// Command fibchurn is a route-table scale and churn tester for Linux: it makes a
// throwaway network namespace, changes a route table in it at scale, and times
// what the kernel does.
package main

import (
	"os"

	"fibchurn/vm"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == watchdogArgument {
		os.Exit(watchSyncMem(os.Args[2]))
	}
	if len(os.Args) == 2 && os.Args[1] == namespaceProbesArgument {
		os.Exit(namespaceProbes(os.Stdout))
	}
	vm.Inside(run) // does not return where this is a guest's first process
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
