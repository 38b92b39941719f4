package lookup

import "fibchurn/internal/monotonic"

import hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

// A burster is an instrument that has the kernel make many lookups a call.
type burster struct {
	probe *BPFProbe
	clock *monotonic.Clock
	burst [2]int // lookups a call, so that one takes about burstTime

	// Made once, since a turn allocates nothing: files times in the sheet, and passes
	// reports on.
	file  func(ns, count int64)
	sheet *hdrhistogram.Histogram
	pass  func(report)
	to    func(report)
}

func newBurster(p *BPFProbe, c *monotonic.Clock) *burster {
	b := &burster{probe: p, clock: c, burst: [2]int{256, 256}}
	b.file = func(ns, count int64) { record(b.sheet, ns, count) }
	b.pass = func(r report) {
		r.asked = b.clock.FromKernel(r.asked) - b.clock.Doubt()
		r.answered = b.clock.FromKernel(r.answered) + b.clock.Doubt()
		b.to(r)
	}
	return b
}

// burstTime is how long one call may take, in ns: a stretch ends no later than
// that.
const burstTime = 1_000_000

func (b *burster) turn(t *turn) error {
	if t.pace.rate > 0 {
		return b.paced(t)
	}
	burst := &b.burst[t.column()]
	for {
		start := t.clock.Now()
		if t.over(start) {
			break
		}
		if err := b.probe.Burst(*burst, t.blank); err != nil {
			return err
		}
		end := t.clock.Now()
		t.tell(start, end)
		took := max(1, end-start)
		*burst = int(min(max(int64(*burst)*burstTime/took, 64), int64(*burst)*2, maxBurst))
	}
	b.sheet = t.sheet.times[t.column()]
	b.probe.Times(t.blank, b.file)
	return nil
}

// paced makes single lookups when they are due. The time of one is what the kernel
// measured, and how late it was asked where the one before it was the reason; the
// way into the kernel is in neither.
func (b *burster) paced(t *turn) error {
	for i := int64(0); ; i++ {
		due := t.pace.due(i)
		if t.over(due) {
			return nil
		}
		late := max(0, t.clock.Now()-due)
		waitUntil(t.clock, due)
		if t.over(due) {
			return nil
		}
		var asked int64
		if t.witness != nil {
			asked = t.clock.Now()
		}
		ns, err := b.probe.One(t.blank)
		if err != nil {
			return err
		}
		if t.witness != nil {
			t.tell(asked, t.clock.Now())
		}
		t.record(ns + late)
		t.note(late)
	}
}

// drain passes on reports with the times of this process's clock, made as wide as
// the doubt between the clocks.
func (b *burster) drain(f func(report)) {
	b.to = f
	b.probe.drain(b.pass)
}

func (b *burster) last(f func(report)) {
	b.to = f
	b.probe.last(b.pass)
}

func (b *burster) unkept() int64 { return b.probe.unkept() }
func (b *burster) close() error  { return b.probe.Close() }
