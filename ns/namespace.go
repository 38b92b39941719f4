// Package ns makes throwaway network namespaces and reads what /proc/net says
// inside them.
//
// A Namespace is anonymous: it has no name and no mount, and lives only through
// one locked thread and the descriptors of this process. However the process
// ends, the kernel then removes the namespace with everything in it.
package ns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// A Namespace is a network namespace of this process's own, with its loopback
// interface up. Its thread runs everything that depends on being inside.
type Namespace struct {
	file  *os.File    // /proc/thread-self/ns/net of its thread
	calls chan func() // work for the thread
	close sync.Once
}

// New makes a network namespace. Without the right to (CAP_SYS_ADMIN) or on a
// kernel without network namespaces the error is an *UnsupportedError.
func New() (*Namespace, error) {
	n := &Namespace{calls: make(chan func())}
	ready := make(chan error, 1)
	go n.thread(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	if err := n.bringUpLoopback(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// thread owns the namespace's OS thread. It never unlocks it, so the Go runtime
// ends the thread with the goroutine and no other goroutine can come to run in
// the namespace by accident.
func (n *Namespace) thread(ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The main thread must stay where it is, for /proc/self means it. While
		// this goroutine keeps it occupied, the next one gets another.
		elsewhere := make(chan error, 1)
		go n.thread(elsewhere)
		ready <- <-elsewhere
		runtime.UnlockOSThread()
		return
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		ready <- unshareError(err)
		return
	}
	file, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		ready <- fmt.Errorf("open the new network namespace: %w", err)
		return
	}
	n.file = file
	ready <- nil
	for call := range n.calls {
		call()
	}
}

func unshareError(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return &UnsupportedError{"a network namespace", "this user may not make one", "run as root, or allow user namespaces (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"}
	case errors.Is(err, unix.EINVAL):
		return &UnsupportedError{"a network namespace", "the kernel has none", "use a kernel with CONFIG_NET_NS"}
	case errors.Is(err, unix.ENOSPC):
		return &UnsupportedError{"a network namespace", "the limit of namespaces is reached", "raise the sysctl user.max_net_namespaces"}
	}
	return fmt.Errorf("make a network namespace: %w", err)
}

// Do runs f on the namespace's thread and returns its error. Files under
// /proc/thread-self and /proc/sys/net that f opens are the namespace's. f must
// not call Do.
func (n *Namespace) Do(f func() error) error {
	done := make(chan error, 1)
	n.calls <- func() { done <- f() }
	return <-done
}

// Dial opens an rtnetlink socket in the namespace. The caller closes it.
func (n *Namespace) Dial() (*rtnl.Conn, error) { return rtnl.Dial(n.file) }

// Close ends the namespace's thread and drops this process's hold on the
// namespace. The kernel removes it, asynchronously, once the last socket in it
// is closed too.
func (n *Namespace) Close() error {
	var err error
	n.close.Do(func() {
		close(n.calls)
		err = n.file.Close()
	})
	return err
}

func (n *Namespace) bringUpLoopback() error {
	c, err := n.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	const loopback = 1 // LOOPBACK_IFINDEX, include/net/flow.h
	var b rtnl.Batch
	if err := b.SetLink(loopback, true); err != nil {
		return err
	}
	out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	return nil
}

// SetSysctl writes a sysctl of the namespace, e.g. "net.ipv4.ip_forward".
func (n *Namespace) SetSysctl(name, value string) error {
	return n.Do(func() error {
		path := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("set sysctl %s: %w", name, err)
		}
		return nil
	})
}

// HasIPv6 reports whether the kernel has IPv6 in this namespace.
func (n *Namespace) HasIPv6() bool {
	return n.Do(func() error {
		_, err := os.Stat("/proc/thread-self/net/if_inet6")
		return err
	}) == nil
}
