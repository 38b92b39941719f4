package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fibchurn/results"
	"fibchurn/vm"
)

// A soak is a long `lookup --under flap`, watched.
type soak struct {
	Length  time.Duration // of the whole command
	Changes int64         // of routes
	Lookups int64
	// Resident is the program's resident memory in KiB, without the maps that it shares
	// with the kernel (RssAnon), early and late while routes flap.
	Resident [2]int64
	// Slab is the kernel's before and after, in KiB.
	Slab [2]int64
}

// What a soak may leave: of the program's memory, growth in KiB from early to late, and
// of the kernel's, a share of its slab.
const (
	mostGrowth = 512
	mostSlab   = 0.01
)

// soaked watches the program here, and the kernel in a guest in which nothing else is at
// work; there is too much else in this machine's slab.
func (p *proof) soaked() error {
	here, err := p.soakFor(p.soak, p.file("soak.jsonl"))
	if err != nil {
		return err
	}
	p.say("lookup --under flap for %s: %d changes and %d lookups, no wrong answer; resident memory %d KiB early and %d KiB late while routes flap",
		here.Length.Round(time.Second), here.Changes, here.Lookups, here.Resident[0], here.Resident[1])
	guest, err := p.soakInGuest(p.soak / 3)
	if err != nil {
		return err
	}
	p.say("the same for %s in a User-Mode Linux guest: %d changes and %d lookups, no wrong answer; the kernel's slab %d KiB before, %d KiB after (%+.2f %%)",
		guest.Length.Round(time.Second), guest.Changes, guest.Lookups, guest.Slab[0], guest.Slab[1], 100*guest.slabChange())
	if growth := here.Resident[1] - here.Resident[0]; growth > mostGrowth {
		return fmt.Errorf("the program's memory grew by %d KiB: %w", growth, errFalse)
	}
	if guest.slabChange() > mostSlab {
		return fmt.Errorf("the kernel's slab grew by %.1f %%: %w", 100*guest.slabChange(), errFalse)
	}
	return nil
}

// slabChange is a fraction.
func (s *soak) slabChange() float64 { return float64(s.Slab[1])/float64(s.Slab[0]) - 1 }

// soakFor executes the command for so long in all: a third each before, during and after
// the flapping. A wrong or lost answer is an error.
func (p *proof) soakFor(length time.Duration, file string) (*soak, error) {
	s := &soak{Length: length}
	// What the first use of anything needs is there before the first look at the slab.
	if err := p.command(p.binary, soakArgs(100*time.Millisecond, os.DevNull)...).Run(); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	var err error
	if s.Slab[0], err = settledSlab(0); err != nil {
		return nil, err
	}
	cmd := p.command(p.binary, soakArgs(length/3, file)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	resident, err := watchResident(cmd.Process.Pid, max(length/400, 10*time.Millisecond), ended)
	if err != nil {
		return nil, fmt.Errorf("fibchurn %s: %w: %s", strings.Join(cmd.Args[1:], " "), err, lastLines(stderr.String()))
	}
	if len(resident) < 40 {
		return nil, fmt.Errorf("%d samples of the resident memory are too few", len(resident))
	}
	s.Resident = flapping(resident)
	runs, err := runsOf(file)
	if err != nil {
		return nil, err
	}
	if s.Slab[1], err = settledSlab(s.Slab[0]); err != nil {
		return nil, err
	}
	return s, s.count(runs)
}

// flapping are the medians of the samples of two twelfths of the command: routes flap in
// its middle third, of which these are the second and the last quarter.
func flapping(samples []int64) [2]int64 {
	n := len(samples)
	return [2]int64{middle(samples[n*5/12 : n*6/12]), middle(samples[n*7/12 : n*8/12])}
}

func soakArgs(stretch time.Duration, file string) []string {
	return []string{"lookup", "--routes", "10k", "--under", "flap", "--rate", "max",
		"--duration", stretch.String(), "--runs", "1", "--warmup", "0", "-q", "-o", file}
}

// count takes what a run did, which must have passed its checks.
func (s *soak) count(runs []results.Run) error {
	if len(runs) != 1 || !runs[0].Sample() {
		return fmt.Errorf("%d runs, or one whose answers were not all right: %w", len(runs), errFalse)
	}
	for _, name := range []string{"withdraw", "announce"} {
		s.Changes += runs[0].Phase(name).Ops
	}
	for _, l := range runs[0].Latency {
		s.Lookups += l.Count
	}
	return nil
}

// watchResident samples a process's resident memory in KiB until it has ended.
func watchResident(pid int, every time.Duration, ended <-chan error) (samples []int64, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return samples, err
		case <-tick.C:
			if kb, err := procFigure(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:"); err == nil {
				samples = append(samples, kb) // else it has just ended
			}
		}
	}
}

// settledSlab is the kernel's slab in KiB once it has come down: memory is freed after
// grace periods, and namespaces are dismantled in the background. It waits for the time
// that takes, or until the slab is within the limit of what it was before.
func settledSlab(before int64) (int64, error) {
	const patience = 6 * time.Second
	least := int64(1) << 62
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		kb, err := procFigure("/proc/meminfo", "Slab:")
		if err != nil {
			return 0, err
		}
		least = min(least, kb)
		if before > 0 && float64(least) <= float64(before)*(1+mostSlab/2) {
			break
		}
	}
	return least, nil
}

// procFigure is the figure in KiB of a line that begins with name.
func procFigure(path, name string) (int64, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var kb int64
			_, err := fmt.Sscanf(rest, "%d kB", &kb)
			return kb, err
		}
	}
	return 0, fmt.Errorf("%s has no line %s", path, name)
}

// middle is the median.
func middle(values []int64) int64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// soakInGuest soaks in a guest, whose PID 1 is this program: it executes fibchurn and
// has nothing else to do.
func (p *proof) soakInGuest(length time.Duration) (*soak, error) {
	kernel, err := vm.Identify(p.kernel, "soak")
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(p.binary)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	machine := vm.Machine{Files: []string{binary}, Timeout: length + 5*time.Minute, Stdout: &stdout, Stderr: &stderr, Program: p.program}
	outcome, err := vm.Boot(p.ctx, kernel, machine, []string{"truth", binary, length.String()}, func(*results.Run) error { return nil })
	if err != nil || outcome.Exit != 0 {
		return nil, fmt.Errorf("soak in a guest: exit %d, %v: %s", outcome.Exit, err, lastLines(stderr.String()))
	}
	s := &soak{}
	_, text, _ := strings.Cut(stdout.String(), soakMark)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("what the guest said: %w", err)
	}
	return s, nil
}

// soakMark is before what a guest found.
const soakMark = "soak: "

// inGuest is what PID 1 of the guest does: args are the program and a length of time.
func inGuest(args []string, stdout, stderr io.Writer) int {
	s, err := soakAsGuest(args[1], args[2])
	if err == nil {
		var text []byte
		if text, err = json.Marshal(s); err == nil {
			_, err = fmt.Fprintf(stdout, "%s%s\n", soakMark, text)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func soakAsGuest(binary, length string) (*soak, error) {
	d, err := time.ParseDuration(length)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(binary, 0o755); err != nil { // files come without the right to execute
		return nil, err
	}
	p := &proof{settings: settings{ctx: context.Background(), binary: binary}}
	return p.soakFor(d, "/tmp/soak.jsonl")
}
