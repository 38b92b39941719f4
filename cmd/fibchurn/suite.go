package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

// suiteCommand is its name, which others ask for.
const suiteCommand = "suite"

func (p *program) suite() *cli.Command {
	return &cli.Command{
		Name:      suiteCommand,
		Usage:     "execute the fibchurn commands of a file, one a line",
		ArgsUsage: "FILE|" + strings.Join(builtinNames(), "|"),
		Description: "Executes every line as a fibchurn command; # begins a comment, quotes are a shell's, and\n" +
			"no shell is involved. All lines are checked before the first one starts. What this kernel\n" +
			"cannot do is skipped with the reason; the first failure ends the suite. See docs/suite.md.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "go on after a failure"},
			&cli.BoolFlag{Name: "ktap", Usage: "print a KTAP stream with one test a line, and the tables as its comments"},
			&cli.BoolFlag{Name: "list", Usage: "print the names of the built-in suites, or the text of the one that is named"},
		}, measureFlagsNamed("output", "json", "format", "quiet", "color", "allow-host-sysctl")...),
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		HideHelpCommand:        true,
		Action:                 p.suiteAction,
	}
}

func (p *program) suiteAction(c *cli.Context) error {
	names, err := flagsAfterFiles(c)
	if err != nil {
		return err
	}
	if err := noEmptyValue(c, c.Command.Flags); err != nil { // of those after the file
		return err
	}
	if c.Bool("list") {
		if err := noEffect(c, "with --list", "force", "ktap", "output", "json", "format", "allow-host-sysctl"); err != nil {
			return err
		}
		return p.listSuites(names)
	}
	s, err := suiteSessionOf(c, names)
	if err != nil {
		return err
	}
	if check, ok := p.stdout.(checkOnly); ok {
		*check.files = append(*check.files, s.suite.files...)
		return nil
	}
	if err := p.keepApart(s.measure.outputs(), inputs("the suite's file", s.suite.files...)); err != nil {
		return err
	}
	if again, err := p.inUserNamespace(); again {
		return err
	}
	return p.executeSuite(s)
}

// A suiteSession holds the values of suite's flags.
type suiteSession struct {
	suite       *suite
	measure     *measure
	force, ktap bool
	host        bool // a line may set a sysctl of the whole machine
}

func suiteSessionOf(c *cli.Context, names []string) (*suiteSession, error) {
	switch len(names) {
	case 0:
		return nil, usageErrorf("suite: no file given; built in are %s", strings.Join(builtinNames(), ", "))
	case 1:
	default:
		return nil, usageErrorf("suite: unexpected argument %q", names[1])
	}
	for _, name := range []string{"runs", "warmup", "seed", "4", "6", "sync-mem", "profile", "profile-hz", "profile-scope", "trace-resize"} {
		if at(c, name).IsSet(name) {
			return nil, usageErrorf("--%s is for the lines of a suite, not for all of it", name)
		}
	}
	if at(c, "profile-out").IsSet("profile-out") {
		return nil, usageErrorf("--profile-out: a suite has none; 'fibchurn report --profile-out FILE' makes one of its runs")
	}
	m, err := measureOf(c)
	if err != nil {
		return nil, err
	}
	ktap := c.Bool("ktap")
	switch m.format.Name {
	case results.FormatKTAP:
		ktap = true
	case results.FormatText, results.FormatJSON:
	default:
		if ktap {
			return nil, usageErrorf("--ktap and --format %s: one or the other", m.format.Name)
		}
	}
	s, err := loadSuite(names[0])
	if err != nil {
		return nil, err
	}
	return &suiteSession{
		suite: s, measure: m, force: c.Bool("force"), ktap: ktap,
		host: at(c, "allow-host-sysctl").Bool("allow-host-sysctl"),
	}, nil
}

// listSuites prints a line for each built-in suite, or the text of one.
func (p *program) listSuites(names []string) error {
	if len(names) > 1 {
		return usageErrorf("suite: unexpected argument %q", names[1])
	}
	if len(names) == 1 {
		text, ok := builtinText(names[0])
		if !ok {
			return usageErrorf("suite --list %s: built in are %s", names[0], strings.Join(builtinNames(), ", "))
		}
		_, err := p.stdout.Write(text)
		return err
	}
	for _, name := range builtinNames() {
		text, _ := builtinText(name)
		about, _, _ := bytes.Cut(text, []byte("\n"))
		if _, err := fmt.Fprintf(p.stdout, "%-10s %s\n", name, strings.TrimLeft(string(about), "# ")); err != nil {
			return err
		}
	}
	return nil
}
