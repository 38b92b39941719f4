package lookup

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// A bed is a namespace with a link, and the routes of a set through it.
type bed struct {
	n    *ns.Namespace
	c    *rtnl.Conn
	link ns.Link
	set  *prefixes.Set
	o    *Oracle
}

// newBed fills the main table. What it does not make the tests make themselves.
func newBed(t testing.TB, f prefixes.Family, l prefixes.Layout, count int) *bed {
	t.Helper()
	n, c := netnstest.New(t)
	for _, s := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
		if err := n.SetSysctl(s, "1"); err != nil {
			t.Fatal(err)
		}
	}
	b := &bed{n: n, c: c, link: netnstest.Link(t, c)}
	set, err := prefixes.Generate(l, f, count, 1)
	if err != nil {
		t.Fatal(err)
	}
	b.set = set
	b.routes(t, set, unix.RT_TABLE_MAIN)
	if b.o, err = NewOracle(set, Route{Unicast, b.link.Index}); err != nil {
		t.Fatal(err)
	}
	return b
}

// routes adds a route to every prefix of set to a table.
func (b *bed) routes(t testing.TB, set *prefixes.Set, table uint32) {
	t.Helper()
	b.each(t, set, rtnl.NewRoute, table)
}

// withdraw removes them.
func (b *bed) withdraw(t testing.TB, set *prefixes.Set) {
	t.Helper()
	b.each(t, set, rtnl.DelRoute, unix.RT_TABLE_MAIN)
}

func (b *bed) each(t testing.TB, set *prefixes.Set, template func(rtnl.Route) (*rtnl.Template, error), table uint32) {
	t.Helper()
	request, err := template(rtnl.Route{Family: int(set.Family()), Table: table, Index: b.link.Index})
	if err != nil {
		t.Fatal(err)
	}
	var batch rtnl.Batch
	for i, p := range set.All() {
		batch.AppendPrefix(request, p)
		if batch.Len() == 4096 || i == set.Len()-1 {
			b.send(t, &batch)
			batch.Reset()
		}
	}
}

func (b *bed) send(t testing.TB, batch *rtnl.Batch) {
	t.Helper()
	out, err := b.c.Send(batch, rtnl.Options{Ack: rtnl.AckLast})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// address gives the link an address.
func (b *bed) address(t testing.TB, text string) {
	t.Helper()
	request, err := rtnl.NewAddress(int(b.set.Family()), b.link.Index)
	if err != nil {
		t.Fatal(err)
	}
	var batch rtnl.Batch
	batch.AppendPrefix(request, netip.MustParsePrefix(text))
	b.send(t, &batch)
}

// spec is the default one for the bed.
func (b *bed) spec() *Spec {
	s := DefaultSpec()
	s.Family = int(b.set.Family())
	s.KeyCount = 4096
	s.OIF = b.link.Index
	return &s
}

func prefixOf(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// threads counts this process's threads in other namespaces than its own.
func threads(t *testing.T) int {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, task := range tasks {
		if of, err := os.Readlink(task); err == nil && of != own {
			n++
		}
	}
	return n
}
