package churn

import (
	"fmt"
	"maps"
	"strconv"

	"fibchurn/internal/rtnl"
)

// An Inventory is what a namespace holds at one moment, counted by dump.
type Inventory struct {
	Links     map[uint32]bool
	Addresses map[int]map[uint32]int64          // by family (4, 6) and interface index
	Routes    map[int]map[rtnl.RouteClass]int64 // by family (4, 6)
}

// takeInventory dumps links, and the addresses and routes of the families. Of
// several namespaces it is the sum.
func takeInventory(spaces []*space, families []int) (*Inventory, error) {
	inv := &Inventory{
		Links:     map[uint32]bool{},
		Addresses: map[int]map[uint32]int64{},
		Routes:    map[int]map[rtnl.RouteClass]int64{},
	}
	for _, family := range families {
		inv.Addresses[family] = map[uint32]int64{}
		inv.Routes[family] = map[rtnl.RouteClass]int64{}
	}
	for _, sp := range spaces {
		if err := inv.add(sp.c, families); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// add adds what one namespace holds.
func (inv *Inventory) add(c *rtnl.Conn, families []int) error {
	links, err := c.Links()
	if err != nil {
		return fmt.Errorf("count links: %w", err)
	}
	maps.Copy(inv.Links, links)
	for _, family := range families {
		addresses, err := c.Addresses(rtnl.AddressFamily(family))
		if err != nil {
			return fmt.Errorf("count IPv%d addresses: %w", family, err)
		}
		for index, n := range addresses {
			inv.Addresses[family][index] += n
		}
		routes, err := c.Routes(rtnl.AddressFamily(family))
		if err != nil {
			return fmt.Errorf("count IPv%d routes: %w", family, err)
		}
		for class, n := range routes {
			inv.Routes[family][class] += n
		}
	}
	return nil
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
