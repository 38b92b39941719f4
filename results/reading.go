package results

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The units of readings.
const (
	unitNS    = "ns"
	unitBytes = "B"
	unitRate  = "ops/s"
	unitRatio = "ratio"
	unitNone  = "" // a count
)

// A place says what a reading is of, in the words of the record: phase=delete.
type place struct{ key, value string }

// A quantity is what a reading tells. Its name is the record's without the unit.
type quantity struct {
	name   string
	unit   string
	better string // "lower", "higher", or "" where that is no question
}

// The directions in which a quantity gets better.
const (
	lower  = "lower"
	higher = "higher"
)

// A reading is one figure of one run, for other programs.
type reading struct {
	at []place
	quantity
	n     int64 // operations it is of, 1 at least
	value float64
}

// key tells readings of one run apart.
func (r *reading) key() string {
	var b strings.Builder
	for _, p := range r.at {
		b.WriteString(p.key + "=" + p.value + "\n")
	}
	return b.String() + r.name
}

// perOpName is the quantity of the time of one operation: what "ns per" is of in the
// table of phases, or where that is blank a request.
const perOpName = "wall_per_"

// readings returns the figures of a run: those of phases, single operations, lookups,
// packets, flapping, rebalancing and tries, in that order. What is unknown is left out.
func readings(r *Run) []reading {
	var all []reading
	for i := range r.Phases {
		all = append(all, phaseReadings(r, &r.Phases[i])...)
	}
	for i := range r.Latency {
		all = append(all, latencyReadings(&r.Latency[i])...)
	}
	all = append(all, packetReadings(r)...)
	all = append(all, flapReadings(r.flapping())...)
	all = append(all, resizeReadings(r.Resize)...)
	return append(all, trieReadings(r)...)
}

// phaseReadings leaves out the times of a phase that goes on for a given time: they
// are of as many operations as there was time for. CPU times that come in ticks of 10 ms
// are left out too, and what is blocked by them: for one phase they are chance.
func phaseReadings(r *Run, p *Phase) []reading {
	at := []place{{"phase", p.Name}}
	l := layoutOf(r.Command)
	n, of := l.per(p), strings.ReplaceAll(strings.TrimPrefix(l.perTitle, "ns per\n"), " ", "_")
	if n <= 0 && r.Forward == nil && r.Flood == nil {
		n, of = p.Ops, "op"
	}
	var all []reading
	add := func(name string, ns float64) {
		if !math.IsNaN(ns) {
			all = append(all, reading{at: at, quantity: quantity{name, unitNS, lower}, n: max(n, 1), value: ns})
		}
	}
	if n > 0 {
		add(perOpName+of, WallTime(p)/float64(n))
	}
	if !timedPhase(r.Command, p.Name) {
		add("wall", WallTime(p))
		if !tickedCPU(r) {
			add("cpu", CPUTime(p))
			add("blocked", BlockedTime(p))
		}
	}
	return append(all, distributionReadings(at, p.Each)...)
}

// distributionReadings are of single operations.
func distributionReadings(at []place, d *Distribution) []reading {
	if d == nil || d.Count == 0 {
		return nil
	}
	var all []reading
	for _, f := range []struct {
		name string
		ns   int64
	}{{"op_p50", d.P50}, {"op_p90", d.P90}, {"op_p99", d.P99}, {"op_p999", d.P999}, {"op_max", d.Max}} {
		all = append(all, reading{at: at, quantity: quantity{f.name, unitNS, lower}, n: d.Count, value: float64(f.ns)})
	}
	return all
}

func latencyReadings(l *Latency) []reading {
	if l.Count == 0 {
		return nil
	}
	at := []place{{"probe", l.Probe}, {"stretch", l.Stretch}}
	if l.Rate > 0 {
		at = append(at, place{"rate", strconv.FormatInt(l.Rate, 10)})
	}
	var all []reading
	for _, f := range []struct {
		name string
		ns   int64
	}{
		{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}, {"p999", l.P999}, {"max", l.Max},
		{"calibration_p50", l.CalibrationP50}, {"net_p50", l.NetP50},
	} {
		all = append(all, reading{at: at, quantity: quantity{f.name, unitNS, lower}, n: l.Count, value: float64(f.ns)})
	}
	return append(all, reading{at: at, quantity: quantity{"reached", unitRate, higher}, n: l.Count, value: l.Reached})
}

// packetReadings are of the packets that were forwarded, or answered with a cookie.
func packetReadings(r *Run) []reading {
	var all []reading
	add := func(stretch string, packets int64, dropped int64, gap float64, ok bool) {
		if !ok {
			return
		}
		at := []place{{"packets", stretch}}
		all = append(all,
			reading{at: at, quantity: quantity{"gap", unitNS, lower}, n: packets, value: gap},
			reading{at: at, quantity: quantity{"reached", unitRate, higher}, n: packets, value: 1e9 / gap},
			reading{at: at, quantity: quantity{"dropped", unitNone, lower}, n: 1, value: float64(dropped)})
	}
	if r.Forward != nil {
		for i := range r.Forward.Stretches {
			f := &r.Forward.Stretches[i]
			gap, ok := f.Gap()
			add(f.Stretch, f.Forwarded, f.Dropped(), gap, ok)
		}
	}
	if f := r.Flood; f != nil {
		gap, ok := f.Gap()
		add("cookies", f.Cookies, dropped(f.Drops), gap, ok)
	}
	return all
}

func flapReadings(f *Flap) []reading {
	if f == nil || f.Operations == 0 {
		return nil
	}
	at := []place{{"phase", flapPhase}}
	return []reading{
		{at: at, quantity: quantity{"reached", unitRate, higher}, n: f.Operations, value: f.Reached},
		{at: at, quantity: quantity{"late", unitRatio, lower}, n: f.Operations, value: float64(f.Late) / float64(f.Operations)},
	}
}

// resizeReadings are of the operations that change tnodes, by what they do, and of all.
func resizeReadings(r *Resize) []reading {
	if r == nil {
		return nil
	}
	all := distributionReadings([]place{{"op", "add"}}, r.Adds)
	all = append(all, distributionReadings([]place{{"op", "delete"}}, r.Deletes)...)
	for _, sort := range transitionSorts(r) {
		if ns, ok := r.typical(sort, nil); ok {
			at := []place{{"transition", sort}}
			all = append(all, reading{at: at, quantity: quantity{"crossing", unitNS, lower}, n: 1, value: ns})
		}
	}
	return all
}

func trieReadings(run *Run) []reading {
	r := ofFamilies(*run)
	var all []reading
	for _, m := range moments(r.Trie) {
		add := func(table, name, unit, better string, value float64) {
			at := []place{{"trie", m.when}, {"table", table}}
			all = append(all, reading{at: at, quantity: quantity{name, unit, better}, n: 1, value: value})
		}
		if t := m.tables.IPv4; t != nil {
			for _, row := range mergeTwins(t.Tables) {
				t := row.trie
				add(t.Name, "average_depth", unitNone, lower, t.AverageDepth)
				add(t.Name, "max_depth", unitNone, lower, float64(t.MaxDepth))
				add(t.Name, "leaves", unitNone, "", float64(t.Leaves))
				add(t.Name, "tnodes", unitNone, lower, float64(t.Tnodes))
				add(t.Name, "null_pointers", unitNone, lower, float64(t.NullPointers))
				add(t.Name, "memory", unitBytes, lower, float64(t.SizeKB)*1024)
			}
		}
		if t := m.tables.IPv6; t != nil {
			add("ipv6", "nodes", unitNone, "", float64(t.Nodes))
			add("ipv6", "route_nodes", unitNone, "", float64(t.RouteNodes))
			add("ipv6", "route_entries", unitNone, "", float64(t.RouteEntries))
		}
	}
	return all
}

// A digest is a reading of all samples of a cell.
type digest struct {
	cell string
	at   []place
	quantity
	Summary
}

// digests summarises the readings of a block cell by cell, boots entering as in Of, and
// then net of the empty cell what the table of phases has so.
func digests(b block) []digest {
	var all []digest
	for _, c := range b.cells {
		var order []string
		first, values := map[string]reading{}, map[string]*byBoot{}
		for i := range c.runs {
			for _, r := range readings(&c.runs[i]) {
				key := r.key()
				if values[key] == nil {
					order = append(order, key)
					first[key], values[key] = r, &byBoot{}
				}
				values[key].add(c.runs[i].Boot, r.value)
			}
		}
		for _, key := range order {
			r := first[key]
			all = append(all, digest{c.name, r.at, r.quantity, values[key].summarize()})
		}
	}
	return append(all, netDigests(b)...)
}

func netDigests(b block) []digest {
	l, empty := layoutOf(b.runs[0].Command), b.cell(cellEmpty)
	if l.net == "" || empty == nil {
		return nil
	}
	var all []digest
	for _, c := range b.cells {
		if c.name == cellEmpty {
			continue
		}
		ticked := slices.ContainsFunc(c.runs, func(r Run) bool { return tickedCPU(&r) })
		for _, f := range []struct {
			name string
			m    Metric
		}{{"net_wall", WallTime}, {"net_cpu", CPUTime}} {
			if s := Net(c.runs, empty.runs, l.net, f.m); s.N > 0 && !(ticked && f.name == "net_cpu") {
				all = append(all, digest{c.name, []place{{"phase", l.net}}, quantity{f.name, unitNS, lower}, s})
			}
		}
	}
	return all
}
