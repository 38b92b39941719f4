package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// endSignals are the signals that end a session, but for those that this process
// was started with ignored, as nohup and the background jobs of a shell are: they
// stay ignored. (Of SIGTERM the Go runtime does not tell.)
func endSignals() (found []os.Signal) {
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(s) {
			found = append(found, s)
		}
	}
	return found
}

// notifyEnd passes the signals that end a session to c.
func notifyEnd(c chan<- os.Signal) {
	if signals := endSignals(); len(signals) > 0 { // of none, Notify takes all
		signal.Notify(c, signals...)
	}
}

// vanished reports whether err comes of a terminal that has gone: nothing can be written
// there (EIO), which may show before ended tells of the signal (SIGHUP) that comes with it.
func vanished(err error, ended func() bool) bool {
	if !errors.Is(err, unix.EIO) {
		return false
	}
	const patience = time.Second
	for begun := time.Now(); !ended() && time.Since(begun) < patience; {
		time.Sleep(10 * time.Millisecond)
	}
	return ended()
}

// interrupts turns the first signal to end into the end of stop, and the second
// into the end of abort; unless quiet, it says so. release gives the signals back.
func interrupts(stderr io.Writer, quiet bool) (stop, abort context.Context, release func()) {
	stop, cancelStop := context.WithCancel(context.Background())
	abort, cancelAbort := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	notifyEnd(signals)
	go func() {
		<-signals
		if !quiet {
			line := "fibchurn: stopping after the run in flight; once more to stop at once"
			if isTerminal(stderr) {
				line = "\n" + line // which shows ^C
			}
			fmt.Fprintln(stderr, line)
		}
		cancelStop()
		<-signals
		cancelAbort()
	}()
	return stop, abort, func() {
		signal.Stop(signals)
		cancelStop()
		cancelAbort()
	}
}
