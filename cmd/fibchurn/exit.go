package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/ns"
)

// Exit codes. 4 is kselftest's for a skip.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 4
	exitInterrupted = 130
)

// A usageError is a command line that cannot be what was meant.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usageErrorf(format string, a ...any) error {
	return &usageError{fmt.Sprintf(format, a...)}
}

// A childExit is the exit code of the program executed again in a user
// namespace, which has said all there was to say.
type childExit int

func (e childExit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitCode prints an error on one line and classifies it.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	var child childExit
	if errors.As(err, &child) {
		return int(child)
	}
	line := strings.NewReplacer("\n", "; ", "\t", `\t`).Replace(err.Error())
	fmt.Fprintln(stderr, "fibchurn:", shortened(harmless(line)))
	var usage *usageError
	var helpTopic cli.ExitCoder // the library's word for "help xyzzy"
	var process *exec.ExitError // of a child: it is an ExitCoder, too
	var unsupported *ns.UnsupportedError
	var syncMem *syncMemError
	switch {
	case errors.Is(err, churn.ErrStopped):
		return exitInterrupted
	case errors.As(err, &syncMem):
		return exitFailed
	case errors.As(err, &usage), errors.As(err, &helpTopic) && !errors.As(err, &process):
		return exitUsage
	case errors.As(err, &unsupported):
		return exitUnsupported
	}
	return exitFailed
}
