package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"fibchurn/internal/usage"
)

// flagError is what a command says to a value of a flag, before it measures.
func flagError(command, flag, value string) string {
	args := []string{command, dashed(flag) + "=" + value}
	switch command {
	case "vm":
		args = append(args, "--kernel", "/proc/self/exe", "--", "routes")
	case "compare", suiteCommand:
		args = append(args, "/no/such/file")
	}
	if slices.Contains([]string{"direction", "iif", "rp-filter"}, flag) {
		args = append(args, "--direction", "input", "--src", "192.0.2.1")
	}
	_, _, err := checkCommand(args, func(*cli.Context) error { return nil })
	if command == "vm" || command == "compare" {
		_, _, stderr := call(args...)
		return stderr
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// What shells offer for a flag is what the command takes, and where a command takes
// certain words only, shells offer words.
func TestValuesOfFlags(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(`must be (one of|auto|last|output|added|\S+, \S+)|is none of`)
	offered := 0
	for _, c := range described((&program{}).app()).Commands {
		for _, o := range c.Options {
			if o.Argument == "" || o.Value.Kind == usage.File || o.Value.Kind == usage.Directory {
				continue
			}
			if nonsense := flagError(c.Name, o.Names[0], "xyzzy"); o.Value.Words == nil && refused.MatchString(nonsense) {
				t.Errorf("%s --%s: valueOf has no words, and the command refuses others: %s", c.Name, o.Names[0], nonsense)
			}
			for _, word := range o.Value.Words {
				offered++
				if said := flagError(c.Name, o.Names[0], word); strings.Contains(said, "--"+o.Names[0]+" "+word+":") && refused.MatchString(said) {
					t.Errorf("%s --%s %s: %s", c.Name, o.Names[0], word, said)
				}
			}
		}
	}
	if offered < 100 {
		t.Errorf("only %d words are offered", offered)
	}
}
