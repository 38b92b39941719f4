package churn

import (
	"errors"
	"io/fs"
	"net/netip"
	"slices"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// quiet silences what the kernel would do on its own with new interfaces: in an
// IPv4 run they get no IPv6 at all, in an IPv6 run neither a link-local address nor
// router solicitations.
func quiet(n *ns.Namespace, families []int) error {
	if !slices.Contains(families, 6) {
		err := n.SetSysctl("net.ipv6.conf.default.disable_ipv6", "1")
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a kernel without IPv6
		}
		return err
	}
	if !n.HasIPv6() {
		return noIPv6()
	}
	if err := n.SetSysctl("net.ipv6.conf.default.accept_ra", "0"); err != nil {
		return err
	}
	const none = "1" // IN6_ADDR_GEN_MODE_NONE
	return n.SetSysctl("net.ipv6.conf.default.addr_gen_mode", none)
}

func noIPv6() error {
	return &ns.UnsupportedError{
		What: "IPv6", Why: "the kernel has none",
		Help: "boot without ipv6.disable=1, use a kernel with CONFIG_IPV6, or leave -6 out",
	}
}

// createLinks is the phase that makes links, which are all of one kind, in one
// batch; kind tun takes a call each, and leaves its files in tuns.
func createLinks(links []ns.Link, tuns *tunSet) *Phase {
	ph := &Phase{Name: "create", Describe: func(i int) string { return "create " + links[i].Kind + " " + links[i].Name }}
	if links[0].Kind == "tun" {
		ph.Timed = func(c *rtnl.Conn) (rtnl.Cost, error) { return tuns.create(links, c.Witness()) }
		return ph
	}
	ph.Ops = len(links)
	ph.Fill = func(b *rtnl.Batch, from, to int) error {
		for _, l := range links[from:to] {
			if err := l.Create(b); err != nil {
				return err
			}
		}
		return nil
	}
	return ph
}

// setLinks is the phase that brings links up or takes them down in one batch.
func setLinks(name string, links []ns.Link, up bool) *Phase {
	return &Phase{
		Name: name, Ops: len(links),
		Describe: func(i int) string { return "set link " + name },
		Fill: func(b *rtnl.Batch, from, to int) error {
			for _, l := range links[from:to] {
				set := l.TakeDown
				if up {
					set = l.BringUp
				}
				if err := set(b); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func familyOf(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 4
	}
	return 6
}
