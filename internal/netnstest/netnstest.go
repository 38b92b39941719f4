// Package netnstest is for tests that need a network namespace of their own.
package netnstest

import (
	"os"
	"testing"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// Root skips a test that needs root where there is none, except in continuous
// integration (CI set), where it fails: there nothing may go untested.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this test must run as root in continuous integration")
	}
	t.Skip("needs root")
}

// New is a namespace with a socket in it, for the length of a test.
func New(t testing.TB) (*ns.Namespace, *rtnl.Conn) {
	t.Helper()
	Root(t)
	n, err := ns.New()
	if err != nil {
		t.Fatal(err)
	}
	c, err := n.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		n.Close()
	})
	return n, c
}

// Kind is the first kind of link that works here.
func Kind(t testing.TB) string {
	t.Helper()
	Root(t)
	kind, err := ns.ChooseKind(ns.KindAuto)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// Link makes a link of the first kind that works here, and brings it up.
func Link(t testing.TB, c *rtnl.Conn) ns.Link {
	t.Helper()
	l := ns.NewLink(Kind(t), 0)
	var b rtnl.Batch
	if err := l.Create(&b); err != nil {
		t.Fatal(err)
	}
	if err := l.BringUp(&b); err != nil {
		t.Fatal(err)
	}
	out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}
