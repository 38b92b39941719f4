package churn

import (
	"errors"
	"os"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// A tunSet holds the open files of a run's tun interfaces.
type tunSet struct{ files []*os.File }

// create makes the interfaces, timing the ioctl(2) of each alone.
func (t *tunSet) create(links []ns.Link, witness rtnl.Witness) (rtnl.Cost, error) {
	var total rtnl.Cost
	for _, l := range links {
		file, err := ns.PrepareTun(l)
		if err != nil {
			return total, err
		}
		t.files = append(t.files, file)
		cost, err := ns.AttachTun(file, l, witness)
		if err != nil {
			return total, err
		}
		total.Add(cost)
	}
	return total, nil
}

func (t *tunSet) close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	t.files = nil
	return errors.Join(errs...)
}
