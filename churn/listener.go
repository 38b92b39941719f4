package churn

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// MaxListeners bounds the listeners of a run: each has a thread.
const MaxListeners = 256

// A ListenerSpec says who listens to the route notifications of a run.
type ListenerSpec struct {
	Listeners int  `json:"listeners,omitempty"`      // sockets
	Slow      bool `json:"slow_listeners,omitempty"` // they read nothing before the end
}

// validate returns the first thing that is wrong, in the words of the command line.
func (s *ListenerSpec) validate() error {
	switch {
	case s.Listeners < 0 || s.Listeners > MaxListeners:
		return fmt.Errorf("--listeners %d: must be 0 to %d", s.Listeners, MaxListeners)
	case s.Slow && s.Listeners == 0:
		return errors.New("--slow: there are no --listeners")
	}
	return nil
}

// Listeners are an Observer: sockets that are subscribed to the namespace's route
// notifications (RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE), each read by a thread of
// its own as fast as that can, or not before the end. The kernel delivers to all of
// them inside the call that changes the table (rtnl_notify), and what a receive
// buffer has no room for is lost.
type Listeners struct {
	ListenerSpec
	Families []int // 4, 6: whose routes

	sockets []*listener
	ending  atomic.Bool // nothing more is to come
	readers sync.WaitGroup
}

// A listener is one socket and what came out of it.
type listener struct {
	*rtnl.Listener
	messages int64
	err      error
}

// Start opens the sockets and starts their readers.
func (l *Listeners) Start(n *ns.Namespace) error {
	l.sockets = nil
	l.ending.Store(false)
	var groups []uint32
	for _, family := range l.Families {
		groups = append(groups, map[int]uint32{4: unix.RTNLGRP_IPV4_ROUTE, 6: unix.RTNLGRP_IPV6_ROUTE}[family])
	}
	for range l.Listeners {
		s, err := n.Listen(groups...)
		if err != nil {
			return errors.Join(err, l.close())
		}
		l.sockets = append(l.sockets, &listener{Listener: s})
	}
	if !l.Slow {
		l.read()
	}
	return nil
}

// read starts the readers.
func (l *Listeners) read() {
	for _, s := range l.sockets {
		l.readers.Go(func() { s.read(&l.ending) })
	}
}

// read counts messages until there are no more and none are to come.
func (s *listener) read(ending *atomic.Bool) {
	for {
		last := ending.Load() // before the read: what is there now will be seen
		n, err := s.Read()
		s.messages += int64(n)
		if err != nil {
			s.err = err
			return
		}
		if n == 0 && last {
			return
		}
	}
}

// Stop reads what is left in the receive buffers and adds the sums to the record.
func (l *Listeners) Stop(run *results.Run) error {
	l.ending.Store(true)
	if l.Slow {
		l.read()
	}
	l.readers.Wait()
	sum := &results.Listeners{Sockets: len(l.sockets), Slow: l.Slow}
	var errs []error
	for _, s := range l.sockets {
		drops, err := s.Drops()
		size, sizeErr := s.ReceiveBuffer()
		errs = append(errs, s.err, err, sizeErr)
		sum.Messages += s.messages
		sum.Drops += drops
		sum.ReceiveBuffer = int64(size)
	}
	run.Listeners = sum
	return errors.Join(append(errs, l.close())...)
}

func (l *Listeners) close() error {
	var errs []error
	for _, s := range l.sockets {
		errs = append(errs, s.Close())
	}
	l.sockets = nil
	return errors.Join(errs...)
}
