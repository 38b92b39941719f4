package rtnl

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ack says which requests of a batch the kernel is asked to acknowledge. A
// request that fails is answered in any case, so an acknowledgement proves that
// all requests before it without an answer were carried out.
type Ack int

const (
	AckLast  Ack = iota // the last request of every call
	AckAll              // every request
	AckFinal            // the last request of the batch

	ackNone // for one call: no request
)

// ErrLost is returned where the kernel dropped answers (ENOBUFS,
// netlink_overrun) or sent fewer than it owed: nothing can be said about the
// requests of that call.
var ErrLost = errors.New("netlink answers were lost")

// A Failure is the kernel's refusal of one request.
type Failure struct {
	Request int        // index in the batch
	Errno   unix.Errno // what the kernel said
	Message string     // its extended acknowledgement, "" where it gave none
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Errno.Error()
	}
	return fmt.Sprintf("%s (%s)", f.Errno.Error(), f.Message)
}

// Unwrap makes errors.Is(err, unix.EEXIST) and the like work.
func (f *Failure) Unwrap() error { return f.Errno }

// An Outcome accounts for every request of a batch.
type Outcome struct {
	Cost     Cost
	Done     int       // requests the kernel carried out
	Failures []Failure // requests it refused, in order
}

// Err is nil where every request was carried out, else the first failure.
func (o *Outcome) Err() error {
	switch len(o.Failures) {
	case 0:
		return nil
	case 1:
		return &o.Failures[0]
	}
	return fmt.Errorf("%w, and %d more requests failed", &o.Failures[0], len(o.Failures)-1)
}

// Options say how a batch is sent.
type Options struct {
	PerCall int // most requests of one call; 0: as many as the socket's buffers allow
	Ack     Ack
	// Walls, where it is not nil, takes the wall time of every call; it must have
	// room for all of them.
	Walls []time.Duration
}

// Send sends the batch and reads the answers after each call. Requests that the
// kernel refuses are in the outcome; the error is for a call that failed as a
// whole and for lost answers. Nothing is allocated between the clock readings,
// nor at all where no request fails.
func (c *Conn) Send(b *Batch, opt Options) (Outcome, error) {
	var out Outcome
	for from := 0; from < b.Len(); {
		to := c.callEnd(b, from, opt.PerCall)
		first := c.seq + 1
		c.seq += uint32(to - from)
		ack := opt.Ack
		if ack == AckFinal && to < b.Len() {
			ack = ackNone
		}
		b.number(from, to, first, ack)
		wall := out.Cost.Wall
		if err := c.call(b.buf[b.start(from):b.ends[to-1]], &out.Cost); err != nil {
			return out, fmt.Errorf("send requests %d to %d: %w", from, to-1, err)
		}
		out.Cost.Requests += int64(to - from)
		if opt.Walls != nil {
			opt.Walls[out.Cost.Calls-1] = out.Cost.Wall - wall
		}
		failures := len(out.Failures)
		if err := c.answers(&out, first, from, to, ack); err != nil {
			return out, fmt.Errorf("requests %d to %d: %w", from, to-1, err)
		}
		out.Done += to - from - (len(out.Failures) - failures)
		from = to
	}
	return out, nil
}

// callEnd is the end of the call that starts at request from.
func (c *Conn) callEnd(b *Batch, from, perCall int) int {
	if perCall <= 0 || perCall > c.maxAnswers {
		perCall = c.maxAnswers
	}
	to := min(b.Len(), from+perCall)
	for to > from+1 && b.ends[to-1]-b.start(from) > c.maxBytes {
		to--
	}
	return to
}

// call is the timed region: one sendto(2). The system call is made through the
// scheduler-aware Syscall6, so that a call of seconds does not stall the rest of
// the program; the price is some 50 ns a call.
func (c *Conn) call(buf []byte, cost *Cost) error {
	c.watch.Start()
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(c.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	cost.Add(c.watch.Stop())
	switch {
	case errno != 0:
		return errno
	case int(n) != len(buf):
		return fmt.Errorf("the kernel took %d of %d bytes", n, len(buf))
	}
	return nil
}
