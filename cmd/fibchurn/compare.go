package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

func (p *program) compare() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "say whether the runs of one kernel differ from those of another",
		ArgsUsage: "BASE.jsonl NEW.jsonl...",
		Description: "Compares the runs of every file with those of the first one, or with --by, whatever file\n" +
			"they are in, those of every value with those of the first value. Figures whose meaning\n" +
			"differs (another virtualisation, link kind, parameter...) are refused. See docs/compare.md.",
		Flags: append(compareFlags(),
			&cli.StringFlag{Name: "by", Usage: "group runs by `KEY`: kernel, label, cell or environment.KEY"},
			&cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: "print one JSON object a row instead of the tables"},
			&cli.StringFlag{Name: "color", Value: "auto", Usage: "auto, always or never; NO_COLOR is honoured"},
		),
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		HideHelpCommand:        true,
		Action:                 p.compareFiles,
	}
}

// compareFlags are the flags of every command that ends with a comparison.
func compareFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Float64Flag{Name: "alpha", Value: results.DefaultAlpha, Usage: "chance that a comparison of equals shows any change"},
		&cli.StringFlag{Name: "fail-above", Usage: "exit 1 where new is worse by more than `PERCENT` and significantly so"},
		&cli.StringSliceFlag{Name: "metric", Usage: "compare only " + strings.Join(results.MetricNames(), ", ") + " (repeatable; default: what the command measures)"},
		&cli.StringSliceFlag{Name: "phase", Usage: "compare only this phase (repeatable)"},
		&cli.BoolFlag{Name: "force", Usage: "compare what is refused, with a warning"},
	}
}

func (p *program) compareFiles(c *cli.Context) error {
	files, err := flagsAfterFiles(c)
	if err != nil {
		return err
	}
	if err := noEmptyValue(c, c.Command.Flags); err != nil {
		return err
	}
	opts, err := compareOptions(c)
	if err != nil {
		return err
	}
	opts.By = c.String("by")
	color := at(c, "color").String("color")
	if !slices.Contains([]string{"auto", "always", "never"}, color) {
		return usageErrorf("--color %s: must be auto, always or never", color)
	}
	groups, warnings, err := compareGroups(files, opts.By)
	if err != nil {
		return err
	}
	return p.conclude(groups, opts, warnings, at(c, "json").Bool("json"), color)
}

// conclude compares groups and prints what came of it. A regression above the limit
// is its error, and so is a limit that was not held to all that base has.
func (p *program) conclude(groups []results.Group, opts results.CompareOptions, warnings []results.Warning, json bool, color string) error {
	comparison, err := results.Compare(groups, opts)
	var incomparable *results.IncomparableError
	switch {
	case errors.As(err, &incomparable) && incomparable.Failed && opts.FailAbove != nil:
		return fmt.Errorf("--fail-above: %w", err)
	case errors.As(err, &incomparable):
		return usageErrorf("%v%s", err, forceHint(incomparable))
	case err != nil:
		return err
	}
	comparison.Warnings = append(warnings, comparison.Warnings...)
	if err := p.writeComparison(comparison, json, color); err != nil {
		return err
	}
	return limitError(comparison)
}

// limitError says why the limit is not kept, or could not be held to something, in one
// line.
func limitError(c results.Comparison) error {
	regression, blind, unheld := regressionError(c), c.Blind(), c.Unheld()
	switch {
	case regression != nil && unheld != nil:
		return fmt.Errorf("%w; besides, %w", regression, unheld)
	case regression != nil:
		return regression
	case blind != nil && unheld != nil:
		return fmt.Errorf("--fail-above: %w; besides, %w", blind, unheld)
	case blind != nil:
		return fmt.Errorf("--fail-above: %w", blind)
	case unheld != nil:
		return fmt.Errorf("--fail-above: %w", unheld)
	}
	return nil
}

func (p *program) writeComparison(c results.Comparison, json bool, color string) error {
	if !json {
		return results.WriteComparison(p.stdout, c, results.TextOptions{Color: colored(color, p.stdout), Width: width(p.stdout)})
	}
	for _, line := range results.WarningLines(c.Warnings) {
		fmt.Fprintf(p.stderr, "fibchurn: %s\n", harmless(line))
	}
	return results.EncodeComparison(p.stdout, c)
}

// compareOptions reads the flags.
func compareOptions(c *cli.Context) (results.CompareOptions, error) {
	opts := results.CompareOptions{
		Alpha: c.Float64("alpha"), Force: c.Bool("force"),
		Metrics: c.StringSlice("metric"), Phases: c.StringSlice("phase"),
	}
	if !(opts.Alpha > 0 && opts.Alpha < 1) {
		return opts, usageErrorf("--alpha %g: must be above 0 and below 1", opts.Alpha)
	}
	for _, m := range opts.Metrics {
		if !slices.Contains(results.MetricNames(), m) {
			return opts, usageErrorf("--metric %s: must be one of %s", m, strings.Join(results.MetricNames(), ", "))
		}
	}
	if !c.IsSet("fail-above") {
		return opts, nil
	}
	limit, err := parsePercent(c.String("fail-above"))
	if err != nil {
		return opts, usageErrorf("--fail-above %v", err)
	}
	opts.FailAbove = &limit
	return opts, nil
}

// parsePercent reads "5" or "5%" as 0.05.
func parsePercent(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 1e6 {
		return 0, fmt.Errorf("%s: must be a percentage of 0 or more, as 5%%", text)
	}
	return x / 100, nil
}

// flagsAfterFiles returns the files, and sets the flags that stand behind one:
// the library reads none there.
func flagsAfterFiles(c *cli.Context) (files []string, err error) {
	args := c.Args().Slice()
	for i := 0; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		switch {
		case args[i] == "--":
			return append(files, args[i+1:]...), nil
		case !strings.HasPrefix(args[i], "-") || name == "":
			files = append(files, args[i])
			continue
		}
		name, value, given := strings.Cut(name, "=")
		full, takesValue := compareFlag(c, name)
		switch {
		case full == "":
			return nil, usageErrorf("unknown flag -%s", name)
		case !given && !takesValue:
			value = "true"
		case !given && i+1 == len(args):
			return nil, usageErrorf("flag needs an argument: -%s", name)
		case !given:
			i++
			value = args[i]
		}
		if err := c.Set(full, value); err != nil {
			return nil, usageErrorf("invalid value %q for flag -%s: %v", value, name, err)
		}
	}
	return files, nil
}

// compareFlag returns the first name of a flag by any of its names, "" where there
// is no such flag.
func compareFlag(c *cli.Context, name string) (full string, takesValue bool) {
	for _, f := range c.Command.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return f.Names()[0], !isBool
		}
	}
	return "", false
}

// compareGroups reads the files and groups their runs. Warnings are of torn lines.
func compareGroups(files []string, by string) (groups []results.Group, warnings []results.Warning, err error) {
	switch {
	case len(files) == 0:
		return nil, nil, usageErrorf("compare: no file of runs given")
	case len(files) == 1 && by == "":
		return nil, nil, usageErrorf("compare: one file takes --by: kernel, label, cell or environment.KEY")
	}
	var all []results.Run
	for _, name := range files {
		runs, torn, err := readRunFile(name)
		if err != nil {
			return nil, nil, usageErrorf("compare: %v", err)
		}
		for _, t := range torn {
			warnings = append(warnings, results.Warning{Kind: "torn", Text: t.Error()})
		}
		groups = append(groups, results.Group{Name: groupName(files, name), Runs: runs})
		all = append(all, runs...)
	}
	if by == "" {
		return groups, warnings, nil
	}
	groups, err = results.GroupBy(all, by)
	var unknown *results.KeyError
	switch {
	case errors.As(err, &unknown):
		return nil, nil, usageErrorf("--by: %v", err)
	case err != nil:
		return nil, nil, err
	case len(groups) < 2:
		return nil, nil, usageErrorf("--by %s: %s, nothing to compare with", by, oneGroup(groups))
	}
	return groups, warnings, nil
}

func oneGroup(groups []results.Group) string {
	if len(groups) == 0 {
		return "there are no runs"
	}
	return fmt.Sprintf("all runs have %q", groups[0].Name)
}

// groupName is the file's own name where no other file has it.
func groupName(files []string, name string) string {
	base := filepath.Base(name)
	for _, other := range files {
		if other != name && filepath.Base(other) == base {
			return name
		}
	}
	return base
}

func readRunFile(name string) (runs []results.Run, torn []error, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory and no file of runs", name)
	}
	return results.Read(f, name)
}

// forceHint: what cannot be compared at all cannot be forced either.
func forceHint(err *results.IncomparableError) string {
	if err.Forcible {
		return "; --force compares them all the same"
	}
	return ""
}

// regressionError names the worst regression above the limit, if there is one.
func regressionError(c results.Comparison) error {
	worse := c.Regressions()
	if len(worse) == 0 {
		return nil
	}
	worst := worse[0]
	for _, r := range worse {
		if r.Delta.Estimate > worst.Delta.Estimate {
			worst = r
		}
	}
	more := ""
	if len(worse) > 1 {
		more = fmt.Sprintf(", and %d more", len(worse)-1)
	}
	return fmt.Errorf("regression: %s: %+.1f %%, above %g %%%s", worst.Name(), 100*worst.Delta.Estimate, 100**c.FailAbove, more)
}
