package offcpu_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/internal/kallsyms"
	"fibchurn/internal/netnstest"
	"fibchurn/internal/offcpu"
	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

func observer(t *testing.T) *offcpu.Observer {
	t.Helper()
	netnstest.Root(t)
	names, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	o, err := offcpu.New(names)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func run(t *testing.T, w churn.Workload) *results.Run {
	t.Helper()
	r, err := (&churn.Runner{Observers: []churn.Observer{observer(t)}}).Run(context.Background(), w, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Blocked == nil || r.Blocked.Lost != 0 || len(r.Blocked.Phases) != len(r.Phases) {
		t.Fatalf("blocked %+v of %d phases", r.Blocked, len(r.Phases))
	}
	return r
}

func kind(t *testing.T) string {
	t.Helper()
	k, err := ns.ChooseKind(ns.KindAuto)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// byKind is the waits of a phase, in ns and as a count.
func byKind(p *results.PhaseBlocked) (wall, count map[string]int64) {
	wall, count = map[string]int64{}, map[string]int64{}
	for _, w := range p.Waits {
		wall[w.Kind] += w.Wall
		count[w.Kind] += w.Count
	}
	return wall, count
}

// The removal of an empty interface is nearly nothing but grace periods, and the sum
// of the waits is what wall time and CPU time leave. CPU time is up to a timer tick off
// at a switch between two threads that are ready (see docs/blocked.md), so the median of
// several runs counts.
func TestDeletionIsGracePeriods(t *testing.T) {
	var apart []float64
	for range 8 {
		r := run(t, &churn.DeleteIfaceSpec{Load: "empty", Subnets: 1, Ifaces: 1, Families: []int{4}, LinkKind: kind(t), Setup: "up"})
		record, p := r.Phase("delete"), r.Blocked.Phase("delete")
		wall, count := byKind(p)
		for _, k := range []string{results.WaitSynchronizeNet, results.WaitRCUBarrier} {
			if count[k] == 0 {
				t.Errorf("no %s in %+v", k, p.Waits)
			}
		}
		others := wall[results.WaitRTNL] + wall[results.WaitLock] + wall[results.WaitCPU] // by what else runs on this machine
		if explained := wall[results.WaitSynchronizeNet] + wall[results.WaitSynchronizeRCU] + wall[results.WaitRCUBarrier]; explained < (record.Wall-others)/2 {
			t.Errorf("grace periods are %d of %d ns: %+v", explained, record.Wall, p.Waits)
		}
		for _, w := range p.Waits {
			if w.Kind == results.WaitLock || w.Kind == results.WaitOther {
				t.Logf("%s, %d ns: %s", w.Kind, w.Wall, w.Frames)
			}
		}
		if p.Wall() > record.Wall {
			t.Errorf("waits of %d ns in %d ns", p.Wall(), record.Wall)
		}
		off := float64(record.Blocked-p.Wall()) / float64(record.Blocked)
		t.Logf("wall %d, blocked %d, waits %d: %.2f %% apart; %v", record.Wall, record.Blocked, p.Wall(), 100*off, wall)
		apart = append(apart, max(off, -off))
	}
	slices.Sort(apart)
	if median := apart[len(apart)/2]; median > 0.03 {
		t.Errorf("the waits are %.1f %% off: %v", 100*median, apart)
	}
}

// With little memory allowed to be freed later, single routes wait for grace periods
// in the trie (tnode_free, net/ipv4/fib_trie.c).
func TestSyncMemShows(t *testing.T) {
	const file = "/proc/sys/net/ipv4/fib_sync_mem"
	netnstest.Root(t)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer set(string(before))
	set("65536")
	spec := &churn.RoutesSpec{
		TableSpec: churn.TableSpec{
			Layout: prefixes.Dense, Count: 4096, Families: []int{4}, Table: 254, Tables: 1, LinkKind: kind(t),
			Order: "added", Batch: churn.DefaultBatch, Ack: "last", Seed: 1,
		},
		Parallel: 1, ParallelIn: "table",
	}
	if err := spec.Generate(); err != nil {
		t.Fatal(err)
	}
	r := run(t, spec)
	wall, count := byKind(r.Blocked.Phase("delete"))
	t.Log(wall, count)
	if count[results.WaitSynchronizeNet] == 0 {
		t.Errorf("no synchronize_net: %+v", r.Blocked.Phase("delete").Waits)
	}
}

// stretch watches f on a thread of its own as a phase of one stretch.
func stretch(t *testing.T, f func()) (*results.PhaseBlocked, time.Duration) {
	t.Helper()
	o := observer(t)
	n, err := ns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := o.Start(n); err != nil {
		t.Fatal(err)
	}
	var wall time.Duration
	err = n.Do(func() error {
		witness, end, err := o.Phase("phase")
		if err != nil {
			return err
		}
		f() // before the stretch: nobody's business
		start := time.Now()
		f()
		wall = time.Since(start)
		witness.Timed(start, wall)
		f() // after it
		return end()
	})
	if err != nil {
		t.Fatal(err)
	}
	var record results.Run
	if err := o.Stop(&record); err != nil {
		t.Fatal(err)
	}
	return record.Blocked.Phase("phase"), wall
}

// What is known beforehand: a sleep, and a grace period.
func TestPlantedWaits(t *testing.T) {
	const long = 20 * time.Millisecond
	p, wall := stretch(t, func() {
		rest := unix.NsecToTimespec(long.Nanoseconds())
		for unix.Nanosleep(&rest, &rest) != nil {
		}
	})
	walls, count := byKind(p)
	t.Log(wall, walls)
	if slept := walls[results.WaitOther]; count[results.WaitOther] != 1 || slept < int64(long)-100_000 || p.Wall() > wall.Nanoseconds() {
		t.Errorf("a sleep of %v is %+v in a stretch of %v", long, p.Waits, wall)
	}
	if !strings.Contains(p.Waits[0].Frames, "hrtimer_nanosleep") {
		t.Errorf("%+v", p.Waits)
	}

	p, wall = stretch(t, func() {
		const global = 1 // MEMBARRIER_CMD_GLOBAL is synchronize_rcu
		if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
			t.Error(errno)
		}
	})
	walls, count = byKind(p)
	t.Log(wall, walls)
	if count[results.WaitSynchronizeRCU] == 0 || p.Wall() > wall.Nanoseconds() || p.Wall() < wall.Nanoseconds()*9/10 {
		t.Errorf("a grace period is %+v in a stretch of %v", p.Waits, wall)
	}
}

// A plan as a workload.
type planned struct{ plan *churn.Plan }

func (planned) Command() string              { return "planned" }
func (planned) Cell() string                 { return "cell" }
func (planned) Spec() any                    { return struct{}{} }
func (p planned) Plan() (*churn.Plan, error) { return p.plan, nil }

// Another thread holds RTNL, for the removal of an interface with many addresses in
// another namespace: requests of the timed thread wait for it.
func TestRTNLShows(t *testing.T) {
	var stop atomic.Bool
	held := make(chan error, 1)
	other := &churn.DeleteIfaceSpec{Load: "addrs", Subnets: 2048, Ifaces: 1, Families: []int{4}, LinkKind: kind(t), Setup: "down"}
	go func() {
		var err error
		for !stop.Load() && err == nil {
			_, err = (&churn.Runner{}).Run(context.Background(), other, 1)
		}
		held <- err
	}()
	defer func() {
		stop.Store(true)
		if err := <-held; err != nil {
			t.Error(err)
		}
	}()
	set := func(c *rtnl.Conn) (cost rtnl.Cost, err error) {
		var b rtnl.Batch
		for began := time.Now(); time.Since(began) < time.Second; {
			b.Reset()
			if err := b.SetLink(1, cost.Calls%2 == 0); err != nil {
				return cost, err
			}
			out, err := c.Send(&b, rtnl.Options{})
			cost.Add(out.Cost)
			if err = errors.Join(err, out.Err()); err != nil {
				return cost, err
			}
		}
		return cost, nil
	}
	// On a busy machine neither may come to it for a while.
	var p *results.PhaseBlocked
	for began := time.Now(); time.Since(began) < 30*time.Second; {
		p = run(t, planned{&churn.Plan{Phases: []*churn.Phase{{Name: "set", Timed: set}}}}).Blocked.Phase("set")
		walls, count := byKind(p)
		t.Log(walls, count)
		if walls[results.WaitRTNL] >= int64(20*time.Millisecond) {
			return
		}
	}
	t.Errorf("no waits for RTNL: %+v", p.Waits)
}

// Many writers wait for the one lock, each with a ring of its own.
func TestManyWriters(t *testing.T) {
	o := observer(t)
	spec := &churn.RoutesSpec{
		TableSpec: churn.TableSpec{
			Layout: prefixes.Dense, Count: 50_000, Families: []int{4}, Table: 254, Tables: 1, LinkKind: kind(t),
			Order: "added", Batch: churn.DefaultBatch, Ack: "last", Seed: 1,
		},
		Parallel: 100, ParallelIn: "table",
	}
	if err := spec.Generate(); err != nil {
		t.Fatal(err)
	}
	r, err := (&churn.Runner{Observers: []churn.Observer{o}}).Run(context.Background(), spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	// 100 writers of a lock that one can have.
	p := r.Blocked.Phase("add")
	walls, count := byKind(p)
	t.Log(walls, count, r.Blocked.Lost)
	for _, w := range p.Waits {
		if w.Kind == results.WaitLock {
			t.Logf("%d ns in %d: %s", w.Wall, w.Count, w.Frames)
		}
	}
	if count[results.WaitRTNL] == 0 || r.Blocked.Lost != 0 || p.Wall() > 100*r.Phase("add").Wall {
		t.Errorf("%+v of %+v", p.Waits, r.Phase("add"))
	}
}
