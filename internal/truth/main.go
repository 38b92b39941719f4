// Command truth puts fibchurn's verdicts to the proof: it has the program measure what
// is known to be equal, and what is known to be slower, and counts how often the
// program says so. `make truth` runs it; docs/performance.md has what it printed.
//
// It works in namespaces and guests that it makes, and prints one line for each
// finding. The exit code is 1 where one is not what it should be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fibchurn/vm"
)

func main() {
	vm.Inside(inGuest)
	if len(os.Args) == 2 && os.Args[1] == spinArgument {
		spin()
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	s := settings{ctx: ctx, out: os.Stdout, script: ".ci/nightly"}
	parts := flag.String("parts", strings.Join(partNames(), ","), "what to prove, comma-separated")
	flag.StringVar(&s.binary, "fibchurn", "bin/fibchurn", "the program")
	flag.StringVar(&s.kernel, "uml", defaultKernel(), "a User-Mode Linux kernel, for equal-guests, nights and soak")
	flag.IntVar(&s.tables, "tables", 100, "comparisons of equals, natively and in guests")
	flag.IntVar(&s.tries, "tries", 100, "tries of each planted slow-down")
	flag.StringVar(&s.metric, "metric", "wall", "time of the planted slow-downs: wall, or on a busy machine cpu")
	flag.IntVar(&s.nights, "nights", 24, "simulated nights")
	flag.DurationVar(&s.soak, "soak", 30*time.Minute, "length of the soak")
	flag.Parse()
	if err := s.prove(strings.Split(*parts, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		release()
		os.Exit(1)
	}
}

// settings are how much is to be proved, and with what.
type settings struct {
	ctx    context.Context // its end ends everything
	binary string          // fibchurn
	kernel string          // User-Mode Linux
	script string          // the nightly comparison
	// program is this one, for a guest; empty: the one that runs.
	program string
	out     io.Writer

	metric                string // of planted slow-downs
	tables, tries, nights int
	soak                  time.Duration
}

// errFalse is wrapped where the program's verdicts are not what they should be.
var errFalse = errors.New("not as it should be")

type part struct {
	name  string
	prove func(*proof) error
}

func parts() []part {
	return []part{
		{"equal", (*proof).equalsHere}, {"equal-guests", (*proof).equalsInGuests}, {"planted", (*proof).planted},
		{"load", (*proof).load}, {"nights", (*proof).manyNights}, {"soak", (*proof).soaked},
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// A proof is a part under way, with a directory for its files.
type proof struct {
	settings
	dir string
}

// say prints a finding.
func (p *proof) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// prove goes through the parts, all of them whatever one comes to.
func (s settings) prove(names []string) error {
	for _, name := range names {
		if !slices.Contains(partNames(), name) {
			return fmt.Errorf("no part is called %q: there are %s", name, strings.Join(partNames(), ", "))
		}
	}
	var err error
	for _, part := range parts() {
		if slices.Contains(names, part.name) && s.ctx.Err() == nil {
			err = errors.Join(err, s.one(part))
		}
	}
	return err
}

func (s settings) one(part part) error {
	dir, err := os.MkdirTemp("", "fibchurn-truth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &proof{settings: s, dir: dir}
	start := time.Now()
	err = part.prove(p)
	p.say("%s: took %s", part.name, time.Since(start).Round(time.Second))
	if err != nil {
		return fmt.Errorf("%s: %w", part.name, err)
	}
	return nil
}

// file is the path of a file of the part's own.
func (p *proof) file(name string) string { return filepath.Join(p.dir, name) }

// defaultKernel is the User-Mode Linux that vm/testdata/fetch-kernels.sh fetches, where
// it is there.
func defaultKernel() string {
	dir := os.Getenv("FIBCHURN_KERNELS")
	if cache, err := os.UserCacheDir(); dir == "" && err == nil {
		dir = filepath.Join(cache, "fibchurn", "kernels")
	}
	return filepath.Join(dir, "uml", "usr", "bin", "linux.uml")
}
