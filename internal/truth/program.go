package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"fibchurn/results"
)

// command is a child in a process group of its own, all of which ends with the context.
func (p *proof) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd
}

// fibchurn executes the program and returns what it printed. An exit code other than 0
// is an error with what the program said.
func (p *proof) fibchurn(args ...string) (stdout, stderr string, err error) {
	cmd := p.command(p.binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("fibchurn %s: %w: %s", strings.Join(args, " "), err, lastLines(errs.String()))
	}
	return out.String(), errs.String(), err
}

// lastLines are the last three.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// measure has the program append runs to a file.
func (p *proof) measure(file, command string) error {
	_, _, err := p.fibchurn(append(strings.Fields(command), "-q", "-o", file)...)
	return err
}

// A row is one of `fibchurn compare -j` (docs/compare.md).
type row struct {
	Row       string
	Command   string
	Cell      string
	Phase     string
	Metric    string
	P         float64
	Result    string
	Reachable bool
	Delta     struct {
		Estimate float64
	}
	Alpha           float64
	SamplesForLimit int `json:"samples_for_limit"`
}

func (r row) String() string {
	return fmt.Sprintf("%s %s, %s %s: %s, delta %+.2g, p %.2g", r.Command, r.Cell, r.Phase, r.Metric, r.Result, r.Delta.Estimate, r.P)
}

// compare has the program compare, and returns the rows that are comparisons.
func (p *proof) compare(args ...string) ([]row, error) {
	out, _, err := p.fibchurn(append([]string{"compare", "-j"}, args...)...)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: a row is above --fail-above
		return nil, err
	}
	var rows []row
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("read fibchurn compare -j: %w", err)
		}
		if r.Row == "comparison" {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("fibchurn compare %s has no rows: %w", strings.Join(args, " "), err)
	}
	return rows, nil
}

// runsOf are the runs of a file. A line that is none is an error.
func runsOf(path string) ([]results.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs, warnings, err := results.Read(f, path)
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("%s: %v", path, warnings)
	}
	return runs, err
}
