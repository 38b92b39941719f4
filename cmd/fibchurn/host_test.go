package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// A hostState is all of the initial namespace that fibchurn must leave alone, and
// the namespaces with a name, one line a thing.
type hostState []string

func readHostState(t testing.TB) hostState {
	t.Helper()
	c, err := rtnetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var s hostState
	add := func(err error, format string, a ...any) {
		if err != nil {
			t.Fatal(err)
		}
		if format != "" {
			s = append(s, fmt.Sprintf(format, a...))
		}
	}
	links, err := c.Link.List()
	add(err, "")
	for _, l := range links {
		add(nil, "link %d %s flags %x mtu %d", l.Index, l.Attributes.Name, l.Flags, l.Attributes.MTU)
	}
	addresses, err := c.Address.List()
	add(err, "")
	for _, a := range addresses {
		add(nil, "address %s/%d on %d flags %x", a.Attributes.Address, a.PrefixLength, a.Index, a.Attributes.Flags)
	}
	routes, err := c.Route.List()
	add(err, "")
	for _, r := range routes {
		add(nil, "route %d %s/%d via %s dev %d table %d type %d proto %d metric %d", r.Family, r.Attributes.Dst, r.DstLength,
			r.Attributes.Gateway, r.Attributes.OutIface, r.Attributes.Table, r.Type, r.Protocol, r.Attributes.Priority)
	}
	rules, err := c.Rule.List()
	add(err, "")
	for _, r := range rules {
		text, err := json.Marshal(r)
		add(err, "rule %s", text)
	}
	neighbours, err := c.Neigh.List()
	add(err, "")
	for _, n := range neighbours {
		if n.State&unix.NUD_PERMANENT != 0 { // others come and go by themselves
			add(nil, "neighbour %d %s on %d flags %x", n.Family, n.Attributes.Address, n.Index, n.Flags)
		}
	}
	s = append(s, nexthops(t)...)
	s = append(s, sysctls(t)...)
	s = append(s, namedNamespaces(t)...)
	slices.Sort(s)
	return s
}

// nexthops are the nexthop objects and groups.
func nexthops(t testing.TB) []string {
	t.Helper()
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	messages, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETNEXTHOP, Flags: netlink.Request | netlink.Dump}, Data: make([]byte, unix.SizeofNhmsg),
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range messages {
		found = append(found, fmt.Sprintf("nexthop %x", m.Data))
	}
	return found
}

// sysctls are the readable ones of /proc/sys/net and /proc/sys/user.
func sysctls(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, dir := range []string{"/proc/sys/net", "/proc/sys/user"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if b, err := os.ReadFile(path); err == nil {
				found = append(found, path+" = "+strings.TrimSpace(string(b)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// namedNamespaces are the namespaces that a mount keeps.
func namedNamespaces(t testing.TB) []string {
	t.Helper()
	var found []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " - nsfs ") {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}

// mustBeAsBefore compares with an earlier state.
func mustBeAsBefore(t testing.TB, before hostState) {
	t.Helper()
	if diff := cmp.Diff(before, readHostState(t)); diff != "" {
		t.Errorf("the initial namespace has changed (-before +after)\n%s", diff)
	}
}

// liveNamespaces is the kernel's count of network namespaces in existence, held or
// not, to within a slab: the active objects of the cache net_namespace.
func liveNamespaces(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/slabinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "net_namespace" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("/proc/slabinfo has no net_namespace")
	return 0
}

// waitForNamespaces waits until the kernel has removed the namespaces that were
// left, but for as many as one slab's accounting may hide.
func waitForNamespaces(t testing.TB, before int) {
	t.Helper()
	const slack = 16
	for deadline := time.Now().Add(30 * time.Second); liveNamespaces(t) > before+slack; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d network namespaces exist, %d did before", liveNamespaces(t), before)
		}
	}
}
