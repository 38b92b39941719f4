package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fibchurn/results"
)

// A night boots the kernel once as base and once as new; nightRuns are those of a boot.
const nightRuns = 8

// appenders are how many processes append to one file at once, so many runs each.
const (
	appenders    = 8
	appenderRuns = 10
)

// manyNights has the nightly script append night after night to one file, one of whose
// lines is then torn as by a writer that was killed, and has processes append to one file
// all at once.
func (p *proof) manyNights() error {
	file, err := p.appendNights(p.nights)
	if err != nil {
		return err
	}
	rows, err := p.compare("--by", "label", "--metric", "wall", "--phase", "add", "--alpha", equalAlpha, file)
	if err != nil {
		return err
	}
	shown := rows[0].Result != string(results.Unshown)
	p.say("%d nights in one file: %d runs, whole, but for the one whose line was torn; base against new over all nights: %s", p.nights, 2*p.nights*nightRuns-1, rows[0])
	if shown {
		return fmt.Errorf("one kernel over %d nights shows a change: %s: %w", p.nights, rows[0], errFalse)
	}
	n, err := p.appendAtOnce()
	if err != nil {
		return err
	}
	p.say("%d processes that append to one file at once: %d runs, all whole", appenders, n)
	return nil
}

// appendNights makes the nights and returns their file, checked.
func (p *proof) appendNights(nights int) (string, error) {
	dir, suite := p.file("results"), p.file("night.suite")
	line := fmt.Sprintf("routes --count 500 --runs %d --warmup 1\n", nightRuns)
	if err := os.WriteFile(suite, []byte(line), 0o600); err != nil {
		return "", err
	}
	for night := range nights {
		if err := p.night(dir, suite); err != nil {
			return "", fmt.Errorf("night %d: %w", night+1, err)
		}
		if night == nights/2 {
			if err := tearLast(dir); err != nil {
				return "", err
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return "", err
	}
	all := p.file("nights.jsonl") // more than one file where a midnight came between
	var content []byte
	for _, f := range files {
		c, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		content = append(content, c...)
	}
	if err := os.WriteFile(all, content, 0o600); err != nil {
		return "", err
	}
	return all, p.checkNights(all, content, 2*nights*nightRuns-1)
}

// night executes the script. No regression can be above so high a limit.
func (p *proof) night(dir, suite string) error {
	binary, err := filepath.Abs(p.binary)
	if err != nil {
		return err
	}
	cmd := p.command(p.script)
	cmd.Env = append(os.Environ(), "FIBCHURN="+binary, "KERNEL="+p.kernel, "BASE="+p.kernel, "RESULTS="+dir, "SUITE="+suite,
		"BOOTS=1", "FAIL_ABOVE=100000%", "VMFLAGS=--memory "+guestMemory+" --metric wall --phase add")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", p.script, err, lastLines(string(out)))
	}
	return nil
}

// tearLast cuts the newest file in the middle of its last line.
func tearLast(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no results in %s: %v", dir, err)
	}
	path := files[len(files)-1] // their names sort by day
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	start := bytes.LastIndexByte(bytes.TrimRight(content, "\n"), '\n') + 1
	return os.Truncate(path, int64(start+(len(content)-start)/2))
}

// checkNights demands that so many runs are in the file, and one torn line, which the
// program passes over and tells of.
func (p *proof) checkNights(path string, content []byte, want int) error {
	runs, warnings, err := results.Read(bytes.NewReader(content), path)
	if err != nil {
		return err
	}
	var torn *results.TornLine
	if len(runs) != want || len(warnings) != 1 || !errors.As(warnings[0], &torn) {
		return fmt.Errorf("%d runs instead of %d, warnings %v instead of one torn line: %w", len(runs), want, warnings, errFalse)
	}
	if _, twice := results.Distinct(runs); twice > 0 {
		return fmt.Errorf("%d runs are there twice: %w", twice, errFalse)
	}
	out, stderr, err := p.fibchurn("report", path)
	if err != nil {
		return err
	}
	if !strings.Contains(stderr, "torn line") || !strings.Contains(out, "add") {
		return fmt.Errorf("fibchurn report of the nights does not tell of the torn line: %s: %w", lastLines(stderr), errFalse)
	}
	return nil
}

// appendAtOnce has processes append to one file, and counts the runs that are in it.
func (p *proof) appendAtOnce() (int, error) {
	file := p.file("at-once.jsonl")
	done := make(chan error, appenders)
	for range appenders {
		go func() { done <- p.measure(file, fmt.Sprintf("routes --count 100 --runs %d --warmup 0", appenderRuns)) }()
	}
	var err error
	for range appenders {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		return 0, err
	}
	runs, err := runsOf(file)
	if err != nil {
		return 0, err
	}
	distinct, _ := results.Distinct(runs)
	if len(distinct) != appenders*appenderRuns {
		return 0, fmt.Errorf("%d runs in the file instead of %d: %w", len(distinct), appenders*appenderRuns, errFalse)
	}
	return len(distinct), nil
}
