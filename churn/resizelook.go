package churn

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"fibchurn/internal/lctrie"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// evenLooks is how many looks a pass takes besides those around the operations
// that the record tells.
const evenLooks = 16

// looks are what a run's looks at the trie showed.
type looks struct {
	table string // as fib_triestat names it

	taken, equal int64
	crossings    int64                 // of the record
	asForecast   int64                 // of these, that changed what the forecast says
	differences  []results.Check       // of the first look that was not equal
	sizes        map[int]map[int]int64 // by operation, -1 before the first: tnodes by bits after it
	calls        results.ResizeCalls
	wantCalls    int64
	unknown      string // why this kernel need not do what the model says, "" if it must
}

// look goes through the operations once more, in a namespace of its own and in
// large calls, and compares the trie with the model's before and after every
// operation that the record tells. It runs beside the timed namespace, of which
// it checks the shapes at both ends.
func (r *resizeRun) look(*rtnl.Conn) (rtnl.Cost, error) {
	l := &looks{table: r.tableName(), sizes: map[int]map[int]int64{}, wantCalls: r.spec.forecast.events.Resizes, unknown: unknownRules()}
	r.looks = l
	model, err := r.spec.forecast.filled(r.spec.Root)
	if err != nil {
		return rtnl.Cost{}, err
	}
	if err := l.compare("the fill", r.start, model.Shape()); err != nil {
		return rtnl.Cost{}, err
	}
	n, c, closeAll, err := r.second()
	if err != nil {
		return rtnl.Cost{}, err
	}
	defer closeAll()
	cost, err := r.replay(n, c, model)
	if err == nil {
		err = l.compare("the timed operations", r.end, model.Shape())
	}
	for _, op := range r.crossings() {
		before, after := l.around(int(op.Index))
		l.crossings++
		if maps.Equal(before, op.Before) && maps.Equal(after, op.After) {
			l.asForecast++
		}
	}
	return cost, err
}

func (r *resizeRun) tableName() string {
	if r.spec.Root {
		return strconv.Itoa(resizeTable)
	}
	return "main"
}

// second makes the namespace of the looks, with the table filled.
func (r *resizeRun) second() (n *ns.Namespace, c *rtnl.Conn, closeAll func(), err error) {
	if n, err = ns.New(); err != nil {
		return nil, nil, nil, err
	}
	tuns := &tunSet{}
	closeAll = func() {
		if c != nil {
			c.Close()
		}
		tuns.close()
		n.Close()
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	if err = quiet(n, r.spec.Families); err != nil {
		return nil, nil, nil, err
	}
	if c, err = n.Dial(); err != nil {
		return nil, nil, nil, err
	}
	err = n.Do(func() error {
		for _, ph := range []*Phase{createLinks(r.links, tuns), setLinks("up", r.links, true)} {
			if _, _, err := ph.execute(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		setup := r.spec.forecast.pattern.setup
		_, err = r.send(c, 0, len(setup), func(i int) routeOp { return setup[i] })
	}
	return n, c, closeAll, err
}

// replay sends the operations between looks, and does them in the model.
func (r *resizeRun) replay(n *ns.Namespace, c *rtnl.Conn, model *lctrie.Trie) (cost rtnl.Cost, err error) {
	pattern, l := &r.spec.forecast.pattern, r.looks
	counter, why := openResizeCounter()
	l.calls.Why = why
	defer counter.close()
	done := 0
	for _, last := range r.lookAfter() {
		out, err := r.send(c, done, last+1, pattern.at)
		if err != nil {
			return cost, err
		}
		cost.Add(out)
		for ; done <= last; done++ {
			if _, err := apply(model, pattern.at(done), r.spec.Root); err != nil {
				return cost, err
			}
			if done%collectEvery == 0 {
				runtime.GC() // the runner holds it off
			}
		}
		tables, err := n.Tables()
		if err != nil {
			return cost, err
		}
		if err := l.compare(r.where(last), tables, model.Shape()); err != nil {
			return cost, err
		}
		l.sizes[last] = triestatOf(tables, l.table).TnodesByBits
	}
	l.calls.Counted, err = counter.read()
	return cost, err
}

// collectEvery bounds the garbage that the model makes.
const collectEvery = 1 << 17

// lookAfter are the operations after which the trie is looked at, -1 for before
// the first: those around each that the record tells, some evenly between, and
// the last.
func (r *resizeRun) lookAfter() []int {
	last := len(r.times) - 1
	after := []int{-1, last}
	for i := range evenLooks {
		after = append(after, i*last/evenLooks)
	}
	for _, list := range [][]results.ResizeOperation{r.crossings(), r.spikes()} {
		for _, op := range list {
			after = append(after, int(op.Index)-1, int(op.Index))
		}
	}
	slices.Sort(after)
	return slices.Compact(after)
}

// where names a look in a check.
func (r *resizeRun) where(i int) string {
	if i < 0 {
		return "the fill, in the second pass"
	}
	op := r.spec.forecast.pattern.at(i)
	return fmt.Sprintf("operation %d (%s %s, %d routes)", i, op.verb(), op.prefix, r.spec.forecast.size(i))
}

// compare compares one look with the model. The number of prefixes is left out:
// kernels before 5.14 give the loopback interface one alias more.
func (l *looks) compare(after string, tables results.Tables, want lctrie.Shape) error {
	if tables.IPv4 == nil {
		return &ns.UnsupportedError{What: "the shape of the trie", Why: "there is no /proc/net/fib_triestat", Help: "use a kernel with CONFIG_PROC_FS, and mount /proc"}
	}
	got := triestatOf(tables, l.table)
	l.taken++
	checks := []results.Check{
		{Name: "leaves after " + after, Want: want.Leaves, Got: got.Leaves},
		{Name: "tnodes after " + after, Want: want.Tnodes, Got: got.Tnodes},
		{Name: "pointers after " + after, Want: want.Pointers, Got: got.Pointers},
		{Name: "null pointers after " + after, Want: want.NullPointers, Got: got.NullPointers},
		{Name: "max depth after " + after, Want: int64(want.MaxDepth), Got: int64(got.MaxDepth)},
		{Name: "hundredths of average depth after " + after, Want: hundredths(want.AverageDepth), Got: hundredths(got.AverageDepth)},
	}
	was, is := changedSizes(want.TnodesByBits, got.TnodesByBits)
	for bits := range 33 {
		if was[bits] != is[bits] {
			checks = append(checks, results.Check{Name: fmt.Sprintf("tnodes of %d bits after %s", bits, after), Want: was[bits], Got: is[bits]})
		}
	}
	checks = slices.DeleteFunc(checks, results.Check.OK)
	if len(checks) == 0 {
		l.equal++
	} else if l.differences == nil {
		l.differences = checks
	}
	return nil
}

func hundredths(x float64) int64 { return int64(math.Round(100 * x)) }

// triestatOf is the trie of that name, an empty one where the kernel shows none.
func triestatOf(tables results.Tables, name string) results.Trie {
	for _, t := range tables.IPv4.Tables {
		if t.Name == name {
			return t
		}
	}
	return results.Trie{}
}

// checks demand that every look showed what the model had predicted, of a kernel
// whose rules are the model's.
func (l *looks) checks() []results.Check {
	if l.unknown != "" {
		return nil
	}
	checks := []results.Check{{Name: "looks at the trie that show the predicted tnodes", Want: l.taken, Got: l.equal}}
	if l.crossings > 0 {
		checks = append(checks, results.Check{Name: "crossings that change the predicted tnodes", Want: l.crossings, Got: l.asForecast})
	}
	if l.calls.Why == "" {
		checks = append(checks, results.Check{Name: "calls of resize", Want: l.wantCalls, Got: l.calls.Counted})
	}
	return append(checks, l.differences...)
}

// reportLooks puts what the looks showed into the record, in place of what was
// predicted.
func (r *resizeRun) reportLooks(run *results.Run, _ []time.Duration) {
	rec := *run.Resize // an abort may hold a copy of the record
	rec.Calls = r.looks.calls
	if r.looks.unknown == "" {
		rec.Looks = r.looks.taken
	}
	rec.Crossings, rec.Spikes = r.seen(rec.Crossings), r.seen(rec.Spikes)
	run.Resize = &rec
	if why := r.looks.unknown; why != "" {
		run.Warnings = append(run.Warnings, results.Warning{Kind: "resize-rules", Text: "not checked against the model of the trie: " + why})
	}
}

// seen gives operations the changes of tnodes that the looks around them showed.
func (r *resizeRun) seen(operations []results.ResizeOperation) []results.ResizeOperation {
	list := slices.Clone(operations)
	for i := range list {
		at := int(list[i].Index)
		list[i].Before, list[i].After = r.looks.around(at)
	}
	return list
}

// around are the sizes of tnodes that operation i was seen to change.
func (l *looks) around(i int) (before, after map[int]int64) {
	return changedSizes(l.sizes[i-1], l.sizes[i])
}

// unknownRules says why the running kernel's trie need not be the model's, which
// has been compared with kernels from 4.4 on.
func unknownRules() string {
	release, err := kernelRelease()
	var major, minor int
	if _, scanErr := fmt.Sscanf(release, "%d.%d", &major, &minor); errors.Join(err, scanErr) != nil {
		return ""
	}
	if major < 4 || major == 4 && minor < 4 {
		return "Linux " + release + " is older than 4.4; until 4.1 the local and main tables had tries of their own, and until 4.0 resize had other rules"
	}
	return ""
}
