package main

import (
	"errors"
	"fmt"
	"strings"

	"fibchurn/results"
	"fibchurn/vm"
)

// A failedBoot is one whose guest failed, after which others may be made.
type failedBoot struct {
	*vm.GuestError
	outcome vm.Outcome
}

// A bootsError is that boots of a session failed. What failed has been said.
type bootsError struct{ text string }

func (e *bootsError) Error() string { return e.text }

// bootTally is how the boots of a session went.
type bootTally struct {
	planned, begun, failed int
	kernels                []kernelBoots // as on the command line
	ended                  string        // why the session ended before all were made
}

type kernelBoots struct {
	label         string
	begun, failed int
	failedLast    bool
	lost          int           // runs that came of boots that failed
	runs          []results.Run // of the others
}

func newBootTally(kernels []vm.Kernel, planned int) *bootTally {
	t := &bootTally{planned: planned}
	for _, k := range kernels {
		t.kernels = append(t.kernels, kernelBoots{label: k.Label})
	}
	return t
}

// take counts a boot, and the runs that came of it; failed is nil where it ended well. It
// reports whether the next one is to follow: not after a kernel that failed twice running,
// and not where its first boot did not even come up.
func (t *bootTally) take(label string, runs []results.Run, failed *failedBoot) (next bool) {
	k := t.of(label)
	t.begun++
	k.begun++
	if failed == nil {
		k.failedLast = false
		k.runs = append(k.runs, runs...)
		return true
	}
	t.failed++
	k.failed++
	k.lost += failed.outcome.Runs
	switch {
	case k.failedLast:
		t.ended = fmt.Sprintf("%s failed twice running", label)
	case k.begun == 1 && failed.outcome.Release == "":
		t.ended = fmt.Sprintf("%s did not come up", label)
	}
	k.failedLast = true
	return t.ended == ""
}

func (t *bootTally) of(label string) *kernelBoots {
	for i := range t.kernels {
		if t.kernels[i].label == label {
			return &t.kernels[i]
		}
	}
	return nil // labels are the session's
}

// err is a *bootsError where boots failed.
func (t *bootTally) err() error {
	if t.failed == 0 {
		return nil
	}
	var each []string
	for _, k := range t.kernels {
		if k.failed > 0 {
			each = append(each, fmt.Sprintf("%s %d of %d", k.label, k.failed, k.begun))
		}
	}
	text := fmt.Sprintf("%d of %d boots failed (%s)", t.failed, t.begun, strings.Join(each, ", "))
	if left := t.planned - t.begun; left > 0 {
		text += fmt.Sprintf("; %d more not made, for %s", left, t.ended)
	}
	return &bootsError{text}
}

// sides are the kernels to compare, the first one's before the others. Only boots that
// ended well count: a kernel that failed later may have been in a state before in which
// its figures say nothing of it. why is why there is nothing to compare.
func (t *bootTally) sides() (groups []results.Group, warnings []results.Warning, why string) {
	for i, k := range t.kernels {
		switch {
		case len(k.runs) > 0:
			groups = append(groups, results.Group{Name: k.label, Runs: k.runs})
		case i == 0 || len(t.kernels) == 2:
			return nil, nil, fmt.Sprintf("no boot of %s ended well", k.label)
		}
		if k.failed > 0 {
			warnings = append(warnings, k.warning())
		}
	}
	if len(groups) < 2 {
		return nil, nil, fmt.Sprintf("no boot ended well but of %s", groups[0].Name)
	}
	return groups, warnings, ""
}

// warning is what the comparison says of boots that failed.
func (k *kernelBoots) warning() results.Warning {
	text := fmt.Sprintf("%d of %d boots of %s failed", k.failed, k.begun, k.label)
	switch {
	case len(k.runs) == 0:
		text += ": it is not compared."
	case k.lost == 1:
		text += ": 1 run that came of them is in the tables above and not in this comparison."
	case k.lost > 1:
		text += fmt.Sprintf(": %d runs that came of them are in the tables above and not in this comparison.", k.lost)
	default:
		text += ", without a run."
	}
	return results.Warning{Kind: "boots", Text: text}
}

// compareBoots compares the kernels of a session. ended is a *bootsError or nil, and comes
// last, after what the comparison found.
func (p *program) compareBoots(s *vmSession, t *bootTally, ended error) error {
	groups, warnings, why := t.sides()
	if why != "" {
		fmt.Fprintf(p.stderr, "fibchurn: not compared: %s\n", why)
		return ended
	}
	fmt.Fprintln(p.stdout)
	found := p.conclude(groups, s.compare, warnings, false, s.measure.color)
	if ended == nil {
		return found
	}
	exitCode(found, p.stderr)
	return ended
}

// afterBoot counts a boot that ended with err, and says that it failed. It returns what
// ends the session at once: another error than a guest's, and the only boot's.
func (p *program) afterBoot(t *bootTally, label string, runs []results.Run, err error) (next bool, end error) {
	var failed *failedBoot
	if err != nil && !errors.As(err, &failed) {
		return false, err
	}
	next = t.take(label, runs, failed)
	switch {
	case failed == nil:
		return next, nil
	case t.planned > 1:
		fmt.Fprintf(p.stderr, "fibchurn: boot %d of %d: %s\n", t.begun, t.planned, harmless(failed.Error()))
		return next, nil
	case failed.Fault == vm.Command:
		fmt.Fprintln(p.stderr, "fibchurn:", harmless(failed.Error()))
		return false, childExit(failed.Exit)
	}
	return false, failed.GuestError
}
