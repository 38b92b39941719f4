package churn

import (
	"cmp"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A lookupChurn is what one run has beside its lookups.
type lookupChurn struct {
	spec    *LookupSpec
	scene   *Scene
	beside  *TableSpec // routes that are added to the table for the sake of the churn, or nil
	flapper *Flapper   // nil: nothing churns
	names   [2]string  // of its two phases
}

func newLookupChurn(s *LookupSpec) (*lookupChurn, error) {
	c := &lookupChurn{spec: s, scene: &Scene{}}
	if s.Count > 0 {
		c.scene.Table = s.Sets[s.Families[0]]
	}
	if s.Source.IsValid() {
		prop, err := s.sourceProp()
		if err != nil {
			return nil, err
		}
		c.scene.Props = append(c.scene.Props, prop)
	}
	prepare := map[string]func() error{
		underFlap: c.flap, underReplace: c.replace, underResize: c.resize,
		underAddDelete: c.addDelete, underDeleteIface: c.deleteIface,
	}[s.Under]
	if prepare == nil {
		return c, nil
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	return c, s.validateRound(c.flapper.spec.FlapBatch)
}

// work puts a flapper to work that makes two changes of the routes of a table in
// turn, a batch a call.
func (c *lookupChurn) work(t TableSpec, batch int, there, back change) {
	spec := &FlapSpec{TableSpec: t, Rate: c.spec.ChurnRate, Duration: c.spec.Duration, FlapBatch: batch}
	c.flapper = newFlapper(spec, there, back)
	c.names = [2]string{there.verb, back.verb}
}

// meet adds a prop of unicast routes to the scene.
func (c *lookupChurn) meet(set *prefixes.Set, index uint32, when When) {
	c.scene.Props = append(c.scene.Props, Prop{Set: set, Type: unix.RTN_UNICAST, Index: index, When: when})
}

func (c *lookupChurn) flap() error {
	route := c.spec.own()
	c.work(c.spec.TableSpec, 1, change{"withdraw", rtnl.DelRoute, route}, change{"announce", rtnl.NewRoute, route})
	c.meet(c.scene.Table, LookupOut(), AtTimes)
	return nil
}

func (c *lookupChurn) replace() error {
	other, own := c.spec.other(), c.spec.own()
	c.work(c.spec.TableSpec, 1, change{"replace", rtnl.ReplaceRoute, other}, change{"restore", rtnl.ReplaceRoute, own})
	c.meet(c.scene.Table, other.Index, InTurn)
	return nil
}

// resizeBits is the tnode that --under resize takes through its thresholds.
const resizeBits = 12

// resize has as many routes of a dense block go and come back, all at once, as take
// a tnode through both thresholds, and some more for what else is below the tnode.
// Routes of the block that the table has already stay.
func (c *lookupChurn) resize() error {
	const more = 64
	b := block{bits: resizeBits}
	inflateAt, halveAt, err := b.thresholds()
	if err != nil {
		return err
	}
	var list []netip.Prefix
	for i := range inflateAt {
		list = append(list, b.route(i))
	}
	all, err := c.table(c.free(list))
	if err != nil {
		return err
	}
	upper, err := c.table(c.free(list[halveAt-more:]))
	if err != nil {
		return err
	}
	upper.Order = "reverse"
	route := c.spec.own()
	c.beside = &all
	c.work(upper, upper.Count, change{"shrink", rtnl.DelRoute, route}, change{"grow", rtnl.NewRoute, route})
	c.meet(all.Sets[4], LookupOut(), Always)
	c.meet(upper.Sets[4], LookupOut(), AtTimes)
	return nil
}

// addDelete has random /24s or /64s come and go that the table has not.
func (c *lookupChurn) addDelete() error {
	s := c.spec
	random, err := prefixes.Generate(prefixes.Random, prefixes.Family(s.Families[0]), 2*s.ChurnSize, s.Seed+1)
	if err != nil {
		return err
	}
	var list []netip.Prefix
	for _, p := range random.All() {
		list = append(list, p)
	}
	t, err := c.table(c.first(c.free(list)))
	if err != nil {
		return err
	}
	route := c.spec.own()
	c.work(t, min(s.Batch, t.Count), change{"add", rtnl.NewRoute, route}, change{"delete", rtnl.DelRoute, route})
	c.meet(t.Sets[s.Families[0]], LookupOut(), AtTimes)
	return nil
}

// deleteIface has an interface with local subnets made, in one call, and removed in
// the next.
func (c *lookupChurn) deleteIface() error {
	s := c.spec
	link := ns.NewLink(cmp.Or(s.churnKind, s.LinkKind), lookupComes)
	if link.Kind == "tun" {
		return &ns.UnsupportedError{
			What: "--under delete-iface with interfaces of kind tun", Why: "they are not made by netlink",
			Help: "--link-kind with another kind",
		}
	}
	family := s.Families[0]
	var list []netip.Prefix
	for i := range 2 * s.ChurnSize {
		list = append(list, churnedSubnet(family, uint64(i)))
	}
	t, err := c.table(c.first(c.freeOf(list, subnetEntries)))
	if err != nil {
		return err
	}
	props, err := ifaceProps(family, t.Sets[family], link.Index)
	if err != nil {
		return err
	}
	c.scene.Props = append(c.scene.Props, props...)
	c.work(t, t.Count, change{verb: "create"}, change{verb: "remove"})
	c.flapper.fill = [2]func(*rtnl.Batch, int, int) error{
		func(b *rtnl.Batch, _, _ int) error { return appendIface(b, link, t.Sets[family]) },
		func(b *rtnl.Batch, _, _ int) error { return b.DelLink(link.Index) },
	}
	describe := func(verb string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf("%s %s with its %d subnets, request %d", verb, link.Name, t.Count, i)
		}
	}
	c.flapper.describe = [2]func(int) string{describe("create"), describe("remove")}
	return nil
}

// appendIface appends making an interface with an address in each subnet. Those of
// IPv4 come before the link is up, which is faster, and those of IPv6 after, for the
// kernel might lose their routes (see deleteIfacePlan).
func appendIface(b *rtnl.Batch, link ns.Link, subnets *prefixes.Set) error {
	if err := link.Create(b); err != nil {
		return err
	}
	family := int(subnets.Family())
	if family == 6 {
		if err := link.BringUp(b); err != nil {
			return err
		}
	}
	template, err := rtnl.NewAddress(family, link.Index)
	if err != nil {
		return err
	}
	for _, p := range subnets.All() {
		b.AppendPrefix(template, host(p, 0))
	}
	if family == 6 {
		return nil
	}
	return link.BringUp(b)
}

// churnedSubnet is a /24 from 10.0.0.0 on, or a /64 from 2001:dc8:: on: the layout
// dense has neither before it has millions.
func churnedSubnet(family int, i uint64) netip.Prefix {
	if family == 6 {
		return subnet(family, 64, i+1<<36)
	}
	return subnet(family, 24, i)
}

// table is a table of the run's kind, of other prefixes.
func (c *lookupChurn) table(list []netip.Prefix) (TableSpec, error) {
	t := c.spec.TableSpec
	family := t.Families[0]
	if len(list) == 0 {
		return t, fmt.Errorf("--under %s: the table leaves no room for its routes", c.spec.Under)
	}
	set, err := prefixes.Of(prefixes.Family(family), list)
	t.Sets, t.Count, t.Order = map[int]*prefixes.Set{family: set}, len(list), "added"
	return t, err
}

// first is as many as the spec asks for, at most.
func (c *lookupChurn) first(list []netip.Prefix) []netip.Prefix {
	return list[:min(len(list), c.spec.ChurnSize)]
}

// free leaves out what the table has.
func (c *lookupChurn) free(list []netip.Prefix) []netip.Prefix {
	return c.freeOf(list, func(p netip.Prefix) []netip.Prefix { return []netip.Prefix{p} })
}

// freeOf leaves out the prefixes of which the table has an entry.
func (c *lookupChurn) freeOf(list []netip.Prefix, entries func(netip.Prefix) []netip.Prefix) []netip.Prefix {
	taken := map[netip.Prefix]bool{} // false: an entry of the list, true: of the table too
	for _, p := range list {
		for _, e := range entries(p) {
			taken[e] = false
		}
	}
	if c.scene.Table != nil {
		for _, p := range c.scene.Table.All() {
			if _, ours := taken[p]; ours {
				taken[p] = true
			}
		}
	}
	var free []netip.Prefix
	for _, p := range list {
		clear := true
		for _, e := range entries(p) {
			clear = clear && !taken[e]
		}
		if clear {
			free = append(free, p)
		}
	}
	return free
}

// checkTable demands the routes of the table that is looked up in, all by their own
// link, with so many of the workload's own, and none of what churns.
func (c *lookupChurn) checkTable(table *TableSpec, own int, after string) func(*Inventory) []results.Check {
	return func(inv *Inventory) []results.Check {
		family := table.Families[0]
		by := func(index uint32) int64 {
			return inv.routes(family, func(r rtnl.RouteClass) bool {
				return r.Table == table.Table && r.Type == unix.RTN_UNICAST && r.Index == index
			})
		}
		want := int64(table.Count + own)
		if c.beside != nil {
			want += int64(c.beside.Count)
		}
		gone := ns.NewLink("", lookupComes).Index
		return []results.Check{
			{Name: fmt.Sprintf("IPv%d routes after %s", family, after), Want: want, Got: by(LookupOut())},
			{Name: fmt.Sprintf("IPv%d routes by the interface that comes and goes after %s", family, after), Got: by(gone)},
		}
	}
}
