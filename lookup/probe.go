package lookup

// A Probe asks the kernel one lookup at a time. Ask and Blank are called with the
// clock running and neither allocate nor wait; an error of theirs is a lookup that
// was lost, or one that the kernel refused to make. A probe belongs to the thread
// that opened it, inside the namespace.
type Probe interface {
	// Ask looks up key i of the probe's Keys.
	Ask(i int) error
	// Answer is what the last Ask learned. It is called after the clock was read.
	Answer() Answer
	// Blank is Ask without the lookup: the calibration.
	Blank() error
	Close() error
}
