package churn

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// What can go on beside lookups.
const (
	underNone        = "none"
	underFlap        = "flap"         // the table's routes are withdrawn and announced, one after the other
	underReplace     = "replace"      // they get another next hop, and the old one back
	underResize      = "resize"       // a dense block of routes shrinks and grows through a tnode's thresholds
	underAddDelete   = "add-delete"   // other routes are added and deleted, a batch a call
	underDeleteIface = "delete-iface" // an interface with local subnets is made and removed
)

// Unders lists what can go on beside lookups.
func Unders() []string {
	return []string{underNone, underFlap, underReplace, underResize, underAddDelete, underDeleteIface}
}

// MaxChurnSize bounds the routes or subnets that come and go beside the table's.
const MaxChurnSize = 1 << 13

// A LookupSpec is one cell of lookup: a table is filled, and then a [Sampler] looks
// routes up in it; for one stretch of time, or for three, before, during and after
// something that churns. It has one family.
type LookupSpec struct {
	TableSpec               // Count may be 0; Order is that in which its routes churn
	Under     string        `json:"under"`       // one of Unders
	ChurnRate int           `json:"churn_rate"`  // routes or subnets a second that come, go or change, open loop; 0: one call after the other
	ChurnSize int           `json:"churn_size"`  // routes of add-delete, subnets of delete-iface
	Duration  time.Duration `json:"duration_ns"` // of each stretch
	Lookups   any           `json:"lookup"`      // the sampler's parameters

	// Name is the cell's.
	Name string `json:"-"`
	// Source is where lookups say that they come from, invalid for nowhere. Back is
	// the link that they come in by, and by which a route leads back to it; where it
	// is 0 the lookups are of this machine's own, and Source is an address of it.
	Source netip.Addr `json:"-"`
	Back   uint32     `json:"-"`
	// Sampler makes what looks routes up in a run.
	Sampler func(*Scene) (Sampler, error) `json:"-"`

	// hops are where the table's routes lead, and where --under replace has them lead
	// in turn, if not simply out of the two links.
	hops *[2]rtnl.Route
	// churnKind is the kind of the interface that comes and goes; empty: LinkKind.
	churnKind string

	stop <-chan struct{} // closed: end early
}

// A Sampler makes lookups while a run goes on. Stretch begins a stretch of them,
// "rest", or "before", "during" and "after", and "" pauses; Close ends them where
// Stop was not called, and does nothing where it was.
type Sampler interface {
	Observer
	Stretch(name string) error
	Close() error
}

// The numbers of a run's links.
const (
	lookupOut   = iota // the table's routes go out of it
	lookupIn           // packets of input lookups come in by it, replaced routes go out of it
	lookupComes        // it comes and goes
)

// own is where the table's routes lead, and other where replaced ones do.
func (s *LookupSpec) own() rtnl.Route   { return s.hop(0, LookupOut()) }
func (s *LookupSpec) other() rtnl.Route { return s.hop(1, LookupIn()) }

func (s *LookupSpec) hop(i int, index uint32) rtnl.Route {
	if s.hops != nil {
		return s.hops[i]
	}
	return rtnl.Route{Index: index}
}

// LookupOut is the index of the link that the table's routes go out of.
func LookupOut() uint32 { return ns.NewLink("", lookupOut).Index }

// LookupIn is the index of the link that packets of input lookups come in by.
func LookupIn() uint32 { return ns.NewLink("", lookupIn).Index }

// Validate returns the first thing that is wrong, in the words of the command
// line. The table's prefixes must be there.
func (s *LookupSpec) Validate() error {
	table := s.TableSpec
	table.Count = max(1, table.Count) // an empty one will do
	if err := table.Validate(); err != nil {
		return err
	}
	switch {
	case len(s.Families) != 1:
		return fmt.Errorf("lookups are of one family")
	case !slices.Contains(Unders(), s.Under):
		return fmt.Errorf("--under %s: must be %s", s.Under, strings.Join(Unders(), ", "))
	case s.Duration <= 0 || s.Duration > maxDuration:
		return fmt.Errorf("--duration %v: must be more than 0 and at most %v", s.Duration, maxDuration)
	case s.ChurnRate < 0 || s.ChurnRate > maxRate:
		return fmt.Errorf("--churn-rate %d: must be 1 to %d, or max", s.ChurnRate, maxRate)
	case s.ChurnSize < 1 || s.ChurnSize > MaxChurnSize:
		return fmt.Errorf("--churn-size %d: must be 1 to %d", s.ChurnSize, MaxChurnSize)
	case s.Count == 0 && (s.Under == underFlap || s.Under == underReplace):
		return fmt.Errorf("--under %s: the table is empty", s.Under)
	case s.Under == underResize && s.Families[0] == 6:
		return fmt.Errorf("--under resize: is about the trie of IPv4; the tables of IPv6 are not resized (net/ipv6/ip6_fib.c)")
	}
	_, err := newLookupChurn(s)
	return err
}

// validateRound refuses a rate at which one round of the churn, there and back,
// takes longer than the stretch that it belongs to.
func (s *LookupSpec) validateRound(batch int) error {
	if s.ChurnRate == 0 || float64(2*batch)/float64(s.ChurnRate) <= s.Duration.Seconds() {
		return nil
	}
	return fmt.Errorf("--churn-rate %d: the %d operations of one round of --under %s need at least %d a second to fit into --duration %v",
		s.ChurnRate, 2*batch, s.Under, int(math.Ceil(float64(2*batch)/s.Duration.Seconds())), s.Duration)
}

// Command, Cell and Spec make the spec a Workload.
func (s *LookupSpec) Command() string { return "lookup" }

// Cell is Name.
func (s *LookupSpec) Cell() string { return s.Name }

// Spec returns s.
func (s *LookupSpec) Spec() any { return s }

// Interrupt makes runs end early, with their table as it was, once stop is closed.
func (s *LookupSpec) Interrupt(stop <-chan struct{}) { s.stop = stop }

// Plan fills the table, lets the sampler work for its stretches, and then demands
// that the table is as it was.
func (s *LookupSpec) Plan() (*Plan, error) {
	c, err := newLookupChurn(s)
	if err != nil {
		return nil, err
	}
	sampler, err := s.Sampler(c.scene)
	if err != nil {
		return nil, err
	}
	links := []ns.Link{ns.NewLink(s.LinkKind, lookupOut), ns.NewLink(s.LinkKind, lookupIn)}
	tuns := &tunSet{}
	create, up := createLinks(links, tuns), setLinks("up", links, true)
	add := &Phase{Name: "add", Timed: s.add(c)}
	add.Loaded, add.Check = true, s.checkTable("add", c)
	stretches := &stretches{spec: s, sampler: sampler, churn: c}
	phases := append([]*Phase{create, up, add}, stretches.phases()...)
	for _, ph := range phases {
		ph.Untimed = ph.Times == nil
	}
	last := phases[len(phases)-1]
	last.Check, last.After = s.checkTable("the lookups", c), stretches.record
	return &Plan{
		Configure: s.configure, Families: s.Families, Phases: phases,
		Observers: []Observer{sampler},
		Watched: func(w Watching) {
			if c.flapper != nil {
				c.flapper.watching = w
			}
		},
		Close: func() error {
			err := sampler.Close()
			if closeErr := tuns.close(); err == nil {
				err = closeErr
			}
			return err
		},
	}, nil
}

// add adds the table, what is in it for the churn, and the source's route or
// address.
func (s *LookupSpec) add(c *lookupChurn) func(*rtnl.Conn) (rtnl.Cost, error) {
	return func(conn *rtnl.Conn) (rtnl.Cost, error) {
		total, err := s.addTables(conn, c)
		if err == nil {
			err = s.addSource(conn)
		}
		return total, err
	}
}

// addTables adds the table and what is in it for the churn.
func (s *LookupSpec) addTables(conn *rtnl.Conn, c *lookupChurn) (total rtnl.Cost, err error) {
	for _, table := range []*TableSpec{&s.TableSpec, c.beside} {
		if table == nil || table.Count == 0 {
			continue
		}
		ph := table.phase("add", "add route", rtnl.NewRoute, s.own(), nil)
		cost, _, err := ph.execute(conn)
		if total.Add(cost); err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *LookupSpec) addSource(conn *rtnl.Conn) error {
	if !s.Source.IsValid() {
		return nil
	}
	family := s.Families[0]
	template, err := rtnl.NewAddress(family, LookupIn())
	if s.Back != 0 {
		template, err = rtnl.NewRoute(rtnl.Route{Family: family, Table: s.Table, Index: s.Back})
	}
	if err != nil {
		return err
	}
	var b rtnl.Batch
	b.AppendPrefix(template, netip.PrefixFrom(s.Source, s.Source.BitLen()))
	out, err := conn.Send(&b, rtnl.Options{})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("--src %s: %w", s.Source, err)
	}
	return nil
}

// checkTable demands the table's routes, and what leads back.
func (s *LookupSpec) checkTable(after string, c *lookupChurn) func(*Inventory) []results.Check {
	own := 0
	if s.Back == LookupOut() {
		own++
	}
	return c.checkTable(&s.TableSpec, own, after)
}
