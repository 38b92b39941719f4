package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/machine"
	"fibchurn/ns"
	"fibchurn/results"
)

// A loadWatch observes what else the machine did during a run.
type loadWatch struct {
	environment []results.Warning // what makes every run doubtful
	before      machine.Load
	used        time.Duration // CPU time of this process before the run
}

// Start takes the first snapshot.
func (l *loadWatch) Start(*ns.Namespace) (err error) {
	l.before = machine.Snapshot()
	l.used, err = processCPU()
	return err
}

// Stop adds the warnings of the environment and of the load to the record.
func (l *loadWatch) Stop(run *results.Run) error {
	used, err := processCPU()
	if err != nil {
		return err
	}
	run.Warnings = append(run.Warnings, l.environment...)
	run.Warnings = append(run.Warnings, machine.Snapshot().Since(l.before, used-l.used)...)
	return nil
}

func processCPU() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read this process's CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
