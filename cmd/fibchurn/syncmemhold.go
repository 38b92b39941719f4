package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// How long the parent waits for a watchdog: to set the value, beyond the wait for the
// lock; to put it back; and to end when killed.
const (
	readyPatience   = 10 * time.Second
	releasePatience = 2 * time.Second
	killPatience    = 2 * time.Second
)

// maxWatchdogs bounds how often a watchdog that was killed is replaced.
const maxWatchdogs = 10

// A watchdog is the process that holds fib_sync_mem, as its parent sees it.
type watchdog struct {
	cmd     *exec.Cmd
	control *os.File            // to be closed: the watchdog puts the value back and ends
	words   <-chan watchdogWord // closed when it has no more to say
	ended   chan struct{}       // closed; from then on status is there
	status  error               // of exec.Cmd.Wait
}

// startWatchdog executes this program as a watchdog, in a session of its own, out
// of reach of the terminal's signals.
func startWatchdog(r syncMemRecord) (*watchdog, error) {
	argument, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	controlled, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlled.Close()
	report, reporter, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer reporter.Close()
	cmd := exec.Command("/proc/self/exe", watchdogArgument, string(argument))
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.ExtraFiles = []*os.File{controlled, reporter} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		control.Close()
		report.Close()
		return nil, err
	}
	words := make(chan watchdogWord, 8) // it has less to say
	w := &watchdog{cmd: cmd, control: control, words: words, ended: make(chan struct{})}
	go func() {
		defer report.Close()
		for from := json.NewDecoder(report); ; {
			var word watchdogWord
			if from.Decode(&word) != nil {
				break
			}
			words <- word
		}
		close(words)
		w.status = cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

// wait waits for the watchdog's end. In time is false where it has not ended.
func (w *watchdog) wait(patience time.Duration) (status error, inTime bool) {
	select {
	case <-w.ended:
		return w.status, true
	case <-time.After(patience):
		return nil, false
	}
}

// kill ends a watchdog that does not answer. It is a child that has not been waited
// for, so that its number is no other's.
func (w *watchdog) kill() error {
	if err := w.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if _, inTime := w.wait(killPatience); !inTime {
		return fmt.Errorf("process %d does not end when killed", w.cmd.Process.Pid)
	}
	return nil
}

// A syncMemHold is a change of fib_sync_mem as the process that measures sees it.
type syncMemHold struct {
	record    syncMemRecord
	stderr    io.Writer
	dog       *watchdog
	releasing chan struct{} // closed by release
	guarded   chan struct{} // closed by guard; from then on all is release's
	lost      error         // why there is no watchdog any more
	deaths    []string      // of watchdogs that were replaced
}

func (h *syncMemHold) say(format string, a ...any) {
	fmt.Fprintf(h.stderr, "fibchurn: "+format+"\n", a...)
}

// begin has a watchdog set the value.
func (h *syncMemHold) begin() error {
	dog, err := startWatchdog(h.record)
	if err != nil {
		return fmt.Errorf("start the process that puts net.ipv4.fib_sync_mem back: %w", err)
	}
	h.dog = dog
	if err := h.ready(dog); err != nil {
		dog.control.Close()
		_, inTime := dog.wait(releasePatience)
		if h.record.Before != 0 { // it may have been changed
			err = errors.Join(err, h.putBack(inTime))
		}
		if !inTime {
			err = errors.Join(err, dog.kill())
		}
		return err
	}
	return nil
}

// ready waits until the value is set.
func (h *syncMemHold) ready(dog *watchdog) error {
	late := time.After(lockPatience + readyPatience)
	for {
		select {
		case w, more := <-dog.words:
			switch {
			case !more:
				status, _ := dog.wait(killPatience)
				return fmt.Errorf("the process that sets net.ipv4.fib_sync_mem %s before it had done so", describeEnd(status))
			case w.Busy:
				return noSyncMem("another fibchurn holds it", "wait until that has ended")
			case w.Err != "":
				return fmt.Errorf("set net.ipv4.fib_sync_mem: %s", w.Err)
			case w.Theirs != 0:
				return h.changed(w.Theirs)
			case w.Earlier != nil:
				h.say("an earlier fibchurn (process %d) was killed and had left net.ipv4.fib_sync_mem at %d; it was put back to %d first",
					w.Earlier.PID, w.Earlier.Set, w.Earlier.Before)
			case w.Before != 0:
				h.record.Before = w.Before
			case w.Unrecorded != "":
				h.say("that net.ipv4.fib_sync_mem was %d is recorded nowhere: %s", h.record.Before, w.Unrecorded)
			case w.Ready:
				return nil
			}
		case <-late:
			return fmt.Errorf("the process that sets net.ipv4.fib_sync_mem has not done so within %v", lockPatience+readyPatience)
		}
	}
}

// changed is the error of a value that did not last.
func (h *syncMemHold) changed(now int) error {
	return fmt.Errorf("net.ipv4.fib_sync_mem was set to %d by something else; not all of these figures are of --sync-mem %d", now, h.record.Set)
}

// guard puts another watchdog in the place of one that is killed before release. The
// value stays as it is meanwhile.
func (h *syncMemHold) guard() {
	defer close(h.guarded)
	for range maxWatchdogs {
		select {
		case <-h.releasing:
			return
		case <-h.dog.words: // it says nothing unasked: this is its end
		}
		select {
		case <-h.releasing: // it may have been this that ended it
			return
		default:
		}
		h.dog.control.Close()
		status, _ := h.dog.wait(killPatience)
		death := describeEnd(status) + " during the session"
		dog, err := startWatchdog(h.record)
		if err == nil {
			err = h.ready(dog)
		}
		if err == nil {
			h.dog, h.deaths = dog, append(h.deaths, death+"; the value stayed, and another took its place")
			continue
		}
		if dog != nil {
			dog.control.Close()
			err = errors.Join(err, dog.kill())
		}
		if now, readErr := readSyncMem(); readErr != nil || now != h.record.Set {
			h.lost = fmt.Errorf("the process that puts net.ipv4.fib_sync_mem back %s, and none could take its place: %w", death, err)
			return
		}
		h.deaths = append(h.deaths, fmt.Sprintf("%s; the value stayed, and the next one failed: %v", death, err))
		if dog == nil {
			return // release finds the one before dead
		}
		h.dog = dog // whose end is the next to be seen
	}
}
