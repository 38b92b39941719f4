package ns

import "fmt"

// An UnsupportedError says that this kernel, machine or user cannot do what was
// asked: not a failure of a measurement, but a reason to skip it.
type UnsupportedError struct {
	What string // what was wanted, e.g. "an interface of kind dummy"
	Why  string // what is missing
	Help string // what would help
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s; what would help: %s", e.What, e.Why, e.Help)
}
