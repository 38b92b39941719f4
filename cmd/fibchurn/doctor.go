package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"fibchurn/internal/machine"
	"fibchurn/ns"
)

func (p *program) doctor() *cli.Command {
	return &cli.Command{
		Name:            "doctor",
		Usage:           "say what this kernel and user can do, and how to get what is missing",
		OnUsageError:    onUsageError,
		HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			return writeCapabilities(p.stdout, capabilities(ctx))
		},
	}
}

// namespaceProbesArgument makes this program try what takes a network namespace and
// print the capabilities as JSON. It is no flag: main sees to it before the command
// line is read.
const namespaceProbesArgument = "--probe-namespaces"

// capabilities are found as a measurement would find them: without root, namespaces
// and links in a user namespace of its own, where that is allowed.
func capabilities(ctx context.Context) []machine.Capability {
	found := append(machine.Probe(ctx), leftSyncMem(syncMemRecordFile)...)
	if mayUnshare() {
		return append(found, linkKinds()...)
	}
	inside, err := probesInUserNamespace(ctx)
	if err != nil {
		return append(found, linkKinds()...)
	}
	for _, c := range inside {
		if c.Status == machine.OK {
			c.Detail = "ok (in a user namespace of its own): " + c.Detail
		}
		same := func(other machine.Capability) bool { return other.Name == c.Name }
		if i := slices.IndexFunc(found, same); i >= 0 {
			found[i] = c
		} else {
			found = append(found, c)
		}
	}
	return found
}

// probesInUserNamespace executes the program again for namespaceProbes.
func probesInUserNamespace(ctx context.Context) (found []machine.Capability, err error) {
	runtime.LockOSThread() // the child dies with the thread that starts it
	defer runtime.UnlockOSThread()
	child := exec.CommandContext(ctx, "/proc/self/exe", namespaceProbesArgument)
	child.SysProcAttr = userNamespace()
	child.SysProcAttr.Setpgid = false // a Ctrl-C is for both
	text, err := child.Output()
	if err != nil {
		return nil, err
	}
	return found, json.Unmarshal(text, &found)
}

// namespaceProbes is what the program executed again does. It returns the exit code.
func namespaceProbes(stdout io.Writer) int {
	found := append([]machine.Capability{machine.ProbeNetworkNamespaces(context.Background())}, linkKinds()...)
	if err := json.NewEncoder(stdout).Encode(found); err != nil {
		return exitFailed
	}
	return exitOK
}

// linkKinds tries every link kind in a namespace of its own.
func linkKinds() []machine.Capability {
	var found []machine.Capability
	for _, kind := range ns.Kinds() {
		c := machine.Capability{
			Name:      "link kind " + kind,
			NeededFor: "--link-kind " + kind,
			HowTo:     "the kernel module " + kind + "; other kinds do as well",
		}
		if kind == ns.Kinds()[0] {
			c.NeededFor += ", the first choice of auto"
		}
		var unsupported *ns.UnsupportedError
		switch err := ns.TryKind(kind); {
		case err == nil:
			c.Status, c.Detail = machine.OK, "made one and brought it up"
		case errors.As(err, &unsupported):
			c.Status, c.Detail = machine.Missing, unsupported.Why
		default:
			c.Status, c.Detail = machine.Unknown, err.Error()
		}
		found = append(found, c)
	}
	return found
}

// writeCapabilities prints one line each: status, name, what it is needed for,
// what was found and, where it is missing, how to get it.
func writeCapabilities(w io.Writer, found []machine.Capability) error {
	names, needs := 0, 0
	for _, c := range found {
		names = max(names, text.StringWidth(c.Name))
		needs = max(needs, text.StringWidth(c.NeededFor))
	}
	for _, c := range found {
		line := fmt.Sprintf("%-8s %s  for %s  %s", c.Status, text.Pad(c.Name, names, ' '), text.Pad(c.NeededFor, needs, ' '), c.Detail)
		if c.Status != machine.OK {
			line += "; to get it: " + c.HowTo
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
