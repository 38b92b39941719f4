package churn

import (
	"fmt"
	"strconv"

	"fibchurn/internal/rtnl"
)

// An Inventory is what a namespace holds at one moment, counted by dump.
type Inventory struct {
	Links     map[uint32]bool
	Addresses map[int]map[uint32]int64          // by family (4, 6) and interface index
	Routes    map[int]map[rtnl.RouteClass]int64 // by family (4, 6)
}

// takeInventory dumps links, and the addresses and routes of the families.
func takeInventory(c *rtnl.Conn, families []int) (*Inventory, error) {
	inv := &Inventory{
		Addresses: map[int]map[uint32]int64{},
		Routes:    map[int]map[rtnl.RouteClass]int64{},
	}
	var err error
	if inv.Links, err = c.Links(); err != nil {
		return nil, fmt.Errorf("count links: %w", err)
	}
	for _, family := range families {
		if inv.Addresses[family], err = c.Addresses(rtnl.AddressFamily(family)); err != nil {
			return nil, fmt.Errorf("count IPv%d addresses: %w", family, err)
		}
		if inv.Routes[family], err = c.Routes(rtnl.AddressFamily(family)); err != nil {
			return nil, fmt.Errorf("count IPv%d routes: %w", family, err)
		}
	}
	return inv, nil
}

// routes counts a family's routes that satisfy f.
func (inv *Inventory) routes(family int, f func(rtnl.RouteClass) bool) int64 {
	var n int64
	for class, count := range inv.Routes[family] {
		if f(class) {
			n += count
		}
	}
	return n
}

// addresses counts a family's addresses on interfaces that satisfy f.
func (inv *Inventory) addresses(family int, f func(index uint32) bool) int64 {
	var n int64
	for index, count := range inv.Addresses[family] {
		if f(index) {
			n += count
		}
	}
	return n
}

func familyName(family int) string { return "IPv" + strconv.Itoa(family) }
