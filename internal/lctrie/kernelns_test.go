package lctrie

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
)

// firstLink and secondLink are the indexes of the links in the namespace.
const (
	firstLink  = 10
	secondLink = 11
)

// A kernel is a throwaway network namespace whose trie a model is compared with.
type kernel struct {
	t     *testing.T
	conn  *rtnetlink.Conn
	model *Trie

	operations, shapesCompared, nodesCompared int
}

// A step is one insert or delete of a route.
type step struct {
	prefix netip.Prefix
	remove bool
	link   uint32 // firstLink if 0
	local  bool   // in the local table, else in main
}

// newKernel moves the test into a fresh network namespace with two links that
// are up. The test's thread ends with the test, and the namespace with it.
func newKernel(t *testing.T) *kernel {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	lockWorkerThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal("unshare: ", err)
	}
	conn, err := rtnetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{t: t, conn: conn, model: New()}
	t.Cleanup(func() {
		conn.Close()
		t.Logf("%d operations; equal: %d shapes, %d tries node by node", k.operations, k.shapesCompared, k.nodesCompared)
	})
	k.addLink(firstLink)
	k.addLink(secondLink)
	return k
}

// lockWorkerThread locks the calling goroutine to a thread that is not the
// process' main thread, which could not end with its namespace. It is not
// unlocked again. Where the goroutine is on the main thread, others are locked
// to threads until one of them holds that one.
func lockWorkerThread() {
	release := make(chan struct{})
	defer close(release)
	for {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			return
		}
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			<-release
		}()
		runtime.UnlockOSThread()
		runtime.Gosched()
	}
}

func (k *kernel) addLink(index uint32) {
	k.t.Helper()
	err := k.conn.Link.New(&rtnetlink.LinkMessage{
		Index: index,
		Attributes: &rtnetlink.LinkAttributes{
			Name: fmt.Sprintf("link%d", index),
			Info: &rtnetlink.LinkInfo{Kind: "ifb"},
		},
	})
	if err != nil {
		k.t.Fatal("add link: ", err)
	}
	k.setLink(index, unix.IFF_UP)
}

func (k *kernel) setLink(index, flags uint32) {
	k.t.Helper()
	err := k.conn.Link.Set(&rtnetlink.LinkMessage{Index: index, Flags: flags, Change: unix.IFF_UP})
	if err != nil {
		k.t.Fatal("set link: ", err)
	}
}

// replay performs the steps in the kernel and in the model and compares the
// shapes after every so many, after each that changed a tnode, and at the end.
func (k *kernel) replay(steps []step, every int) {
	k.t.Helper()
	for i, s := range steps {
		e := k.perform(s)
		if i%every == 0 || len(e.Changes) > 0 || i == len(steps)-1 {
			k.compare(fmt.Sprintf("step %d of %d: %+v", i+1, len(steps), s))
		}
	}
}

// perform performs one step in the kernel and in the model.
func (k *kernel) perform(s step) Events {
	k.t.Helper()
	k.operations++
	inKernel, inModel := k.conn.Route.Add, k.model.Insert
	if s.remove {
		inKernel, inModel = k.conn.Route.Delete, k.model.Delete
	}
	if err := inKernel(s.message()); err != nil {
		k.t.Fatalf("%+v: %v", s, err)
	}
	e, err := inModel(s.prefix)
	if err != nil {
		k.t.Fatalf("%+v: %v", s, err)
	}
	return e
}

func (s step) message() *rtnetlink.RouteMessage {
	m := &rtnetlink.RouteMessage{
		Family:    unix.AF_INET,
		DstLength: uint8(s.prefix.Bits()),
		Table:     unix.RT_TABLE_MAIN,
		Protocol:  unix.RTPROT_STATIC,
		Scope:     unix.RT_SCOPE_LINK,
		Type:      unix.RTN_UNICAST,
		Attributes: rtnetlink.RouteAttributes{
			Dst:      net.IP(s.prefix.Addr().AsSlice()),
			OutIface: firstLink,
		},
	}
	if s.link != 0 {
		m.Attributes.OutIface = s.link
	}
	if s.local {
		m.Table = unix.RT_TABLE_LOCAL
	}
	return m
}

// flush takes the second link down and up again. The kernel flushes every table
// it has, the main table first; those that share the trie each walk all of it.
func (k *kernel) flush(dead, local func(netip.Prefix) bool) {
	k.t.Helper()
	k.operations++
	_, haveLocal := k.shapes()["Local"]
	k.setLink(secondLink, 0)
	k.model.Flush(func(p netip.Prefix) bool { return dead(p) && !local(p) })
	if haveLocal {
		k.model.Flush(func(p netip.Prefix) bool { return dead(p) && local(p) })
	}
	k.compare("flush")
	k.setLink(secondLink, unix.IFF_UP)
}

// unmerge adds a rule and compares both tables' tries.
func (k *kernel) unmerge(local func(netip.Prefix) bool) {
	k.t.Helper()
	table, priority := uint32(unix.RT_TABLE_MAIN), uint32(100)
	err := k.conn.Rule.Add(&rtnetlink.RuleMessage{
		Family:     unix.AF_INET,
		Action:     unix.FR_ACT_TO_TBL,
		Table:      unix.RT_TABLE_MAIN,
		Attributes: &rtnetlink.RuleAttributes{Table: &table, Priority: &priority},
	})
	if err != nil {
		k.t.Fatal("add rule: ", err)
	}
	k.operations++
	own, _, _ := k.model.Unmerge(local)
	shapes := k.shapes()
	for name, want := range map[string]Shape{"Main": k.model.Shape(), "Local": own.Shape()} {
		if !reflect.DeepEqual(shapes[name], want) {
			k.t.Fatalf("%s after unmerge:\nkernel %+v\nmodel  %+v", name, shapes[name], want)
		}
	}
}

// addressEntries are the entries of the first address of a subnet, in the order
// in which kernels from 5.14 on add them (fib_add_ifaddr); older ones add the
// subnet's own address as a broadcast entry too.
func addressEntries(subnet netip.Prefix) (host, prefix, broadcast netip.Prefix) {
	addr := subnet.Addr().As4()
	key := binary.BigEndian.Uint32(addr[:])
	last := key | (1<<(keyLength-subnet.Bits()) - 1)
	return prefixOf(key+1, 0), subnet, prefixOf(last, 0)
}

func (k *kernel) addAddress(subnet netip.Prefix) {
	k.t.Helper()
	host, prefix, broadcast := addressEntries(subnet)
	if err := k.conn.Address.New(addressMessage(host.Addr(), subnet.Bits())); err != nil {
		k.t.Fatal("add address: ", err)
	}
	k.insert(host, prefix, broadcast)
	k.operations++
	k.compare(fmt.Sprintf("address of %v added", subnet))
}

// insert inserts into the model only.
func (k *kernel) insert(prefixes ...netip.Prefix) {
	k.t.Helper()
	for _, p := range prefixes {
		if _, err := k.model.Insert(p); err != nil {
			k.t.Fatal(err)
		}
	}
}

// deleteAddress removes an address. The order of its entries is that of
// fib_del_ifaddr.
func (k *kernel) deleteAddress(subnet netip.Prefix) {
	k.t.Helper()
	host, prefix, broadcast := addressEntries(subnet)
	if err := k.conn.Address.Delete(addressMessage(host.Addr(), subnet.Bits())); err != nil {
		k.t.Fatal("delete address: ", err)
	}
	mustDelete(k.t, k.model, prefix, broadcast, host)
	k.operations++
	k.compare(fmt.Sprintf("address of %v deleted", subnet))
}

func addressMessage(addr netip.Addr, length int) *rtnetlink.AddressMessage {
	ip := net.IP(addr.AsSlice())
	return &rtnetlink.AddressMessage{
		Family:       unix.AF_INET,
		PrefixLength: uint8(length),
		Index:        secondLink,
		Attributes:   &rtnetlink.AddressAttributes{Address: ip, Local: ip},
	}
}

// compare compares the shape of the model with that of every table of the
// kernel, which share one trie, and small tries also node by node.
func (k *kernel) compare(after string) {
	k.t.Helper()
	const small = 100 // leaves
	want := k.model.Shape()
	for name, got := range k.shapes() {
		if !reflect.DeepEqual(got, want) {
			k.t.Fatalf("%s: %s:\nkernel %+v\n%s\nmodel %+v\n%s",
				after, name, got, k.nodes(), want, nodes(k.model.root, 0))
		}
	}
	k.shapesCompared++
	if want.Leaves > small {
		return
	}
	if got, want := k.nodes(), nodes(k.model.root, 0); got != want {
		k.t.Fatalf("%s:\nkernel:\n%s\nmodel:\n%s", after, got, want)
	}
	k.nodesCompared++
}

// nodes is the trie of the main table as fib_trie_seq_show writes it, without
// the prefixes of the leaves.
func (k *kernel) nodes() string {
	k.t.Helper()
	data, err := os.ReadFile("/proc/thread-self/net/fib_trie")
	if err != nil {
		k.t.Fatal(err)
	}
	main, _, _ := strings.Cut(string(data), "Local:\n")
	return regexp.MustCompile(`(?m)^(?: +/.*|Main:)\n`).ReplaceAllString(main, "")
}

// nodes writes the model as fib_trie_seq_show writes the kernel's trie: a
// tnode's path, bits, full and empty children.
func nodes(n *node, depth int) string {
	switch {
	case n == nil:
		return ""
	case n.isLeaf():
		return fmt.Sprintf("%*s|-- %v\n", 3*depth+2, "", prefixOf(n.key, 0).Addr())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%*s+-- %v %d %d %d\n", 3*depth+2, "", prefixOf(n.key, n.end()), n.bits, n.full, n.empty)
	for _, c := range n.child {
		text.WriteString(nodes(c, depth+1))
	}
	return text.String()
}

// shapes reads fib_triestat of the thread's own namespace: /proc/net is that of
// the process' main thread.
func (k *kernel) shapes() map[string]Shape {
	k.t.Helper()
	data, err := os.ReadFile("/proc/thread-self/net/fib_triestat")
	if err != nil {
		k.t.Fatal(err)
	}
	shapes, err := parseTriestat(string(data))
	if err != nil {
		k.t.Fatalf("%v in\n%s", err, data)
	}
	return shapes
}

// parseTriestat reads what fib_triestat_seq_show writes; it also checks the size
// in kB against SizeKB.
func parseTriestat(text string) (map[string]Shape, error) {
	head, tables, _ := strings.Cut(text, "\n")
	var leafBytes, tnodeBytes int
	if _, err := fmt.Sscanf(head, "Basic info: size of leaf: %d bytes, size of tnode: %d bytes.", &leafBytes, &tnodeBytes); err != nil {
		return nil, fmt.Errorf("%q: %w", head, err)
	}
	shapes := map[string]Shape{}
	block := regexp.MustCompile(`(?m)^(Main|Local|Id \d+):\n((?:\t.*\n)+)Null ptrs: (\d+)\nTotal size: (\d+)  kB\n`)
	for _, m := range block.FindAllStringSubmatch(tables, -1) {
		s, err := parseTable(m[2])
		if err != nil {
			return nil, err
		}
		s.NullPointers, _ = strconv.ParseInt(m[3], 10, 64)
		if size := fmt.Sprint(s.SizeKB(leafBytes, tnodeBytes)); size != m[4] {
			return nil, fmt.Errorf("size %s kB, want %s", m[4], size)
		}
		shapes[m[1]] = s
	}
	return shapes, nil
}

// parseTable reads the indented lines of one table.
func parseTable(text string) (Shape, error) {
	s := Shape{TnodesByBits: map[int]int64{}}
	var sizes string
	lines := strings.Split(text, "\n")
	if len(lines) != 8 {
		return s, fmt.Errorf("%d lines", len(lines))
	}
	for i, field := range []any{&s.AverageDepth, &s.MaxDepth, &s.Leaves, &s.Prefixes, &s.Tnodes, &sizes, &s.Pointers} {
		_, value, _ := strings.Cut(lines[i], ":")
		if field == any(&sizes) {
			sizes = lines[i]
			continue
		}
		if _, err := fmt.Sscan(value, field); err != nil {
			return s, fmt.Errorf("%q: %w", lines[i], err)
		}
	}
	for _, m := range regexp.MustCompile(`(\d+): (\d+)`).FindAllStringSubmatch(sizes, -1) {
		bits, _ := strconv.Atoi(m[1])
		s.TnodesByBits[bits], _ = strconv.ParseInt(m[2], 10, 64)
	}
	return s, nil
}
