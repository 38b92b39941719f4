package main

import (
	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

// outputs are the files that vm writes.
func (s *vmSession) outputs() []namedFile {
	return append(s.measure.outputs(), namedFile{"--console", s.console})
}

// inputs are the files that it reads.
func (s *vmSession) inputs() []namedFile {
	found := inputs("the guest's file", s.files...)
	for _, k := range s.kernels {
		found = append(found, namedFile{"--kernel", k.Path})
	}
	return found
}

// checkRest refuses flags that would come to nothing, and a console that cannot be
// written.
func (s *vmSession) checkRest(c *cli.Context) error {
	if len(s.kernels) < 2 || s.measure.format.Name != results.FormatText {
		for _, f := range compareFlags() {
			if name := f.Names()[0]; c.IsSet(name) {
				return usageErrorf("--%s: is of the comparison, which takes two kernels or more and --format text", name)
			}
		}
	}
	for _, name := range []string{"sync-mem", "allow-host-sysctl"} {
		if at(c, name).IsSet(name) {
			return usageErrorf("--%s is for the command in the guest; give it after the --", name)
		}
	}
	if err := checkConsole(s.console); err != nil {
		return usageErrorf("--console: %v", err)
	}
	return nil
}
