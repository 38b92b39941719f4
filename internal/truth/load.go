package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"fibchurn/results"
)

// spinArgument makes this program one that keeps a CPU busy.
const spinArgument = "spin"

// longestSpin bounds the life of a spinning process, whatever becomes of its parent.
const longestSpin = time.Hour

// spin keeps a CPU busy until standard input ends, which it does with the parent.
func spin() {
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	for end := time.Now().Add(longestSpin); time.Now().Before(end); {
	}
	os.Exit(0)
}

// busy keeps all CPUs busy until release is called.
func busy() (release func(), err error) {
	var ends []func()
	release = func() {
		for _, end := range ends {
			end()
		}
	}
	for range runtime.NumCPU() {
		cmd := exec.Command("/proc/self/exe", spinArgument)
		leash, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			release()
			return nil, fmt.Errorf("keep the CPUs busy: %w", err)
		}
		ends = append(ends, func() { leash.Close(); _ = cmd.Wait() })
	}
	return release, nil
}

// loadTables is how many comparisons are made on a busy machine for so many of equals
// elsewhere: a tenth.
const loadTables = 10

// load compares this kernel with itself while other processes keep all CPUs busy. Every
// run must carry the warning, and no comparison show a change.
func (p *proof) load() error {
	release, err := busy()
	if err != nil {
		return err
	}
	defer release()
	var t tally
	for i := range max(1, p.tables/loadTables) {
		name := fmt.Sprint("load", i)
		rows, err := p.equalPair(name, workloads()[i%len(workloads())], equalPairs, equalAlpha)
		if err != nil {
			return err
		}
		t.add(rows)
	}
	warned, runs, err := p.warnedOfLoad()
	if err != nil {
		return err
	}
	p.say("with %d processes that keep %d CPUs busy, %d of %d runs carry the warning of load", runtime.NumCPU(), runtime.NumCPU(), warned, runs)
	if warned < runs {
		err = fmt.Errorf("%d of %d runs do not say that the machine was busy: %w", runs-warned, runs, errFalse)
	}
	return errors.Join(err, t.verdict(p, "this kernel against itself, all CPUs busy"))
}

// warnedOfLoad counts the runs of the comparisons on a busy machine.
func (p *proof) warnedOfLoad() (warned, runs int, err error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		of, err := runsOf(p.file(e.Name()))
		if err != nil {
			return 0, 0, err
		}
		for i := range of {
			runs++
			if slices.ContainsFunc(of[i].Warnings, func(w results.Warning) bool { return w.Kind == "load" }) {
				warned++
			}
		}
	}
	return warned, runs, nil
}
