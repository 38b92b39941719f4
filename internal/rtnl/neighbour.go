package rtnl

import (
	"net"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// NewNeighbour appends the addition of a permanent neighbour: nothing is ever asked
// about it. Its interface must be up, for it goes when that goes down.
func (b *Batch) NewNeighbour(index uint32, addr netip.Addr, hardware net.HardwareAddr) error {
	family := 4
	if addr.Is6() {
		family = 6
	}
	return b.Append(unix.RTM_NEWNEIGH, netlink.Create|netlink.Replace, &rtnetlink.NeighMessage{
		Family: uint16(AddressFamily(family)), Index: index, State: unix.NUD_PERMANENT,
		Attributes: &rtnetlink.NeighAttributes{Address: addr.AsSlice(), LLAddress: hardware},
	})
}

// SetHardware appends giving an interface a link address.
func (b *Batch) SetHardware(index uint32, hardware net.HardwareAddr) error {
	return b.Append(unix.RTM_NEWLINK, 0, &rtnetlink.LinkMessage{
		Index: index, Attributes: &rtnetlink.LinkAttributes{Address: hardware},
	})
}
