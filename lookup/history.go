package lookup

import (
	"net/netip"
	"sort"
	"sync"
	"time"
)

// A historyBook keeps when prefixes came and went.
type historyBook struct {
	mu sync.Mutex
	of map[netip.Prefix][]change
}

// A change of a prefix began and ended at these times, and left it present or
// absent.
type change struct {
	from, to time.Time
	present  bool
}

// Toggled tells that a toggling prefix was made present or absent by a request
// that was sent at one time and acknowledged at another. The changes of a prefix
// come in order of time and do not overlap. Before the first of them, and while
// one is under way, the prefix may be either.
//
// It is safe to call while lookups are made; the sampler then keeps their answers
// until it is stopped. It costs some 60 bytes a change: for rates of up to
// thousands a second.
func (o *Oracle) Toggled(p netip.Prefix, present bool, sent, acknowledged time.Time) {
	o.timed.Store(true)
	b := &o.histories
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[netip.Prefix][]change{}
	}
	b.of[p] = append(b.of[p], change{sent, acknowledged, present})
}

// presence reports what the history of a prefix says about the time from asked to
// answered: whether it may have been present at some time, and whether it must
// have been present all the time.
func (b *historyBook) presence(p netip.Prefix, asked, answered time.Time) (may, must bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := b.of[p]
	// The first change that had not ended before the question.
	i := sort.Search(len(changes), func(i int) bool { return !changes[i].to.Before(asked) })
	if i < len(changes) && !changes[i].from.After(answered) {
		return true, false // it was under way
	}
	if i == 0 {
		return true, false // nothing is known from before the first change
	}
	present := changes[i-1].present
	return present, present
}
