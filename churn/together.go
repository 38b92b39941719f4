package churn

import (
	"errors"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// Together makes one observer of several: as an instrument of a session they watch the
// same runs.
type Together []Observer

// Start starts all, or none.
func (all Together) Start(n *ns.Namespace) error {
	for i, o := range all {
		if err := o.Start(n); err != nil {
			return errors.Join(err, all[:i].Stop(&results.Run{}))
		}
	}
	return nil
}

// Stop stops all.
func (all Together) Stop(run *results.Run) error {
	var errs []error
	for _, o := range all {
		errs = append(errs, o.Stop(run))
	}
	return errors.Join(errs...)
}

// Phase tells those that are PhaseObservers.
func (all Together) Phase(name string) (rtnl.Witness, func() error, error) {
	return (&execution{observers: all}).watching(name)
}
