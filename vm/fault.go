package vm

import (
	"fmt"
	"strings"
)

// An UnsupportedError says that this machine cannot boot what was asked for.
type UnsupportedError struct {
	What string // what was wanted
	Why  string // what is missing
	Help string // what would help
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s; what would help: %s", e.What, e.Why, e.Help)
}

// A Fault is how a guest failed.
type Fault int

const (
	BootPanic Fault = iota + 1 // the kernel panicked before the command was started
	Panic                      // the kernel panicked later
	Oops                       // the kernel oopsed, or killed its own work for a bug
	Hang                       // the time was up
	NoResult                   // the machine ended without the guest's last message
	Killed                     // the machine was killed from outside
	NoStart                    // the machine or the guest's set-up failed
	Log                        // the command ended well, but the kernel complained
	Command                    // the command ended with another exit code than 0
	Garbled                    // the results channel carried what no guest sends
)

func (f Fault) String() string {
	switch f {
	case BootPanic:
		return "panicked at boot"
	case Panic:
		return "panicked"
	case Oops:
		return "oopsed"
	case Hang:
		return "hangs"
	case NoResult:
		return "ended without a result"
	case Killed:
		return "was killed"
	case NoStart:
		return "did not start"
	case Log:
		return "complained in its log"
	case Command:
		return "command failed"
	case Garbled:
		return "sent what cannot be read"
	}
	return "failed"
}

// A GuestError is a guest that failed. Its text is one line; Console has the rest.
type GuestError struct {
	Label   string // of the kernel
	Fault   Fault
	Detail  string   // what was seen, e.g. "Kernel panic - not syncing: ..."
	Console []string // the last lines of the console, 20 at most
	Exit    int      // Command: the exit code
	Torn    bool     // a run was under way and is lost
}

func (e *GuestError) Error() string {
	text := fmt.Sprintf("kernel %s %s", e.Label, e.Fault)
	if e.Detail != "" {
		text += ": " + strings.ReplaceAll(e.Detail, "\n", "; ")
	}
	if e.Torn {
		text += " (an incomplete last line was dropped)"
	}
	return text
}
