package lookup

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gaissmai/bart"

	"fibchurn/internal/prefixes"
)

// A Route is what a prefix leads to.
type Route struct {
	Kind Kinds  // one of the kinds
	OIF  uint32 // output interface; 0: any will do
}

func (r Route) String() string {
	if r.OIF == 0 {
		return r.Kind.String()
	}
	return fmt.Sprintf("%s dev %d", r.Kind, r.OIF)
}

// An Oracle knows which answers to a lookup are right. It is a longest-prefix
// match over routes that are stable, present at all times, and routes that toggle,
// which something changes while lookups are made.
//
// Everything but [Oracle.Toggled] must be called before the first lookup.
type Oracle struct {
	table  bart.Table[entry]
	routes []Route
	// histories of the toggling prefixes that have one, and whether any has.
	histories historyBook
	timed     atomic.Bool
}

// entry is what the oracle knows of a prefix. It is small, for there may be a
// million.
type entry struct {
	route, other uint16 // index into Oracle.routes; other: a second right one
	toggling     bool   // may be absent
}

// maxRoutes bounds the distinct Routes of an oracle.
const maxRoutes = 1 << 16

// NewOracle returns an oracle for a table in which every prefix of set leads to r.
// It takes some 30 bytes a prefix.
func NewOracle(set *prefixes.Set, r Route) (*Oracle, error) {
	o := &Oracle{}
	n, err := o.number(r)
	if err != nil {
		return nil, err
	}
	if set != nil {
		for _, p := range set.All() {
			o.table.Insert(p, entry{route: n, other: n})
		}
	}
	return o, nil
}

// number finds or makes the index of r.
func (o *Oracle) number(r Route) (uint16, error) {
	for i, have := range o.routes {
		if have == r {
			return uint16(i), nil
		}
	}
	if len(o.routes) == maxRoutes {
		return 0, fmt.Errorf("more than %d different next hops", maxRoutes)
	}
	o.routes = append(o.routes, r)
	return uint16(len(o.routes) - 1), nil
}

// Add makes p a stable prefix that leads to r, whatever it was before.
func (o *Oracle) Add(p netip.Prefix, r Route) error {
	n, err := o.number(r)
	if err == nil {
		o.table.Insert(p.Masked(), entry{route: n, other: n})
	}
	return err
}

// Toggling says that each prefix of set may be present or absent at any time. A
// prefix the oracle did not know gets the route r.
func (o *Oracle) Toggling(set *prefixes.Set, r Route) error {
	n, err := o.number(r)
	if err != nil {
		return err
	}
	for _, p := range set.All() {
		e, known := o.table.Get(p)
		if !known {
			e = entry{route: n, other: n}
		}
		e.toggling = true
		o.table.Insert(p, e)
	}
	return nil
}

// Replacing says that each prefix of set may lead to r as well as to where it led
// before: RTM_NEWROUTE with NLM_F_REPLACE leaves no moment without the route
// (fib_table_insert, net/ipv4/fib_trie.c).
func (o *Oracle) Replacing(set *prefixes.Set, r Route) error {
	n, err := o.number(r)
	if err != nil {
		return err
	}
	for _, p := range set.All() {
		e, known := o.table.Get(p)
		if !known {
			e.route = n
		}
		e.other = n
		o.table.Insert(p, e)
	}
	return nil
}

// Covers reports whether any prefix, stable or toggling, contains a.
func (o *Oracle) Covers(a netip.Addr) bool {
	_, ok := o.table.Lookup(a)
	return ok
}

// Len is the number of prefixes the oracle knows.
func (o *Oracle) Len() int { return o.table.Size() }

// Check returns nil where answer is right for key, asked at one time and answered
// at another, and else a *WrongAnswerError.
//
// An answer is right where it is that of a prefix that contains the key and may
// have been present, and every longer prefix that contains the key may have been
// absent; no route is right where all may have been absent. Stable prefixes are
// never absent. Toggling ones may be either at any time, or, where [Oracle.Toggled]
// told of them, at the times between question and answer that it left open.
//
// Each prefix is judged for itself: it is not demanded that one moment explains
// the whole answer. A lookup walks the trie under RCU while others change it and
// may see a younger change and miss an older one (fib_table_lookup,
// net/ipv4/fib_trie.c), so such a demand would call right answers wrong.
//
// It allocates nothing where the answer is right.
func (o *Oracle) Check(key netip.Addr, answer Answer, asked, answered time.Time) error {
	if !answer.Foreign && answer.Refused == 0 {
		for c := o.first(key); ; c = o.next(c) {
			may, must := o.presence(c, answer.Bound, asked, answered)
			if may && o.matches(c, answer) {
				return nil
			}
			if must || !c.prefix.IsValid() {
				break
			}
		}
	}
	return &WrongAnswerError{Key: key, Answer: answer, Expected: o.expected(key, answer.Bound, asked, answered)}
}

// A candidate is a prefix that contains the key; an invalid one is no route.
type candidate struct {
	prefix netip.Prefix
	entry  entry
}

// first is the longest candidate.
func (o *Oracle) first(key netip.Addr) candidate {
	return o.longest(netip.PrefixFrom(key, key.BitLen()))
}

// next is the longest candidate shorter than c.
func (o *Oracle) next(c candidate) candidate {
	if c.prefix.Bits() == 0 {
		return candidate{}
	}
	return o.longest(netip.PrefixFrom(c.prefix.Addr(), c.prefix.Bits()-1).Masked())
}

func (o *Oracle) longest(p netip.Prefix) candidate {
	lpm, e, ok := o.table.LookupPrefixLPM(p)
	if !ok {
		return candidate{}
	}
	return candidate{lpm, e}
}

// presence reports whether a candidate may have been present, and whether it must
// have been, all the time from asked to answered. To a lookup that is bound to an
// interface, a route out of another is absent.
func (o *Oracle) presence(c candidate, bound uint32, asked, answered time.Time) (may, must bool) {
	if !c.prefix.IsValid() {
		return true, true
	}
	may, must = true, !c.entry.toggling
	if !must && o.timed.Load() {
		may, must = o.histories.presence(c.prefix, asked, answered)
	}
	one, other := o.routes[c.entry.route].goes(bound), o.routes[c.entry.other].goes(bound)
	return may && (one || other), must && one && other
}

// goes reports whether a lookup bound to an interface sees the route.
func (r Route) goes(bound uint32) bool { return bound == 0 || r.OIF == 0 || r.OIF == bound }

// matches reports whether the answer says what candidate c leads to.
func (o *Oracle) matches(c candidate, a Answer) bool {
	if !c.prefix.IsValid() {
		return a.Kinds&NoRoute != 0 && a.Bits < 0
	}
	if a.Bits >= 0 && a.Bits != c.prefix.Bits() {
		return false
	}
	return o.routes[c.entry.route].matches(a) || o.routes[c.entry.other].matches(a)
}

func (r Route) matches(a Answer) bool {
	return a.Kinds&r.Kind != 0 && (a.OIF == 0 || r.OIF == 0 || a.OIF == r.OIF)
}

// expected lists the right answers.
func (o *Oracle) expected(key netip.Addr, bound uint32, asked, answered time.Time) []Expectation {
	var list []Expectation
	for c := o.first(key); ; c = o.next(c) {
		may, must := o.presence(c, bound, asked, answered)
		if !c.prefix.IsValid() {
			return append(list, Expectation{Routes: []Route{{Kind: NoRoute}}})
		}
		if may {
			x := Expectation{Prefix: c.prefix, Routes: []Route{o.routes[c.entry.route]}, Toggling: !must}
			if c.entry.other != c.entry.route {
				x.Routes = append(x.Routes, o.routes[c.entry.other])
			}
			list = append(list, x)
		}
		if must {
			return list
		}
	}
}

// An Expectation is one right answer.
type Expectation struct {
	Prefix   netip.Prefix // invalid: no route
	Routes   []Route      // either is right
	Toggling bool         // the prefix may have been absent
}

func (x Expectation) String() string {
	var routes []string
	for _, r := range x.Routes {
		routes = append(routes, r.String())
	}
	text := strings.Join(routes, " or ")
	if x.Prefix.IsValid() {
		text = x.Prefix.String() + " (" + text + ")"
	}
	if x.Toggling {
		text += " where present"
	}
	return text
}

// A WrongAnswerError is a lookup whose answer no state of the table explains.
type WrongAnswerError struct {
	Probe    string
	Key      netip.Addr
	Answer   Answer
	Expected []Expectation // longest prefix first
	// Asked and Answered are times since the sampler was started.
	Asked, Answered time.Duration
	More            int // further wrong answers of the run
}

func (e *WrongAnswerError) Error() string {
	var right []string
	for _, x := range e.Expected {
		right = append(right, x.String())
	}
	text := fmt.Sprintf("wrong answer to a lookup of %s by %s: %s; expected %s", e.Key, e.Probe, e.Answer.Describe(e.Key), strings.Join(right, ", else "))
	if e.Answered > 0 {
		text += fmt.Sprintf("; asked %v after the start, answered %v later", e.Asked, e.Answered-e.Asked)
	}
	if e.More > 0 {
		text += fmt.Sprintf("; %d more wrong answers", e.More)
	}
	return text
}
