package profile

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/kallsyms"
	"fibchurn/internal/monotonic"
	"fibchurn/internal/netnstest"
	"fibchurn/internal/rtnl"
)

// A notary passes on what it is told, and keeps it.
type notary struct {
	rtnl.Witness
	clock     *monotonic.Clock
	stretches []stretch
}

func (n *notary) Timed(start time.Time, wall time.Duration) {
	n.Witness.Timed(start, wall)
	from := n.clock.ToKernel(start)
	n.stretches = append(n.stretches, stretch{from, from + wall.Nanoseconds()})
}

// perf(1) and the profile watch the same thread at the same time, at rates that have
// nothing to do with each other: of every function above 5 % they say the same, within
// 3 points.
func TestAgreesWithPerf(t *testing.T) {
	n, c := netnstest.New(t)
	if _, err := exec.LookPath("perf"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("perf must be there in continuous integration")
		}
		t.Skip("needs perf (Debian: linux-perf)")
	}
	link := netnstest.Link(t, c)
	batch := func(template func(rtnl.Route) (*rtnl.Template, error)) *rtnl.Batch {
		r, err := template(rtnl.Route{Family: 4, Index: link.Index})
		if err != nil {
			t.Fatal(err)
		}
		b := &rtnl.Batch{}
		for i := range 1 << 14 { // dense, so that removing the first of them walks the others
			b.AppendPrefix(r, netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0}), 24))
		}
		return b
	}
	add, del := batch(rtnl.NewRoute), batch(rtnl.DelRoute)
	p, err := Open(4999, Thread)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.event.name != "cpu-clock" {
		p.event = &events()[1] // what perf is asked for below
	}
	if err := p.Start(n); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "perf.data")
	var told []stretch
	err = n.Do(func() (err error) {
		stop, err := record(file, unix.Gettid())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		w, end, err := p.Phase("work")
		if err != nil {
			return err
		}
		witness := &notary{w, &p.clock, make([]stretch, 0, 1<<16)}
		c.SetWitness(witness)
		for until := cpuTime() + 4*time.Second; cpuTime() < until; {
			for _, b := range []*rtnl.Batch{add, del} {
				out, err := c.Send(b, rtnl.Options{PerCall: 64})
				if err == nil {
					err = out.Err()
				}
				if err != nil {
					return err
				}
			}
		}
		c.SetWitness(nil)
		told = witness.stretches
		return end()
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]float64{}
	ph := stopped(t, p).Phases[0]
	for _, s := range ph.Stacks {
		ours[s.Frames[strings.LastIndex(s.Frames, ";")+1:]] += 100 * float64(s.Samples) / float64(ph.Samples)
	}
	theirs, samples := reported(t, file, told)
	t.Logf("%d samples, perf has %d", ph.Samples, samples)
	if ph.Samples < 5000 || samples < 5000 {
		t.Fatal("too few samples to tell")
	}
	compared := 0
	for name := range ours {
		if ours[name] < 5 && theirs[name] < 5 {
			continue
		}
		compared++
		t.Logf("%-32s %5.1f %%, perf %5.1f %%", name, ours[name], theirs[name])
		if math.Abs(ours[name]-theirs[name]) > 3 {
			t.Errorf("%s: %.1f %%, perf says %.1f %%", name, ours[name], theirs[name])
		}
	}
	for name, share := range theirs {
		if share > 5 && ours[name] == 0 {
			t.Errorf("%s: perf says %.1f %%, and it is not in the profile", name, share)
		}
	}
	if compared < 2 {
		t.Errorf("%d functions above 5 %%", compared)
	}
}

// record has perf sample a thread until stop is called.
func record(file string, thread int) (stop func() error, err error) {
	cmd := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-F", "3989", "-k", "CLOCK_MONOTONIC", "-t", strconv.Itoa(thread), "-o", file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		_ = cmd.Process.Signal(unix.SIGINT)
		var killed *exec.ExitError // by the signal, as it should be
		if err := cmd.Wait(); err != nil && !errors.As(err, &killed) {
			return err
		}
		return nil
	}
	for range 500 {
		time.Sleep(10 * time.Millisecond)
		files, err := filepath.Glob("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/fd/*")
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if target, err := os.Readlink(f); err == nil && target == "anon_inode:[perf_event]" {
				time.Sleep(200 * time.Millisecond) // it is enabled soon after
				return stop, nil
			}
		}
	}
	return nil, errors.Join(errors.New("perf opened no event"), stop())
}

// reported are the shares of perf's samples within the stretches, in %.
func reported(t *testing.T, file string, within []stretch) (shares map[string]float64, samples int) {
	t.Helper()
	out, err := exec.Command("perf", "script", "-i", file, "--ns", "-F", "time,ip,sym").Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	i := 0
	for line := range strings.Lines(string(out)) { // "  123.456789012:  ffffffff82067e50 update_suffix"
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		seconds, nanoseconds, _ := strings.Cut(strings.TrimSuffix(fields[0], ":"), ".")
		s, err1 := strconv.ParseInt(seconds, 10, 64)
		ns, err2 := strconv.ParseInt(nanoseconds, 10, 64)
		if err := errors.Join(err1, err2); err != nil || len(nanoseconds) != 9 {
			t.Fatalf("%q: %v", line, err)
		}
		at := s*1e9 + ns
		for i < len(within) && within[i].end < at {
			i++
		}
		if i == len(within) || !within[i].has(at) {
			continue
		}
		samples++
		counts[kallsyms.Plain(fields[2])]++
	}
	shares = map[string]float64{}
	for name, n := range counts {
		shares[name] = 100 * float64(n) / float64(samples)
	}
	return shares, samples
}
