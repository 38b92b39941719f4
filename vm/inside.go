package vm

import (
	"io"
	"os"
)

// Run is a program's command line as a function: args[0] is its name, the result
// its exit code.
type Run func(args []string, stdout, stderr io.Writer) int

// Inside is to be the first thing main calls. In an ordinary process it returns at
// once. In the two processes that Boot makes out of this program it does their work
// and does not return: as PID 1 of a guest, where it executes the command line that
// Boot was given with run, and as the keeper of a machine on the host.
func Inside(run Run) {
	if len(os.Args) > 0 && os.Args[0] == keeperName {
		os.Exit(keep(os.Args[1:]))
	}
	if inGuest() {
		guest(run)
	}
}

// inGuest reports whether this is PID 1 of an initramfs of ours, and not of a
// container.
func inGuest() bool {
	if os.Getpid() != 1 {
		return false
	}
	_, err := os.Stat("/" + guestSpec)
	return err == nil
}
