package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// interrupts turns the first signal to end into the end of stop, and the second
// into the end of abort. release gives the signals back.
func interrupts(stderr io.Writer) (stop, abort context.Context, release func()) {
	stop, cancelStop := context.WithCancel(context.Background())
	abort, cancelAbort := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		<-signals
		fmt.Fprintln(stderr, "\nfibchurn: stopping after the run in flight; once more to stop at once")
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
