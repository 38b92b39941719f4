package churn

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
)

// A TableSpec is what all workloads of route tables share: which prefixes, in
// which tables, and how their requests are sent.
type TableSpec struct {
	Layout   prefixes.Layout `json:"layout"`
	Prefixes string          `json:"prefixes,omitempty"` // the file that layout "file" was read from
	// PrefixesSHA256 tells the contents of that file apart, whatever its name: see
	// docs/results.md.
	PrefixesSHA256 string `json:"prefixes_sha256,omitempty"`
	Count          int    `json:"count"`    // prefixes of each family
	Families       []int  `json:"families"` // 4, 6
	Table          uint32 `json:"table"`    // first table; 254 is main
	Tables         int    `json:"tables"`   // how many, from Table on; prefixes are dealt round
	Rules          int    `json:"rules"`    // rules before the first that matches
	Unmerge        bool   `json:"unmerge"`  // local and main have tries of their own
	Order          string `json:"order"`    // of removals: as added, "reverse" or "random"
	LinkKind       string `json:"link_kind"`
	Batch          int    `json:"batch"` // requests of one call
	Ack            string `json:"ack"`   // "last" of every call, "all" requests, or "none"
	Seed           uint64 `json:"seed"`

	// ownTables gives every so-manieth part of the routes a table of its own, in
	// place of dealing them round.
	ownTables int

	// Sets are the prefixes by family, made by Generate or read from a file.
	Sets map[int]*prefixes.Set `json:"-"`
}

// DefaultBatch is the number of requests of one call that is fastest with the
// smallest buffers, by measurement: see docs/performance.md.
const DefaultBatch = requestsPerCall

// maxRules leaves the priorities of the rules that are always there, 32766 and 32767.
const maxRules = 32000

// MaxBatch bounds one call.
const MaxBatch = 1 << 15

// Orders are the orders in which a table can be emptied.
func Orders() []string { return []string{"added", "reverse", "random"} }

// Acks are the ways to ask for acknowledgements: of the last request of every call,
// of none but one in thousands (which proves that all before it were worked
// through), or of all.
func Acks() []string { return []string{"last", "none", "all"} }

// Validate returns the first thing that is wrong, in the words of the command
// line.
func (s *TableSpec) Validate() error {
	switch {
	case s.Count < 1:
		return fmt.Errorf("--count %d: must be at least 1", s.Count)
	case s.Tables < 1 || s.Tables > 1<<16:
		return fmt.Errorf("--tables %d: must be 1 to %d", s.Tables, 1<<16)
	case s.Table == 0 || s.Table == unix.RT_TABLE_LOCAL || uint64(s.Table)+uint64(s.Tables)-1 > 1<<32-1:
		return fmt.Errorf("--table %d: must be a table other than 0 (unspecified) and 255 (local)", s.Table)
	case s.Tables > 1 && s.Table <= unix.RT_TABLE_LOCAL && s.Table+uint32(s.Tables)-1 >= unix.RT_TABLE_DEFAULT:
		return fmt.Errorf("--table %d --tables %d: the range meets the tables default, main and local (253 to 255)", s.Table, s.Tables)
	case s.Rules < 0 || s.Rules > maxRules:
		return fmt.Errorf("--rules %d: must be 0 to %d", s.Rules, maxRules)
	case s.Batch < 1 || s.Batch > MaxBatch:
		return fmt.Errorf("--batch %d: must be 1 to %d", s.Batch, MaxBatch)
	case !slices.Contains(Acks(), s.Ack):
		return fmt.Errorf("--ack %s: must be last, none or all", s.Ack)
	case !slices.Contains(Orders(), s.Order):
		return fmt.Errorf("--order %s: must be added, reverse or random", s.Order)
	case len(s.Families) == 0:
		return fmt.Errorf("no address family")
	}
	for _, family := range s.Families {
		if family != 4 && family != 6 {
			return fmt.Errorf("unknown address family %d", family)
		}
		if s.Layout == prefixes.File {
			continue
		}
		most, err := prefixes.Capacity(s.Layout, prefixes.Family(family))
		if err != nil {
			return fmt.Errorf("--layout %s: %w", s.Layout, err)
		}
		if s.Count > most {
			return fmt.Errorf("--count %d: the layout %s has at most %d IPv%d prefixes", s.Count, s.Layout, most, family)
		}
	}
	return nil
}

// Generate makes the sets of every layout but file.
func (s *TableSpec) Generate() error {
	s.Sets = map[int]*prefixes.Set{}
	for _, family := range s.Families {
		set, err := prefixes.Generate(s.Layout, prefixes.Family(family), s.Count, s.Seed)
		if err != nil {
			return err
		}
		s.Sets[family] = set
	}
	return nil
}

// Memory estimates what the tables will take of the kernel's memory, in bytes.
func (s *TableSpec) Memory(cpus int) (int64, error) {
	var total int64
	for _, family := range s.Families {
		n, err := prefixes.Estimate(s.Layout, prefixes.Family(family), s.Count, cpus)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (s *TableSpec) ack() rtnl.Ack {
	return map[string]rtnl.Ack{"last": rtnl.AckLast, "all": rtnl.AckAll, "none": rtnl.AckFinal}[s.Ack]
}

// routes is the number of routes of all families.
func (s *TableSpec) routes() int { return s.Count * len(s.Families) }

// item is the i-th route: the families take turns, each in the order of its set, so
// that equal shares of the routes have equal shares of each family.
func (s *TableSpec) item(i int) (family, index int) {
	return s.Families[i%len(s.Families)], i / len(s.Families)
}

// tables is the number of tables in use.
func (s *TableSpec) tables() int { return max(s.Tables, s.ownTables) }

// tableOf is the table of the i-th route.
func (s *TableSpec) tableOf(i int) uint32 {
	if s.ownTables > 1 {
		return s.Table + uint32(i*s.ownTables/s.routes())
	}
	return s.Table + uint32(i/len(s.Families)%s.Tables)
}

// A routeMaker makes the template of a route.
type routeMaker func(rtnl.Route) (*rtnl.Template, error)

// fill returns a Fill that appends one request for every route, in the order that
// at gives (nil: as added). route fills in where the routes go.
func (s *TableSpec) fill(make routeMaker, route rtnl.Route, at []int32) func(*rtnl.Batch, int, int) error {
	return func(b *rtnl.Batch, from, to int) error {
		return s.append(b, from, to, make, route, at, map[rtnl.Route]*rtnl.Template{})
	}
}

// append appends the requests of the routes [from, to). The templates it makes are
// left in templates, for the next time.
func (s *TableSpec) append(b *rtnl.Batch, from, to int, make routeMaker, route rtnl.Route, at []int32, templates map[rtnl.Route]*rtnl.Template) error {
	for i := from; i < to; i++ {
		k := i
		if at != nil {
			k = int(at[i])
		}
		family, index := s.item(k)
		r := route
		r.Family, r.Table = family, s.tableOf(k)
		t := templates[r]
		if t == nil {
			var err error
			if t, err = make(r); err != nil {
				return err
			}
			templates[r] = t
		}
		b.AppendPrefix(t, s.Sets[family].At(index))
	}
	return nil
}

// removalOrder is the permutation that Order asks for, nil for the order of
// adding. It stays within each of so many equal shares.
func (s *TableSpec) removalOrder(shares int) []int32 {
	if s.Order == "added" {
		return nil
	}
	order := make([]int32, s.routes())
	random := rand.New(rand.NewPCG(s.Seed, 1))
	for share := range shares {
		from, to := share*len(order)/shares, (share+1)*len(order)/shares
		part := order[from:to]
		for i := range part {
			part[i] = int32(to - 1 - i)
		}
		if s.Order == "random" {
			random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
	}
	return order
}

// describe names request i of a phase in an error.
func (s *TableSpec) describe(verb string, at []int32) func(int) string {
	return func(i int) string {
		if at != nil {
			i = int(at[i])
		}
		family, index := s.item(i)
		return fmt.Sprintf("%s %s in table %d", verb, s.Sets[family].At(index), s.tableOf(i))
	}
}

// phase is a phase with one request for every route.
func (s *TableSpec) phase(name, verb string, make routeMaker, route rtnl.Route, at []int32) *Phase {
	return &Phase{
		Name: name, Subnets: int64(s.routes()), Ops: s.routes(),
		PerCall: s.Batch, Ack: s.ack(),
		Fill: s.fill(make, route, at), Describe: s.describe(verb, at),
	}
}

// configure silences the namespace and sets up rules.
func (s *TableSpec) configure(n *ns.Namespace) error {
	if err := quiet(n, s.Families); err != nil {
		return err
	}
	if s.Rules == 0 && !s.Unmerge {
		return nil
	}
	c, err := n.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	var b rtnl.Batch
	for _, family := range s.Families {
		if err := s.appendRules(&b, family); err != nil {
			return err
		}
	}
	out, err := c.Send(&b, rtnl.Options{})
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("set up rules: %w", err)
	}
	return nil
}

// appendRules appends Rules rules that match nothing here, or for Unmerge alone
// one that is removed again: what the first rule has unmerged stays so
// (fib_unmerge, net/ipv4/fib_frontend.c).
func (s *TableSpec) appendRules(b *rtnl.Batch, family int) error {
	rule := func(i int) rtnl.Rule {
		from := netip.PrefixFrom(ip4(198<<24|18<<16|uint32(i)), 32) // RFC 2544
		if family == 6 {
			from = netip.PrefixFrom(ip6(0x20010002_00000000, uint64(i)), 128) // RFC 5180
		}
		return rtnl.Rule{Family: family, From: from, Priority: uint32(1 + i), Table: unix.RT_TABLE_MAIN}
	}
	for i := range s.Rules {
		if err := b.NewRule(rule(i)); err != nil {
			return err
		}
	}
	if s.Rules > 0 {
		return nil
	}
	if err := b.NewRule(rule(0)); err != nil {
		return err
	}
	return b.DelRule(rule(0))
}

// Links is the kind of the links.
func (s *TableSpec) Links() *string { return &s.LinkKind }
