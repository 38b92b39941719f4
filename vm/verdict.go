package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// verdict says how a boot went; received is what ended the reading of the channel.
func (b *boot) verdict(parent, ctx context.Context, h *hosted, words *console, received error) error {
	b.words = words.last()
	guest := func(f Fault, detail string) error {
		return &GuestError{Label: b.kernel.Label, Fault: f, Detail: detail, Console: b.words.tail, Torn: b.torn, Exit: b.outcome.Exit}
	}
	var garbled *GuestError
	switch {
	case errors.As(received, &garbled):
		return guest(garbled.Fault, garbled.Detail)
	case received != nil:
		return received
	case b.end != nil:
		return b.ended(guest)
	case parent.Err() != nil:
		return context.Cause(parent)
	}
	code, signal, started := h.exit()
	switch {
	case b.words.panic != "" && b.outcome.Release == "":
		return guest(BootPanic, b.words.panic)
	case b.words.oops != "":
		return guest(Oops, b.words.oops)
	case b.words.panic != "":
		return guest(Panic, b.words.panic)
	case b.fail != nil:
		return guest(NoStart, b.fail.Text)
	case b.words.qemu != "":
		return guest(NoStart, b.words.qemu)
	case errors.Is(context.Cause(ctx), errDeadline):
		return guest(Hang, b.hangs())
	case !started:
		return guest(NoStart, b.words.reason())
	case signal == syscall.SIGABRT && !b.words.kernel:
		return guest(NoStart, b.words.reason())
	case signal != 0:
		return guest(Killed, fmt.Sprintf("the machine got signal %d (%s)", signal, signal))
	case code != 0 && b.outcome.Release == "":
		return guest(NoStart, b.words.reason())
	}
	return guest(NoResult, b.words.end())
}

// hangs says how far a guest came.
func (b *boot) hangs() string {
	switch {
	case b.outcome.Release == "":
		return fmt.Sprintf("it did not come up within %v", b.machine.Timeout)
	case b.outcome.Runs == 0:
		return fmt.Sprintf("it came up, but did not end a run within %v", b.machine.Timeout)
	}
	return fmt.Sprintf("it did not end within %v; %d runs came", b.machine.Timeout, b.outcome.Runs)
}

// ended judges a guest whose command ended.
func (b *boot) ended(guest func(Fault, string) error) error {
	switch {
	case b.end.Runs != b.outcome.Runs:
		return guest(Garbled, fmt.Sprintf("%d of its %d runs came", b.outcome.Runs, b.end.Runs))
	case b.end.Exit != 0:
		return guest(Command, fmt.Sprintf("exit code %d", b.end.Exit))
	case len(b.complaints) > 0:
		return guest(Log, fmt.Sprintf("%d lines, the first: %s", len(b.complaints), b.complaints[0]))
	case b.outcome.Runs == 0 && !b.printed:
		return guest(NoResult, "its command ended well, but without a run")
	}
	return nil
}

// end is the last line.
func (w lastWords) end() string {
	if len(w.tail) == 0 {
		return "the console is empty"
	}
	return w.tail[len(w.tail)-1]
}

// reason is the first line in which QEMU speaks of itself, else the last line.
func (w lastWords) reason() string {
	for _, line := range w.tail {
		if text, found := strings.CutPrefix(line, qemuProgram+": "); found {
			return text
		}
	}
	return w.end()
}

// machineFailed says why QEMU could not even begin with the kernel, or nothing.
func (b *boot) machineFailed(err error) string {
	var failed *GuestError
	if errors.As(err, &failed) && failed.Fault == NoStart && !b.words.kernel && b.outcome.Release == "" {
		return failed.Detail
	}
	return ""
}
