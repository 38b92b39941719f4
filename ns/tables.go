package ns

import (
	"errors"
	"fmt"
	"os"

	"fibchurn/results"
)

// Tables reads the shape of the namespace's route tables: IPv4 from
// fib_triestat, IPv6 from rt6_stats. What the kernel does not have is nil.
func (n *Namespace) Tables() (t results.Tables, err error) {
	err = n.Do(func() error {
		t, err = TablesHere()
		return err
	})
	return t, err
}

// TablesHere is Tables of the calling thread's namespace, for what runs on a
// Namespace's own thread.
func TablesHere() (t results.Tables, err error) {
	b, err := readNet("fib_triestat")
	if err == nil && b != nil {
		t.IPv4, err = ParseTrieStats(b)
	}
	if err != nil {
		return t, err
	}
	b, err = readNet("rt6_stats")
	if err == nil && b != nil {
		t.IPv6, err = ParseRT6Stats(b)
	}
	return t, err
}

// readNet reads a file of the calling thread's network namespace, nil where it
// does not exist. /proc/net itself would be the main thread's.
func readNet(name string) ([]byte, error) {
	b, err := os.ReadFile("/proc/thread-self/net/" + name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read /proc/net/%s: %w", name, err)
	}
	return b, nil
}
