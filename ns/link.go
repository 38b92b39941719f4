package ns

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// Kinds returns the link kinds fibchurn can make, in the order in which KindAuto
// tries them: dummy does nothing but exist, each later one brings more of its own.
func Kinds() []string { return []string{"dummy", "ifb", "veth", "bridge", "tun"} }

// KindAuto stands for the first of Kinds that works here.
const KindAuto = "auto"

// firstIndex is the index of the first link of a run. The kernel gives out its
// own from 1 on, so a namespace's few others are out of the way.
const firstIndex = 1 << 16

// peerOffset separates the indexes of veth peers from those of the links.
const peerOffset = 1 << 20

// A Link is an interface that a run makes: name and index are fixed before it
// exists, so that every request can be encoded in advance.
type Link struct {
	Kind  string
	Name  string
	Index uint32
}

// NewLink is the i-th link of a run.
func NewLink(kind string, i int) Link {
	return Link{Kind: kind, Name: fmt.Sprintf("fc%d", i), Index: firstIndex + uint32(i)}
}

// MaxLinks is how many links one run may have.
const MaxLinks = peerOffset - firstIndex

// Peer is the index of a veth's other end.
func (l Link) Peer() uint32 { return l.Index + peerOffset }

// Create appends the link's creation to b. Kind tun has no creation by netlink
// (tun_validate, drivers/net/tun.c); see OpenTun.
func (l Link) Create(b *rtnl.Batch) error {
	return b.NewLink(l.Kind, l.Name, l.Index, l.Name+"p", l.Peer())
}

// BringUp appends bringing the link up, and a veth's peer first, without which
// the link would have no carrier.
func (l Link) BringUp(b *rtnl.Batch) error {
	if l.Kind == "veth" {
		if err := b.SetLink(l.Peer(), true); err != nil {
			return err
		}
	}
	return b.SetLink(l.Index, true)
}

// TakeDown appends taking the link down.
func (l Link) TakeDown(b *rtnl.Batch) error { return b.SetLink(l.Index, false) }

// ChooseKind resolves KindAuto and checks any other kind by making one link of
// it in a namespace of its own; where the driver is a module the kernel loads it
// on that occasion (rtnl_newlink, net/core/rtnetlink.c). The error is an
// *UnsupportedError where the kernel has no such kind.
func ChooseKind(kind string) (string, error) {
	if kind != KindAuto {
		if !slices.Contains(Kinds(), kind) {
			return "", fmt.Errorf("unknown link kind %q", kind)
		}
		return kind, TryKind(kind)
	}
	var first error
	for _, k := range Kinds() {
		err := TryKind(k)
		if err == nil {
			return k, nil
		}
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) {
			return "", err
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// TryKind makes one link of a kind in a namespace of its own, and brings it up.
func TryKind(kind string) error {
	n, err := New()
	if err != nil {
		return err
	}
	defer n.Close()
	c, err := n.Dial()
	if err != nil {
		return err
	}
	defer c.Close()

	l := NewLink(kind, 0)
	var b rtnl.Batch
	if kind == "tun" {
		t, err := n.OpenTun(l)
		if err != nil {
			return err
		}
		defer t.Close()
	} else if err := l.Create(&b); err != nil {
		return err
	}
	if err := l.BringUp(&b); err != nil {
		return err
	}
	out, err := c.Send(&b, rtnl.Options{Ack: rtnl.AckAll})
	if err == nil {
		err = out.Err()
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return &UnsupportedError{
			What: "an interface of kind " + kind,
			Why:  err.Error(),
			Help: fmt.Sprintf("load the module %s or use a kernel with it, or --link-kind auto", kind),
		}
	}
	if err != nil {
		return fmt.Errorf("make an interface of kind %s: %w", kind, err)
	}
	return nil
}
