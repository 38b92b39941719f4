package ns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// A Group is several network namespaces that nothing holds but one descriptor of
// this process each: no thread, no name, no mount. The loopback interface of each
// is as the kernel makes it, down.
type Group struct{ files []*os.File }

// NewGroup makes count namespaces, one after the other on a thread that ends in n,
// and returns what the unshare(2) calls took. prepare, where it is not nil, runs
// inside each, outside of the clock. watching, where it is not nil, is called on the
// thread.
func (n *Namespace) NewGroup(count int, prepare func() error, watching rtnl.Watching) (*Group, rtnl.Cost, error) {
	if err := MayHold(count); err != nil {
		return nil, rtnl.Cost{}, err
	}
	g := &Group{}
	var total rtnl.Cost
	err := n.onOwnThread(func() (err error) {
		var watch rtnl.Stopwatch
		watch.Calibrate()
		witness, end, err := watching.Begin()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		watch.Watch(witness)
		for range count {
			cost, err := unshareNet(&watch)
			if err != nil {
				return err
			}
			total.Add(cost)
			file, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				return fmt.Errorf("open network namespace %d of %d: %w", len(g.files)+1, count, err)
			}
			g.files = append(g.files, file)
			if prepare == nil {
				continue
			}
			if err := prepare(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		_, closeErr := g.Release()
		return nil, total, errors.Join(err, closeErr)
	}
	return g, total, nil
}

// Len is the number of namespaces.
func (g *Group) Len() int { return len(g.files) }

// File is the descriptor of namespace i.
func (g *Group) File(i int) *os.File { return g.files[i] }

// Dial opens an rtnetlink socket in namespace i, which holds the namespace until
// the caller closes it.
func (g *Group) Dial(i int) (*rtnl.Conn, error) { return rtnl.Dial(g.files[i]) }

// Release closes all descriptors, in order, and returns what that took: one call
// each. The kernel then dismantles the namespaces in its own time.
func (g *Group) Release() (rtnl.Cost, error) {
	var watch rtnl.Stopwatch
	watch.Start()
	var errs []error
	for _, file := range g.files {
		if err := file.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	cost := watch.Stop()
	cost.Calls = int64(len(g.files))
	g.files = nil
	return cost, errors.Join(errs...)
}

// Loop lets several threads make each namespaces one after the other, where making
// one lets go the one before, as parallel loops of unshare(1) do. When it returns
// all have been let go, at different times. The CPU time is that of all threads
// together; the wall time is from the start of the first to the end of the last.
// watching, where it is not nil, is called on each thread.
func (n *Namespace) Loop(threads, each int, watching rtnl.Watching) (rtnl.Cost, error) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	costs, errs := make([]rtnl.Cost, threads), make([]error, threads)
	for i := range threads {
		ready.Add(1)
		done.Go(func() {
			errs[i] = n.onOwnThread(func() (err error) {
				var watch rtnl.Stopwatch
				watch.Calibrate()
				witness, end, err := watching.Begin()
				ready.Done()
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, end()) }()
				watch.Watch(witness)
				<-start
				for range each {
					cost, err := unshareNet(&watch)
					if err != nil {
						return err
					}
					costs[i].Add(cost)
				}
				return nil
			})
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	var total rtnl.Cost
	for _, cost := range costs {
		total.Add(cost)
	}
	total.Wall = time.Since(began)
	return total, errors.Join(errs...)
}

// unshareNet moves the calling thread into a new network namespace, timed.
func unshareNet(watch *rtnl.Stopwatch) (rtnl.Cost, error) {
	watch.Start()
	err := unix.Unshare(unix.CLONE_NEWNET)
	cost := watch.Stop()
	if err != nil {
		return cost, unshareError(err)
	}
	return cost, nil
}

// onOwnThread runs f on a thread that f may move to other namespaces. The thread
// moves to n afterwards, so that it holds no other namespace, and ends.
func (n *Namespace) onOwnThread(f func() error) error {
	done := make(chan error, 1)
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			elsewhere := make(chan struct{}) // see Namespace.thread
			go func() {
				run()
				close(elsewhere)
			}()
			<-elsewhere
			runtime.UnlockOSThread()
			return
		}
		err := f()
		if homeErr := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); homeErr != nil {
			err = errors.Join(err, fmt.Errorf("leave a network namespace: %w", homeErr))
		}
		done <- err
	}
	go run()
	return <-done
}

// MayHold returns an *UnsupportedError where this process may not open as many files
// as a Group of count namespaces needs.
func MayHold(count int) error {
	const others = 64 // descriptors of everything else
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("find out how many files may be open: %w", err)
	}
	if uint64(count)+others > limit.Cur {
		return &UnsupportedError{
			What: fmt.Sprintf("%d network namespaces at a time", count),
			Why:  fmt.Sprintf("each takes a file descriptor, and this process may have %d", limit.Cur),
			Help: fmt.Sprintf("ulimit -n %d, or fewer namespaces", count+others),
		}
	}
	return nil
}
