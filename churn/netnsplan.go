package churn

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// dismantlePatience is how long namespaces may take to go before the run gives up:
// some thousand times what one takes.
const dismantlePatience = 10 * time.Minute

// A netnsPlan is what the phases of one run of netns share.
type netnsPlan struct {
	spec *NetnsSpec
	link ns.Link // of every namespace: it has the same name and index in all

	home  *ns.Namespace // the run's own
	watch *ns.Watch
	group *ns.Group // nil before create and after dismantle

	watching Watching

	found struct{ namespaces, links, addresses, local, routes int64 }
}

func (p *netnsPlan) configure(n *ns.Namespace) (err error) {
	p.home = n
	if p.spec.Load != "bare" && slices.Contains(p.spec.Families, 6) && !n.HasIPv6() {
		return noIPv6()
	}
	p.watch, err = ns.NewWatch()
	return err
}

// watchingAs is the watching of a phase.
func (p *netnsPlan) watchingAs(phase string) rtnl.Watching {
	return func() (rtnl.Witness, func() error, error) { return p.watching(phase) }
}

// tell tells the witness of a time that no stopwatch took.
func tell(c *rtnl.Conn, start time.Time, wall time.Duration) {
	if w := c.Witness(); w != nil {
		w.Timed(start, wall)
	}
}

// close drops whatever is still held.
func (p *netnsPlan) close() error {
	var errs []error
	if p.group != nil {
		_, err := p.group.Release()
		errs = append(errs, err)
	}
	if p.watch != nil {
		errs = append(errs, p.watch.Close())
	}
	return errors.Join(errs...)
}

// create makes the namespaces and, outside of the clock, silences them.
func (p *netnsPlan) create() *Phase {
	prepare := func() error { return quietHere(p.spec.Families) }
	if p.spec.Load == "bare" {
		prepare = nil
	}
	return &Phase{Name: "create", Timed: func(*rtnl.Conn) (cost rtnl.Cost, err error) {
		p.group, cost, err = p.home.NewGroup(p.spec.Namespaces, prepare, p.watchingAs("create"))
		cost.Calls = int64(p.spec.Namespaces)
		return cost, err
	}}
}

// quietHere is quiet for the calling thread's namespace.
func quietHere(families []int) error {
	settings := map[string]string{"disable_ipv6": "1"}
	if slices.Contains(families, 6) {
		const none = "1" // IN6_ADDR_GEN_MODE_NONE
		settings = map[string]string{"accept_ra": "0", "addr_gen_mode": none}
	}
	for name, value := range settings {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/default/"+name, []byte(value), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
			return fmt.Errorf("silence a network namespace: %w", err)
		}
	}
	return nil
}

// fill puts the load into every namespace: the link, addresses while it is down,
// routes after it has come up.
func (p *netnsPlan) fill() *Phase {
	ph := &Phase{Name: "fill", Subnets: p.load() * int64(p.spec.Namespaces)}
	ph.Timed = func(run *rtnl.Conn) (rtnl.Cost, error) {
		var total rtnl.Cost
		for i := range p.group.Len() {
			cost, err := p.fillOne(i, run.Witness())
			total.Add(cost)
			if err != nil {
				return total, fmt.Errorf("namespace %d of %d: %w", i+1, p.group.Len(), err)
			}
		}
		return total, nil
	}
	return ph
}

func (p *netnsPlan) fillOne(i int, witness rtnl.Witness) (total rtnl.Cost, err error) {
	c, err := p.group.Dial(i)
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	c.SetWitness(witness)
	loopback := []ns.Link{{Name: "lo", Index: 1}}
	links := []ns.Link{p.link}
	steps := []*Phase{setLinks("up", loopback, true), createLinks(links, nil)}
	steps = append(steps, p.add(p.spec.addresses(), 0, true), setLinks("up", links, true))
	steps = append(steps, p.add(p.spec.routes(), p.spec.addresses(), false))
	for _, step := range steps {
		cost, _, err := step.execute(c)
		total.Add(cost)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// add is a step that adds count addresses, or routes, of every family, with the
// subnets from first on.
func (p *netnsPlan) add(count, first int, addresses bool) *Phase {
	item := func(i int) (int, netip.Prefix) {
		family := p.spec.Families[i/count]
		prefix := subnet(family, netnsBits(family), uint64(first+i%count))
		if addresses {
			prefix = host(prefix, 0)
		}
		return family, prefix
	}
	return &Phase{
		Ops: count * len(p.spec.Families), PerCall: requestsPerCall,
		Describe: func(i int) string {
			_, prefix := item(i)
			return "add " + prefix.String()
		},
		Fill: func(b *rtnl.Batch, from, to int) error {
			templates := map[int]*rtnl.Template{}
			for i := from; i < to; i++ {
				family, prefix := item(i)
				if templates[family] == nil {
					make := newRouteThrough
					if addresses {
						make = rtnl.NewAddress
					}
					t, err := make(family, p.link.Index)
					if err != nil {
						return err
					}
					templates[family] = t
				}
				b.AppendPrefix(templates[family], prefix)
			}
			return nil
		},
	}
}

// load is the number of addresses and routes of one namespace.
func (p *netnsPlan) load() int64 {
	return int64(p.spec.addresses()+p.spec.routes()) * int64(len(p.spec.Families))
}

// survey numbers all namespaces in the run's own, counts what is in them, and says
// which is let go last.
func (p *netnsPlan) survey() *Phase {
	return &Phase{
		Name: "survey", Untimed: true,
		Timed: func(c *rtnl.Conn) (rtnl.Cost, error) {
			return rtnl.Cost{}, errors.Join(p.number(c), p.count(), p.watch.Follow(p.group.File(0), p.group.File(p.group.Len()-1)))
		},
		Check: p.checkLoaded,
	}
}

// number gives every namespace a number in the run's own, by which it is counted.
func (p *netnsPlan) number(c *rtnl.Conn) error {
	numbering := &Phase{
		Ops: p.group.Len(), PerCall: requestsPerCall,
		Fill: func(b *rtnl.Batch, from, to int) error {
			for i := from; i < to; i++ {
				if err := b.NewNamespaceID(p.group.File(i), int32(1+i)); err != nil {
					return err
				}
			}
			return nil
		},
		Describe: func(i int) string { return fmt.Sprintf("number namespace %d", i+1) },
	}
	if _, _, err := numbering.execute(c); err != nil {
		return err
	}
	return p.countNamespaces(c)
}

func (p *netnsPlan) countNamespaces(c *rtnl.Conn) (err error) {
	p.found.namespaces, err = c.NamespaceIDs()
	if err != nil {
		return fmt.Errorf("count network namespaces: %w", err)
	}
	return nil
}

// count dumps every namespace that has a load.
func (p *netnsPlan) count() error {
	if p.spec.Load == "bare" {
		return nil
	}
	deadline := time.Now().Add(loadPatience)
	for i := range p.group.Len() {
		inv, err := p.inventory(i, deadline)
		if err != nil {
			return fmt.Errorf("namespace %d of %d: %w", i+1, p.group.Len(), err)
		}
		ours := func(index uint32) bool { return index == p.link.Index }
		if inv.Links[p.link.Index] {
			p.found.links++
		}
		for _, family := range p.spec.Families {
			p.found.addresses += inv.addresses(family, ours)
			p.found.local += inv.routes(family, p.isLocal)
			p.found.routes += inv.routes(family, p.isUnicast)
		}
	}
	return nil
}

// inventory gives the local routes of IPv6 addresses time to arrive, as evaluate
// does.
func (p *netnsPlan) inventory(i int, deadline time.Time) (*Inventory, error) {
	c, err := p.group.Dial(i)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	want := int64(p.spec.addresses())
	for ; ; time.Sleep(time.Millisecond) {
		inv, err := takeInventory([]*space{{c: c}}, p.spec.Families)
		late := time.Now().After(deadline)
		if errors.Is(err, rtnl.ErrInterrupted) && !late {
			continue
		}
		if err != nil {
			return nil, err
		}
		arrived := !slices.ContainsFunc(p.spec.Families, func(f int) bool { return inv.routes(f, p.isLocal) < want })
		if arrived || late {
			return inv, nil
		}
	}
}

func (p *netnsPlan) isLocal(c rtnl.RouteClass) bool {
	return c.Index == p.link.Index && c.Type == unix.RTN_LOCAL
}

func (p *netnsPlan) isUnicast(c rtnl.RouteClass) bool {
	return c.Index == p.link.Index && c.Type == unix.RTN_UNICAST && c.Table == unix.RT_TABLE_MAIN
}

// checkLoaded compares what was found in all namespaces together.
func (p *netnsPlan) checkLoaded(*Inventory) []results.Check {
	count := int64(p.spec.Namespaces)
	checks := []results.Check{{Name: "namespaces before dismantle", Want: count, Got: p.found.namespaces}}
	if p.spec.Load == "bare" {
		return checks
	}
	families := int64(len(p.spec.Families))
	addresses := count * families * int64(p.spec.addresses())
	routes := count * families * int64(p.spec.routes())
	return append(checks,
		results.Check{Name: "links before dismantle", Want: count, Got: p.found.links},
		results.Check{Name: "addresses before dismantle", Want: addresses, Got: p.found.addresses},
		results.Check{Name: "local routes before dismantle", Want: addresses, Got: p.found.local},
		results.Check{Name: "routes before dismantle", Want: addresses + routes, Got: p.found.routes})
}

// dismantle lets all namespaces go and waits until they are gone. Meanwhile the
// calling thread does nothing: the phase has no CPU time.
func (p *netnsPlan) dismantle() *Phase {
	return &Phase{
		Name: "dismantle", Subnets: p.load() * int64(p.spec.Namespaces),
		Timed: func(c *rtnl.Conn) (rtnl.Cost, error) {
			cost := rtnl.Cost{Calls: int64(p.group.Len())}
			if err := p.watch.Begin(dismantlePatience); err != nil {
				return cost, err
			}
			if _, err := p.group.Release(); err != nil {
				return cost, err
			}
			began, ended, err := p.watch.Gone(dismantlePatience)
			cost.Wall = ended.Sub(began)
			tell(c, began, cost.Wall)
			return cost, err
		},
	}
}

// aftermath counts the namespaces that still have their number.
func (p *netnsPlan) aftermath() *Phase {
	return &Phase{
		Name: "aftermath", Untimed: true,
		Timed: func(c *rtnl.Conn) (rtnl.Cost, error) { return rtnl.Cost{}, p.countNamespaces(c) },
		Check: func(*Inventory) []results.Check {
			return []results.Check{{Name: "namespaces after dismantle", Got: p.found.namespaces}}
		},
		After: func(run *results.Run, _ []time.Duration) { // by now it is in the record
			if ph := run.Phase("dismantle"); ph != nil {
				ph.CPUUnknown = true
			}
		},
	}
}

// loops makes and lets go namespaces in parallel loops and waits until all are
// gone. One more namespace, made before, is let go after all of them: its end is
// the last.
func (p *netnsPlan) loops() *Phase {
	return &Phase{
		Name: "loops",
		Timed: func(c *rtnl.Conn) (cost rtnl.Cost, err error) {
			if p.group, _, err = p.home.NewGroup(1, nil, nil); err != nil {
				return cost, err
			}
			last := p.group.File(0)
			if err := errors.Join(p.watch.Follow(last, last), p.watch.Begin(dismantlePatience)); err != nil {
				return cost, err
			}
			began := time.Now()
			if cost, err = p.home.Loop(p.spec.Loops, p.spec.Namespaces, p.watchingAs("loops")); err != nil {
				return cost, err
			}
			if _, err := p.group.Release(); err != nil {
				return cost, err
			}
			p.found.namespaces = cost.Calls
			_, ended, err := p.watch.Gone(dismantlePatience)
			cost.Wall = ended.Sub(began)
			tell(c, began, cost.Wall)
			return cost, err
		},
		Check: func(*Inventory) []results.Check {
			return []results.Check{{Name: "namespaces made and let go", Want: int64(p.spec.Loops) * int64(p.spec.Namespaces), Got: p.found.namespaces}}
		},
	}
}
