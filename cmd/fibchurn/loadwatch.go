package main

import (
	"fibchurn/internal/machine"
	"fibchurn/ns"
	"fibchurn/results"
)

// A loadWatch observes what else the machine did during a run.
type loadWatch struct {
	environment []results.Warning // what makes every run doubtful
	history     machine.History   // of the session
	before      machine.Load
}

// newLoadWatch is that of a session that begins.
func newLoadWatch(environment []results.Warning) *loadWatch {
	l := &loadWatch{environment: environment}
	l.history.Take()
	return l
}

// Start takes the first snapshot of a run.
func (l *loadWatch) Start(*ns.Namespace) error {
	l.before = l.history.Take()
	return nil
}

// Stop adds the warnings of the environment and of the load to the record.
func (l *loadWatch) Stop(run *results.Run) error {
	run.Warnings = append(run.Warnings, l.environment...)
	run.Warnings = append(run.Warnings, l.history.Disturbed(l.before)...)
	return nil
}
