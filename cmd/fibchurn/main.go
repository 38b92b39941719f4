// Command fibchurn is a route-table scale and churn tester for Linux: it makes a
// throwaway network namespace, changes a route table in it at scale, and times
// what the kernel does.
package main

import "os"

func main() {
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
