// Command bench measures fibchurn against what its users have otherwise: a C
// program that does nothing but send encoded requests, and ip -batch; all in one
// network namespace, in alternating runs. `make bench` runs it; docs/performance.md
// has what it printed.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/internal/prefixes"
	"fibchurn/internal/rtnl"
	"fibchurn/ns"
	"fibchurn/results"
)

func main() {
	count := flag.Int("count", 100_000, "routes")
	runs := flag.Int("runs", 15, "alternating runs")
	binary := flag.String("fibchurn", "bin/fibchurn", "the program, for its memory at a million routes")
	flag.Parse()
	if err := bench(*count, *runs, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(count, runs int, binary string) error {
	dir, err := os.MkdirTemp("", "fibchurn-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(dir, count)
	if err != nil {
		return err
	}
	defer b.close()
	for _, batch := range []int{64, 256, 1024} {
		if err := b.floor(runs, batch); err != nil {
			return err
		}
	}
	if err := b.ipBatch(runs); err != nil {
		return err
	}
	return memory(binary)
}

// A bencher is one namespace with one link, and routes that go through it.
type bencher struct {
	n       *ns.Namespace
	c       *rtnl.Conn
	link    ns.Link
	set     *prefixes.Set
	dir     string
	program string // the C floor
}

func newBench(dir string, count int) (*bencher, error) {
	kind, err := ns.ChooseKind(ns.KindAuto)
	if err != nil {
		return nil, err
	}
	n, err := ns.New()
	if err != nil {
		return nil, err
	}
	b := &bencher{n: n, link: ns.NewLink(kind, 0), dir: dir, program: filepath.Join(dir, "floor")}
	if b.c, err = n.Dial(); err != nil {
		return nil, err
	}
	if b.set, err = prefixes.Generate(prefixes.Dense, prefixes.IPv4, count, 0); err != nil {
		return nil, err
	}
	var batch rtnl.Batch
	if err := errors.Join(b.link.Create(&batch), b.link.BringUp(&batch)); err != nil {
		return nil, err
	}
	if out, err := b.c.Send(&batch, rtnl.Options{}); err != nil || out.Err() != nil {
		return nil, errors.Join(err, out.Err())
	}
	compile := exec.Command("cc", "-O2", "-o", b.program, "internal/bench/testdata/floor.c")
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the C floor: %w: %s", err, out)
	}
	return b, nil
}

func (b *bencher) close() {
	b.c.Close()
	b.n.Close()
}

// ours adds or deletes all routes and returns the time of the calls alone, and that
// of everything: encoding, calls, answers.
func (b *bencher) ours(add bool, perCall int) (calls, all time.Duration, cost rtnl.Cost, err error) {
	make := rtnl.DelRoute
	if add {
		make = rtnl.NewRoute
	}
	template, err := make(rtnl.Route{Family: 4, Table: unix.RT_TABLE_MAIN, Index: b.link.Index})
	if err != nil {
		return 0, 0, cost, err
	}
	err = b.n.Do(func() error {
		var batch rtnl.Batch
		start := time.Now()
		for from := 0; from < b.set.Len(); from += 16 << 10 {
			batch.Reset()
			for i := from; i < min(from+16<<10, b.set.Len()); i++ {
				batch.AppendPrefix(template, b.set.At(i))
			}
			out, err := b.c.Send(&batch, rtnl.Options{PerCall: perCall})
			if err != nil || out.Err() != nil {
				return errors.Join(err, out.Err())
			}
			cost.Add(out.Cost)
		}
		all = time.Since(start)
		return nil
	})
	return cost.Wall, all, cost, err
}

// inside executes a program in the namespace.
func (b *bencher) inside(name string, args ...string) (out []byte, wall time.Duration, err error) {
	err = b.n.Do(func() error { // a child is in the namespace of the thread that starts it
		cmd := exec.Command(name, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start := time.Now()
		out, err = cmd.Output()
		wall = time.Since(start)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, &stderr)
		}
		return nil
	})
	return out, wall, err
}

func (b *bencher) cFloor(add bool, perCall int) (time.Duration, error) {
	verb := map[bool]string{true: "add", false: "delete"}[add]
	out, _, err := b.inside(b.program, verb, strconv.Itoa(int(b.link.Index)), strconv.Itoa(b.set.Len()), strconv.Itoa(perCall))
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.Fields(string(out))[0], 10, 64)
	return time.Duration(ns), err
}

// floor alternates between fibchurn and the C floor.
func (b *bencher) floor(runs, perCall int) error {
	ratios := map[string][]float64{}
	var user, cpu time.Duration
	for i := range runs + 1 {
		times := map[string]time.Duration{}
		for j := range 2 {
			oursFirst := (i+j)%2 == 0
			for _, add := range []bool{true, false} {
				verb := map[bool]string{true: "add", false: "delete"}[add]
				if oursFirst {
					calls, all, cost, err := b.ours(add, perCall)
					if err != nil {
						return err
					}
					times[verb+" calls"], times[verb+" all"] = calls, all
					user, cpu = user+cost.User, cpu+cost.User+cost.System
				} else {
					wall, err := b.cFloor(add, perCall)
					if err != nil {
						return err
					}
					times[verb+" C"] = wall
				}
			}
		}
		if i == 0 {
			continue // warm-up
		}
		for _, verb := range []string{"add", "delete"} {
			for _, what := range []string{"calls", "all"} {
				key := verb + " " + what
				ratios[key] = append(ratios[key], float64(times[key])/float64(times[verb+" C"]))
			}
		}
	}
	for _, verb := range []string{"add", "delete"} {
		report(fmt.Sprintf("%s, %d a call: timed calls against C", verb, perCall), ratios[verb+" calls"])
		report(fmt.Sprintf("%s, %d a call: with encoding and answers against C", verb, perCall), ratios[verb+" all"])
	}
	fmt.Printf("user share of the timed CPU, %d a call: %.2f %%\n", perCall, 100*float64(user)/float64(cpu))
	return nil
}

// ipBatch alternates between fibchurn and ip -batch.
func (b *bencher) ipBatch(runs int) error {
	files := map[bool]string{}
	for _, add := range []bool{true, false} {
		verb := map[bool]string{true: "add", false: "del"}[add]
		var text bytes.Buffer
		for _, p := range b.set.All() {
			fmt.Fprintf(&text, "route %s %s dev %s\n", verb, netip.Prefix(p), b.link.Name)
		}
		files[add] = filepath.Join(b.dir, verb)
		if err := os.WriteFile(files[add], text.Bytes(), 0o600); err != nil {
			return err
		}
	}
	ours, floor := map[bool][]float64{}, map[bool][]float64{}
	for range runs {
		fibchurn, c := map[bool]time.Duration{}, map[bool]time.Duration{}
		for _, add := range []bool{true, false} {
			var err error
			if _, fibchurn[add], _, err = b.ours(add, 256); err != nil {
				return err
			}
		}
		for _, add := range []bool{true, false} {
			var err error
			if c[add], err = b.cFloor(add, 256); err != nil {
				return err
			}
		}
		for _, add := range []bool{true, false} {
			_, wall, err := b.inside("ip", "-batch", files[add])
			if err != nil {
				return err
			}
			ours[add] = append(ours[add], float64(wall)/float64(fibchurn[add]))
			floor[add] = append(floor[add], float64(wall)/float64(c[add]))
		}
	}
	for _, add := range []bool{true, false} {
		verb := map[bool]string{true: "add", false: "delete"}[add]
		report(verb+", 256 a call: throughput against ip -batch", ours[add])
		report(verb+", 256 a call: throughput of the C floor against ip -batch", floor[add])
	}
	return nil
}

// memory is the largest resident size of the program at a million routes.
func memory(binary string) error {
	cmd := exec.Command(binary, "routes", "--count", "1M", "--runs", "1", "--warmup", "0", "-q", "-j")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	rusage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Printf("resident memory of fibchurn routes --count 1M: %d MiB at most\n", rusage.Maxrss>>10)
	return nil
}

func report(what string, ratios []float64) {
	s := results.Summarize(ratios)
	fmt.Printf("%s: median %.3f times, 95 %% interval %.3f to %.3f, %.3f to %.3f in %d alternating runs\n",
		what, s.Median, s.Lo, s.Hi, s.Min, s.Max, s.N)
}
