package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogArgument makes this program a watchdog of fib_sync_mem; a syncMemRecord
// follows. It is no flag: main sees to it before the command line is read.
const watchdogArgument = "--watch-fib-sync-mem"

// A watchdogWord is what a watchdog tells its parent, one JSON object a word.
type watchdogWord struct {
	Earlier    *syncMemRecord `json:"earlier,omitempty"`    // a killed fibchurn had left it so; it was put back
	Before     int            `json:"before,omitempty"`     // the value that is about to be changed
	Unrecorded string         `json:"unrecorded,omitempty"` // why there is no record of that
	Ready      bool           `json:"ready,omitempty"`      // the value is set
	Busy       bool           `json:"busy,omitempty"`       // another has the lock
	Theirs     int            `json:"theirs,omitempty"`     // what someone else has set since; it stays
	Err        string         `json:"error,omitempty"`
}

const syncMemFile = "/proc/sys/net/ipv4/fib_sync_mem"

// syncMemLock is an abstract socket that a watchdog is bound to as long as it holds
// the value. It belongs to the network namespace, as the sysctl does, and goes with
// the process, so a lock is never left behind.
const syncMemLock = "@fibchurn/net.ipv4.fib_sync_mem"

// lockPatience is how long a watchdog waits for one before it, whose fibchurn has
// ended, to put its value back.
const lockPatience = 2 * time.Second

// watchSyncMem is a watchdog's life: it sets fib_sync_mem, reports to descriptor 4,
// waits for the end of its parent or of the pipe at descriptor 3, and puts the value
// back. No signal but SIGKILL ends it before. It returns the exit code.
func watchSyncMem(argument string) int {
	signal.Ignore()
	control, report := os.NewFile(3, "control"), os.NewFile(4, "report")
	var record syncMemRecord
	if err := json.Unmarshal([]byte(argument), &record); err != nil || control == nil || report == nil {
		return exitUsage
	}
	words := json.NewEncoder(report)
	say := func(w watchdogWord) { _ = words.Encode(w) } // to a parent that may have ended
	// Where memory runs out the kernel should choose another process.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	lock, err := lockSyncMem()
	if errors.Is(err, unix.EADDRINUSE) {
		say(watchdogWord{Busy: true})
		return exitFailed
	}
	if err == nil {
		defer lock.Close()
		err = keepSyncMem(record, syncMemRecordFile, control, say)
	}
	if err != nil {
		say(watchdogWord{Err: err.Error()})
		return exitFailed
	}
	return exitOK
}

// keepSyncMem sets the value until the end of control. A record with the value before
// is of a watchdog that was killed: the value is set already.
func keepSyncMem(r syncMemRecord, file string, control io.Reader, say func(watchdogWord)) error {
	if r.Before == 0 {
		earlier, err := clearSyncMemRecord(file)
		if err != nil {
			return err
		}
		if earlier != nil {
			say(watchdogWord{Earlier: earlier})
		}
		if r.Before, err = readSyncMem(); err != nil {
			return err
		}
		say(watchdogWord{Before: r.Before})
		if err := r.write(file); err != nil {
			say(watchdogWord{Unrecorded: err.Error()})
		}
		if err := writeSyncMem(r.Set); err != nil {
			return errors.Join(err, r.drop(file))
		}
	} else if now, err := readSyncMem(); err != nil || now != r.Set {
		say(watchdogWord{Theirs: now})
		return err
	}
	say(watchdogWord{Ready: true})
	_, _ = io.Copy(io.Discard, control)
	return r.putBack(file)
}

// putBack sets the value from before, if the record's is found, and drops the record.
// What else is found is someone else's, and stays.
func (r syncMemRecord) putBack(file string) error {
	found, err := readSyncMem()
	if err == nil && found == r.Set {
		err = writeSyncMem(r.Before)
	}
	if err != nil {
		return err
	}
	return r.drop(file)
}

// lockSyncMem binds the lock.
func lockSyncMem() (lock net.Listener, err error) {
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		lock, err = net.Listen("unix", syncMemLock)
		if !errors.Is(err, unix.EADDRINUSE) || time.Now().After(deadline) {
			return lock, err
		}
	}
}

// syncMemLocked reports whether a process has the lock, without touching it.
func syncMemLocked() bool {
	sockets, err := os.ReadFile("/proc/net/unix")
	return err == nil && strings.Contains(string(sockets), " "+syncMemLock+"\n")
}
