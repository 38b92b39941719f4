package ns_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// inode identifies the calling thread's network namespace.
func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Ino
}

func TestNamespacesAreFresh(t *testing.T) {
	netnstest.Root(t)
	own := inode(t, "/proc/self/ns/net")
	seen := map[uint64]bool{own: true}
	for range 20 {
		n, err := ns.New()
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		err = n.Do(func() error {
			ino := inode(t, "/proc/thread-self/ns/net")
			if seen[ino] {
				t.Error("a namespace was handed out twice, or is the initial one")
			}
			seen[ino] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if inode(t, "/proc/self/ns/net") != own {
		t.Error("the main thread left its namespace")
	}
}

// No goroutine may come to run on a namespace's thread.
func TestThreadsStayApart(t *testing.T) {
	netnstest.Root(t)
	own := inode(t, "/proc/self/ns/net")
	for range 10 {
		n, err := ns.New()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if ino := inode(t, "/proc/thread-self/ns/net"); ino != own {
					t.Error("a goroutine ran inside the namespace")
				}
			})
		}
		wg.Wait()
		n.Close()
	}
}

func TestLoopbackIsUp(t *testing.T) {
	n, _ := netnstest.New(t)
	tables, err := n.Tables()
	if err != nil {
		t.Fatal(err)
	}
	// 127.0.0.0/8, 127.0.0.1/32 and 127.255.255.255/32
	if tables.IPv4 == nil || len(tables.IPv4.Tables) != 2 || tables.IPv4.Tables[0].Prefixes != 3 {
		t.Errorf("IPv4 tables of a fresh namespace: %+v", tables.IPv4)
	}
}

func TestSetSysctl(t *testing.T) {
	n, _ := netnstest.New(t)
	before, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"1", "0"} {
		if err := n.SetSysctl("net.ipv4.ip_forward", value); err != nil {
			t.Fatal(err)
		}
		err := n.Do(func() error {
			b, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
			if strings.TrimSpace(string(b)) != value {
				t.Errorf("ip_forward is %q, want %s", b, value)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
		if err != nil || string(after) != string(before) {
			t.Errorf("the initial namespace's ip_forward went from %q to %q, %v", before, after, err)
		}
	}
	if err := n.SetSysctl("net.ipv4.no_such_thing", "1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unknown sysctl: %v", err)
	}
}

func TestEveryKindThatThisKernelHas(t *testing.T) {
	netnstest.Root(t)
	works := 0
	for _, kind := range ns.Kinds() {
		err := ns.TryKind(kind)
		var unsupported *ns.UnsupportedError
		switch {
		case err == nil:
			works++
		case errors.As(err, &unsupported):
			t.Logf("%s: %v", kind, err)
		default:
			t.Errorf("%s: %v", kind, err)
		}
	}
	if works == 0 {
		t.Error("no link kind works")
	}
	if _, err := ns.ChooseKind("no-such-kind"); err == nil {
		t.Error("an unknown kind was accepted")
	}
}

// A link of a kind can be made at any index, and carries the index asked for.
func TestLinkIndexes(t *testing.T) {
	_, c := netnstest.New(t)
	var b rtnl.Batch
	var want []uint32
	for i := range 3 {
		l := ns.NewLink("veth", i)
		if err := l.Create(&b); err != nil {
			t.Fatal(err)
		}
		want = append(want, l.Index, l.Peer())
	}
	if out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll}); err != nil || out.Err() != nil {
		t.Fatal(err, out.Err())
	}
	links, err := c.Links()
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range want {
		if !links[index] {
			t.Errorf("no link with index %d: %v", index, links)
		}
	}
}
