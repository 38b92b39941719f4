package ns

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// Numbers that a Watch gives to the namespaces whose end it is told of.
const (
	starterID = 1 + iota
	firstID
	lastID
	markerID
)

// A Watch observes how long the kernel takes to dismantle network namespaces that
// this process lets go.
//
// The kernel dismantles namespaces on one ordered work queue, all that wait in one
// round (cleanup_net, net/core/net_namespace.c). A round begins by withdrawing the
// numbers that other namespaces have for those it takes (unhash_nsid,
// RTM_DELNSID), and ends with a wait for all RCU callbacks and the release of the
// memory. So the beginning of a round can be observed, and with it the end of the
// round before, to its last instruction. A Watch therefore lets go, in this order:
// a starter, whose round keeps the queue busy until all others wait; those that are
// to be measured, which fall into the next round; and when that has begun a marker,
// which falls into the one after it.
//
// Both ends of the interval are observed in the same way, so that the delay of a
// notification cancels but for its jitter: docs/netns.md has figures. Namespaces of
// others in the same round add to it. The marker's own dismantling is still under
// way afterwards.
type Watch struct {
	home            *Namespace // where the notifications arrive
	starter, marker *Group
	followed        int // namespaces with numbers of their own
	socket          int
}

// NewWatch prepares a watch for one use.
func NewWatch() (_ *Watch, err error) {
	w := &Watch{socket: -1}
	if w.home, err = New(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if w.starter, err = w.spare(starterID); err != nil {
		return nil, err
	}
	if w.marker, err = w.spare(markerID); err != nil {
		return nil, err
	}
	return w, w.home.Do(w.listen)
}

// spare makes a namespace that has a number.
func (w *Watch) spare(id int32) (*Group, error) {
	g, _, err := w.home.NewGroup(1, nil, nil)
	if err != nil {
		return nil, err
	}
	return g, w.number(g.File(0), id)
}

// listen subscribes to withdrawn numbers.
func (w *Watch) listen() (err error) {
	w.socket, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open a socket for notifications: %w", err)
	}
	group := uint32(1) << (unix.RTNLGRP_NSID - 1)
	if err := unix.Bind(w.socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: group}); err != nil {
		return fmt.Errorf("subscribe to namespace notifications: %w", err)
	}
	return nil
}

// number gives a namespace a number in w.home.
func (w *Watch) number(netns *os.File, id int32) error {
	c, err := w.home.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	var b rtnl.Batch
	if err := b.NewNamespaceID(netns, id); err != nil {
		return err
	}
	out, err := c.Send(&b, rtnl.Options{})
	if err == nil {
		err = out.Err()
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &UnsupportedError{"an observed end of network namespaces", "the kernel has no namespace numbers", "use Linux 4.0 or later"}
	}
	if err != nil {
		return fmt.Errorf("number a network namespace: %w", err)
	}
	return nil
}

// Follow names the namespaces that will be let go first and last, which may be one.
// The kernel takes the last first or the first first, as its version has it.
func (w *Watch) Follow(first, last *os.File) error {
	w.followed = 1
	if err := w.number(first, firstID); err != nil || first == last {
		return err
	}
	w.followed = 2
	return w.number(last, lastID)
}

// Begin makes the queue busy with the starter: once it returns, every round before
// has ended, and what is let go now waits for the starter's to end, some
// milliseconds. The error wraps ErrHeld where that did not happen within patience.
func (w *Watch) Begin(patience time.Duration) error {
	if _, err := w.starter.Release(); err != nil {
		return fmt.Errorf("let the starter go: %w", err)
	}
	_, err := w.withdrawn(time.Now().Add(patience), starterID)
	return err
}

// ErrHeld is returned where namespaces are not gone in time: something holds one.
var ErrHeld = errors.New("the network namespaces are not gone; something holds one")

// Gone waits until the namespaces that Follow named are gone, and with them all
// that were let go between them. It returns when the kernel began on the first of
// them and when it was done with the last. The error wraps ErrHeld where that did
// not happen within patience. The goroutine must be locked to its thread.
func (w *Watch) Gone(patience time.Duration) (began, ended time.Time, err error) {
	deadline := time.Now().Add(patience)
	for i := range w.followed {
		seen, err := w.withdrawn(deadline, firstID, lastID)
		if err != nil {
			return began, ended, err
		}
		if i == 0 {
			began = seen
		}
	}
	if _, err := w.marker.Release(); err != nil {
		return began, ended, fmt.Errorf("let the marker go: %w", err)
	}
	ended, err = w.withdrawn(deadline, markerID)
	return began, ended, err
}

// withdrawn waits, urgently, for the notification that one of the numbers is withdrawn.
func (w *Watch) withdrawn(deadline time.Time, ids ...int32) (time.Time, error) {
	var seen time.Time
	var err error
	urgently(func() { seen, err = w.receive(deadline, ids) })
	return seen, err
}

func (w *Watch) receive(deadline time.Time, ids []int32) (time.Time, error) {
	var buf [4096]byte
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return time.Time{}, ErrHeld
		}
		timeout := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
		if err := unix.SetsockoptTimeval(w.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
			return time.Time{}, fmt.Errorf("limit the wait: %w", err)
		}
		n, _, err := unix.Recvfrom(w.socket, buf[:], 0)
		seen := time.Now()
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return time.Time{}, fmt.Errorf("wait for the end of a network namespace: %w", err)
		}
		if got, ok := rtnl.WithdrawnNamespaceID(buf[:n]); ok && slices.Contains(ids, got) {
			return seen, nil
		}
	}
}

// Close releases what the watch holds.
func (w *Watch) Close() error {
	var errs []error
	if w.socket >= 0 {
		errs = append(errs, unix.Close(w.socket))
	}
	for _, g := range []*Group{w.starter, w.marker} {
		if g != nil {
			_, err := g.Release()
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, w.home.Close())...)
}
