package ns_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/ns"
)

func newWatch(t *testing.T) *ns.Watch {
	t.Helper()
	w, err := ns.NewWatch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func newGroup(t *testing.T, n *ns.Namespace, count int) *ns.Group {
	t.Helper()
	g, cost, err := n.NewGroup(count, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Release() })
	if g.Len() != count || cost.Calls != int64(count) || cost.Wall <= 0 {
		t.Fatalf("%d namespaces, cost %+v", g.Len(), cost)
	}
	return g
}

// The end of one and of many namespaces is observed, after its beginning, and then
// no number of theirs is left.
func TestWatchSeesTheEnd(t *testing.T) {
	for _, count := range []int{1, 2, 30} {
		n, c := netnstest.New(t)
		w, g := newWatch(t), newGroup(t, n, count)
		if err := w.Follow(g.File(0), g.File(count-1)); err != nil {
			t.Fatal(err)
		}
		if err := w.Begin(time.Minute); err != nil {
			t.Fatal(err)
		}
		if cost, err := g.Release(); err != nil || cost.Calls != int64(count) {
			t.Fatalf("release: %+v, %v", cost, err)
		}
		began, ended, err := w.Gone(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if took := ended.Sub(began); took <= 0 || took > time.Minute {
			t.Errorf("%d namespaces took %v", count, took)
		}
		if left, err := c.NamespaceIDs(); err != nil || left != 0 {
			t.Errorf("%d numbers left, %v", left, err)
		}
	}
}

// A namespace that something holds is not gone, whether it is the first, the last or
// the starter's turn.
func TestWatchDoesNotSeeAnEndThatIsNone(t *testing.T) {
	for _, held := range []int{0, 2} {
		n, _ := netnstest.New(t)
		w, g := newWatch(t), newGroup(t, n, 3)
		if err := w.Follow(g.File(0), g.File(2)); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Dup(int(g.File(held).Fd()))
		if err != nil {
			t.Fatal(err)
		}
		holder := os.NewFile(uintptr(fd), "holder")
		defer holder.Close()
		if err := w.Begin(time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Release(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Gone(300 * time.Millisecond); !errors.Is(err, ns.ErrHeld) {
			t.Errorf("namespace %d is held, and the watch says %v", held, err)
		}
	}
}

// Every namespace of a group is a different one, none is this process's own, and the
// preparation runs inside.
func TestGroupsAreFresh(t *testing.T) {
	n, _ := netnstest.New(t)
	seen := map[uint64]bool{inode(t, "/proc/self/ns/net"): true}
	g, _, err := n.NewGroup(10, func() error {
		ino := inode(t, "/proc/thread-self/ns/net")
		if seen[ino] {
			t.Error("not a new namespace")
		}
		seen[ino] = true
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	c, err := g.Dial(9)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if links, err := c.Links(); err != nil || len(links) == 0 || !links[1] {
		t.Errorf("links %v, %v", links, err)
	}
}

// What goes wrong inside ends the making, and nothing stays open.
func TestGroupFailure(t *testing.T) {
	n, _ := netnstest.New(t)
	boom := errors.New("boom")
	made := 0
	g, _, err := n.NewGroup(10, func() error {
		if made++; made == 3 {
			return boom
		}
		return nil
	}, nil)
	if g != nil || !errors.Is(err, boom) || made != 3 {
		t.Errorf("%v, %v after %d", g, err, made)
	}
}

// More namespaces than this process may open files for are refused before any is
// made.
func TestGroupNeedsFiles(t *testing.T) {
	n, _ := netnstest.New(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	_, _, err := n.NewGroup(int(limit.Cur), func() error { t.Error("a namespace was made"); return errors.New("stop") }, nil)
	var unsupported *ns.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Error(err)
	}
}

func TestLoop(t *testing.T) {
	n, _ := netnstest.New(t)
	cost, err := n.Loop(4, 5, nil)
	if err != nil || cost.Calls != 20 || cost.Wall <= 0 || cost.System+cost.User <= 0 {
		t.Errorf("%+v, %v", cost, err)
	}
}
