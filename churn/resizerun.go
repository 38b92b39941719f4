package churn

import (
	"fmt"
	"time"

	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

// A resizeRun is one run of resize.
type resizeRun struct {
	spec        *ResizeSpec
	links       []ns.Link
	add, remove *rtnl.Template // in the pattern's table
	aside       *rtnl.Template // ballast, in the main table

	start, end results.Tables // of the timed namespace, around the operations
	times      []operationTime
	looks      *looks
}

// An operationTime is what one operation took.
type operationTime struct {
	wall    time.Duration
	blocked time.Duration // of that, 0 where the thread did not give up the CPU
}

// busy is the time without waits.
func (t operationTime) busy() time.Duration { return t.wall - t.blocked }

func newResizeRun(s *ResizeSpec, links []ns.Link) (*resizeRun, error) {
	r := &resizeRun{spec: s, links: links}
	route := rtnl.Route{Family: 4, Table: s.table(), Index: links[0].Index}
	var err error
	if r.add, err = rtnl.NewRoute(route); err != nil {
		return nil, err
	}
	if r.remove, err = rtnl.DelRoute(route); err != nil {
		return nil, err
	}
	route.Table = mainTable
	r.aside, err = rtnl.NewRoute(route)
	return r, err
}

// encode appends an operation's request.
func (r *resizeRun) encode(b *rtnl.Batch, op routeOp) {
	t := r.add
	switch {
	case op.aside:
		t = r.aside
	case op.remove:
		t = r.remove
	}
	b.AppendPrefix(t, op.prefix)
}

// send sends operations from until before to in large calls.
func (r *resizeRun) send(c *rtnl.Conn, from, to int, at func(int) routeOp) (rtnl.Cost, error) {
	var cost rtnl.Cost
	var b rtnl.Batch
	for from < to {
		b.Reset()
		end := min(to, from+chunk)
		for i := from; i < end; i++ {
			r.encode(&b, at(i))
		}
		out, err := c.Send(&b, rtnl.Options{PerCall: requestsPerCall})
		cost.Add(out.Cost)
		if err == nil && len(out.Failures) > 0 {
			op := at(from + out.Failures[0].Request)
			err = fmt.Errorf("%s route %s: %w", op.verb(), op.prefix, out.Err())
		}
		if err != nil {
			return cost, err
		}
		from = end
	}
	return cost, nil
}

// fill sets the table up.
func (r *resizeRun) fill(c *rtnl.Conn) (rtnl.Cost, error) {
	setup := r.spec.forecast.pattern.setup
	cost, err := r.send(c, 0, len(setup), func(i int) routeOp { return setup[i] })
	if err == nil {
		r.start, err = ns.TablesHere()
	}
	return cost, err
}

// measure sends the operations one by one and keeps the time of each.
func (r *resizeRun) measure(c *rtnl.Conn) (cost rtnl.Cost, err error) {
	pattern := &r.spec.forecast.pattern
	r.times = make([]operationTime, pattern.ops())
	var b rtnl.Batch
	for i := range r.times {
		op := pattern.at(i)
		b.Reset()
		r.encode(&b, op)
		out, err := c.Send(&b, rtnl.Options{PerCall: 1})
		cost.Add(out.Cost)
		if err == nil {
			err = out.Err()
		}
		if err != nil {
			return cost, fmt.Errorf("%s route %s: %w", op.verb(), op.prefix, err)
		}
		r.times[i] = timeOf(out.Cost)
	}
	r.end, err = ns.TablesHere()
	return cost, err
}

// timeOf takes the time of one call. Only a thread that gave up the CPU was
// blocked; a difference of wall and CPU time else is the clocks' and preemption.
func timeOf(c rtnl.Cost) operationTime {
	t := operationTime{wall: c.Wall}
	if c.VoluntarySwitches > 0 {
		t.blocked = max(0, c.Wall-c.User-c.System)
	}
	return t
}
