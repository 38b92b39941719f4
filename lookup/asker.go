package lookup

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/monotonic"
)

// An asker is an instrument that asks one lookup a call from user space.
type asker struct {
	probe  Probe
	keys   *Keys
	key    int // next
	chain  bool
	ledger *ledger
}

// turn makes lookups back to back, or when they are due. An open loop measures
// from when a lookup was due, so that one that the kernel held up charges for
// those it held up in turn (coordinated omission).
func (a *asker) turn(t *turn) error {
	if t.pace.rate == 0 {
		return a.closed(t)
	}
	for i := int64(0); ; i++ {
		due := t.pace.due(i)
		if t.over(due) {
			return nil
		}
		waitUntil(t.clock, due)
		if t.over(due) { // the stretch has ended meanwhile
			return nil
		}
		asked := t.clock.Now()
		answered, err := a.one(t, asked)
		if err != nil {
			return err
		}
		t.record(answered - due)
		t.note(asked - due)
	}
}

func (a *asker) closed(t *turn) error {
	for {
		asked := t.clock.Now()
		if t.over(asked) {
			return nil
		}
		answered, err := a.one(t, asked)
		if err != nil {
			return err
		}
		t.record(answered - asked)
	}
}

// one makes one lookup, and files its answer after the clock was read.
func (a *asker) one(t *turn, asked int64) (answered int64, err error) {
	if t.blank {
		err = a.probe.Blank()
		return t.clock.Now(), err
	}
	err = a.probe.Ask(a.key)
	answered = t.clock.Now()
	t.tell(asked, answered)
	if err != nil {
		return answered, fmt.Errorf("lookup of %s: %w", a.keys.At(a.key), err)
	}
	answer := a.probe.Answer().pack()
	a.ledger.note(a.key, answer, asked, answered)
	a.key++
	if a.chain {
		a.key += int(answer>>32) & 7 // the interface
	}
	if a.key >= a.keys.Len() {
		a.key = 0
	}
	return answered, nil
}

// note counts a lookup that was asked late by more than an interval.
func (t *turn) note(late int64) {
	if !t.blank && late > int64(time.Second)/t.pace.rate {
		t.sheet.late++
	}
}

// spin is how long before it is due a lookup is waited for by reading the clock,
// in ns: a timer wakes a thread later than it was asked to.
const spin = 150_000

// waitUntil returns when it is due, at once where that is past.
func waitUntil(c *monotonic.Clock, due int64) {
	for {
		left := due - c.Now()
		if left <= 0 {
			return
		}
		if left > 2*spin {
			wait := unix.NsecToTimespec(left - spin)
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &wait, nil) // a signal: look again
		}
	}
}

func (a *asker) drain(f func(report)) { a.ledger.drain(f) }
func (a *asker) last(f func(report))  { a.ledger.last(f) }
func (a *asker) unkept() int64        { return a.ledger.unkept }
func (a *asker) close() error         { return a.probe.Close() }
