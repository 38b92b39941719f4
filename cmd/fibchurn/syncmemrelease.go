package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// release has the value put back, does it itself where the watchdog cannot, and waits
// for neither longer than the patience. Signals that would end this process wait.
func (h *syncMemHold) release() error {
	signals := make(chan os.Signal, 1)
	notifyEnd(signals)
	defer signal.Stop(signals)
	close(h.releasing)
	<-h.guarded
	for _, death := range h.deaths {
		h.say("the process that puts net.ipv4.fib_sync_mem back %s", death)
	}
	lasted := h.lost
	if now, err := readSyncMem(); err == nil && now != h.record.Set && lasted == nil {
		lasted = h.changed(now)
	}
	if err := errors.Join(lasted, h.restore()); err != nil {
		return &syncMemError{err}
	}
	return nil
}

// A syncMemError is a value that did not last or is not put back: a failure whatever
// became of the session.
type syncMemError struct{ err error }

func (e *syncMemError) Error() string { return e.err.Error() }
func (e *syncMemError) Unwrap() error { return e.err }

// restore puts the value back.
func (h *syncMemHold) restore() error {
	if h.lost != nil {
		return h.putBack(true)
	}
	h.dog.control.Close()
	status, inTime := h.dog.wait(releasePatience)
	if inTime && status == nil {
		return nil
	}
	err := h.putBack(inTime)
	end := describeEnd(status)
	if !inTime {
		end = fmt.Sprintf("had not done so after %v, and was killed", releasePatience)
		err = errors.Join(err, h.dog.kill())
	} else {
		for w := range h.dog.words {
			if w.Err != "" {
				end += ": " + w.Err
			}
		}
	}
	if now, readErr := readSyncMem(); err == nil && readErr == nil {
		h.say("the process that puts net.ipv4.fib_sync_mem back %s; fibchurn has done it: it is %d", end, now)
	} else {
		err = fmt.Errorf("the process that puts net.ipv4.fib_sync_mem back %s; %w", end, err)
	}
	return err
}

// putBack does what the watchdog has not done. The lock of one that is gone is to be
// taken first.
func (h *syncMemHold) putBack(gone bool) error {
	if gone {
		lock, err := lockSyncMem()
		if err == nil {
			defer lock.Close()
		} else if other, readErr := readSyncMemRecord(syncMemRecordFile); readErr == nil && other != h.record {
			return fmt.Errorf("another fibchurn (process %d) has it now", other.PID) // and began with putting it back
		}
	}
	if err := h.record.putBack(syncMemRecordFile); err != nil {
		return fmt.Errorf("net.ipv4.fib_sync_mem was %d before: %w; to put it back: %s", h.record.Before, err, h.record.toPutBack())
	}
	return nil
}

// describeEnd says how a process ended, as a predicate.
func describeEnd(status error) string {
	var exit *exec.ExitError
	if !errors.As(status, &exit) {
		return "has ended"
	}
	if wait := exit.Sys().(syscall.WaitStatus); wait.Signaled() {
		return fmt.Sprintf("was killed (signal %d, %v)", wait.Signal(), wait.Signal())
	}
	return fmt.Sprintf("has ended with exit code %d", exit.ExitCode())
}
