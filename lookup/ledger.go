package lookup

// A sighting is an answer and the last lookup that gave it.
type sighting struct {
	answer          packed // 0: none yet
	asked, answered int64  // ns of the sampler's clock
}

// A report is a sighting of a key that is to be checked.
type report struct {
	key int
	sighting
}

// A ledger keeps of each key the answers a probe got, so that they can be checked
// outside the clock: of every run of equal answers the first and the last. It
// allocates nothing after it was made.
type ledger struct {
	latest []sighting // by key
	log    []report   // what latest had no room for
	unkept int64      // reports that the log had no room for
}

// maxReports bounds the log of a ledger: 8 MB.
const maxReports = 1 << 18

func newLedger(keys int) *ledger {
	return &ledger{latest: make([]sighting, keys), log: make([]report, 0, maxReports)}
}

// note enters an answer to a key.
func (l *ledger) note(key int, answer packed, asked, answered int64) {
	last := &l.latest[key]
	if last.answer != answer {
		if last.answer != 0 {
			l.keep(report{key, *last})
		}
		l.keep(report{key, sighting{answer, asked, answered}})
	}
	*last = sighting{answer, asked, answered}
}

func (l *ledger) keep(r report) {
	if len(l.log) == cap(l.log) {
		l.unkept++
		return
	}
	l.log = append(l.log, r)
}

// drain passes on the reports of the log and empties it.
func (l *ledger) drain(f func(report)) {
	for _, r := range l.log {
		f(r)
	}
	l.log = l.log[:0]
}

// last passes on everything.
func (l *ledger) last(f func(report)) {
	l.drain(f)
	for key, s := range l.latest {
		if s.answer != 0 {
			f(report{key, s})
		}
	}
}
