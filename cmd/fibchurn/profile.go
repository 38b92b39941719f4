package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"fibchurn/churn"
	"fibchurn/internal/profile"
	"fibchurn/ns"
	"fibchurn/results"
)

// The bounds of --profile-hz. Above, a sample takes longer than the time to the next
// on many machines.
const (
	minProfileHz = 10
	maxProfileHz = 20_000
)

func profileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "profile", Usage: "make a second run beside each, and sample where the CPU is in its timed phases"},
		&cli.GenericFlag{Name: "profile-hz", Value: numberOf(profile.DefaultHz), Usage: "samples a second, 10 to 20000"},
		&cli.StringFlag{Name: "profile-scope", Value: profile.Thread, Usage: "sample the timed `thread`s, or all cpus while one is timed"},
		profileOutFlag(),
	}
}

// A profileSpec holds the values of profileFlags.
type profileSpec struct {
	wanted bool
	hz     int
	scope  string
}

func profileSpecOf(c *cli.Context) (profileSpec, error) {
	s := profileSpec{
		wanted: at(c, "profile").Bool("profile"),
		hz:     countOf(at(c, "profile-hz"), "profile-hz"),
		scope:  at(c, "profile-scope").String("profile-scope"),
	}
	switch {
	case s.hz < minProfileHz || s.hz > maxProfileHz:
		return s, usageErrorf("--profile-hz %d: must be %d to %d", s.hz, minProfileHz, maxProfileHz)
	case !slices.Contains([]string{profile.Thread, profile.CPUs}, s.scope):
		return s, usageErrorf("--profile-scope %s: must be %s or %s", s.scope, profile.Thread, profile.CPUs)
	}
	for _, name := range []string{"profile-hz", "profile-scope"} {
		if at(c, name).IsSet(name) && !s.wanted && measures(c.Command) {
			return s, usageErrorf("--%s says how to profile; give --profile too", name)
		}
	}
	return s, nil
}

// An instruments is what watches the second runs of a session.
type instruments struct {
	all    []churn.Observer
	doubts []results.Warning // of every run: what cannot be had here
	close  func() error
}

// instruments opens them. What cannot be had here is said once.
func (p *program) instruments(m *measure) (*instruments, error) {
	i := &instruments{close: func() error { return nil }}
	if !m.profile.wanted {
		return i, nil
	}
	profiler, err := profile.Open(m.profile.hz, m.profile.scope)
	var unsupported *ns.UnsupportedError
	if errors.As(err, &unsupported) {
		fmt.Fprintf(p.stderr, "fibchurn: --profile: no profile: %s; what would help: %s\n", unsupported.Why, unsupported.Help)
		i.doubts = []results.Warning{{Kind: "profile", Text: "no profile: " + unsupported.Why}}
		return i, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if !m.quiet {
		for _, n := range profiler.Notes() {
			fmt.Fprintf(p.stderr, "fibchurn: --profile: %s\n", n.Text)
		}
	}
	i.all, i.close = []churn.Observer{profiler}, profiler.Close
	return i, nil
}
