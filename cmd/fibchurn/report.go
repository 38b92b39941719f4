package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

// reportCommand is its name, which others ask for.
const reportCommand = "report"

func (p *program) report() *cli.Command {
	return &cli.Command{
		Name:      reportCommand,
		Usage:     "render runs from files, for people or for other programs",
		ArgsUsage: "FILE.jsonl...",
		Description: "Renders the runs of all files together as --format says; - is standard input. With\n" +
			"--output the file appears complete or not at all. See docs/ci.md\n" +
			"and, of the page that --format html makes, docs/report.md.",
		Flags: append([]cli.Flag{
			reportFormatFlag(),
			&cli.BoolFlag{Name: "histogram", Usage: "draw the histograms of lookups in the tables of text"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, which is replaced in one step, instead of standard output; html where its name ends so"},
			&cli.StringFlag{Name: "plots", Usage: "write every chart of the page to the directory `DIR` too, as SVG and PNG"},
			&cli.StringFlag{Name: "by", Usage: "of html and --plots, set against each other runs of another `KEY`: file, kernel, label, cell or environment.KEY (default: the label, or else the kernel)"},
			profileOutFlag(),
		}, measureFlagsNamed("json", "quiet", "color")...),
		OnUsageError:           onUsageError,
		UseShortOptionHandling: true,
		HideHelpCommand:        true,
		Action:                 p.reportFiles,
	}
}

func (p *program) reportFiles(c *cli.Context) error {
	files, err := flagsAfterFiles(c)
	if err != nil {
		return err
	}
	if err := noEmptyValue(c, c.Command.Flags); err != nil { // of those after the files
		return err
	}
	page, err := p.pageOptions(c, files)
	if err != nil {
		return err
	}
	format, err := reportFormat(c, page)
	if err != nil {
		return err
	}
	color, output := at(c, "color").String("color"), at(c, "output").String("output")
	switch {
	case !slices.Contains([]string{"auto", "always", "never"}, color):
		return usageErrorf("--color %s: must be auto, always or never", color)
	case len(files) == 0:
		return usageErrorf("report: no file of runs given; - is standard input")
	case output == "-":
		return usageErrorf("--output -: standard output is where the report goes without it; ./- is a file of that name")
	}
	if err := noHistogram(c, format); err != nil {
		return err
	}
	profileOut, err := profileOutOf(c)
	if err != nil {
		return err
	}
	written := []namedFile{{"--output", output}, {"--profile-out", profileOut}}
	if err := p.keepApart(written, inputs("input", files...)); err != nil {
		return err
	}
	if err := checkReplaced(output); err != nil {
		return usageErrorf("--output: %v", err)
	}
	if err := checkPlots(c.String("plots")); err != nil {
		return usageErrorf("--plots: %v", err)
	}
	profile, err := openProfile(profileOut)
	if err != nil {
		return usageErrorf("--profile-out: %v", err)
	}
	runs, torn, err := readRunFiles(files)
	if err != nil {
		return usageErrorf("report: %v", err)
	}
	runs, twice := results.Distinct(runs)
	if !at(c, "quiet").Bool("quiet") {
		for _, t := range torn {
			fmt.Fprintf(p.stderr, "fibchurn: warning: %s\n", harmless(t.Error()))
		}
		if twice > 0 {
			fmt.Fprintf(p.stderr, "fibchurn: warning: %d of the lines repeat a run and are left out\n", twice)
		}
	}
	if dir := c.String("plots"); dir != "" {
		if err := p.writePlots(dir, runs, page, append(inputs("input", files...), written...)); err != nil {
			return err
		}
	}
	text := results.TextOptions{Color: color == "always", Histograms: c.Bool("histogram"), ASCII: asciiOnly(os.Getenv)}
	if output == "" {
		text.Color, text.Width = colored(color, p.stdout), width(p.stdout)
	}
	for i := range runs {
		profile.take(&runs[i])
	}
	err = p.writeReport(format, runs, output, results.FormatOptions{Text: text})
	if err := errors.Join(keyError(err), profile.write(p.stderr)); err != nil {
		return err
	}
	if format.Tests && results.AnyFailed(runs) {
		return errors.New("report: there are runs of which a check failed")
	}
	return nil
}

// writeReport renders to standard output, or to a file that nobody sees half of.
func (p *program) writeReport(format results.Format, runs []results.Run, output string, opts results.FormatOptions) error {
	if output == "" {
		return format.Write(p.stdout, runs, opts)
	}
	var b bytes.Buffer
	if err := format.Write(&b, runs, opts); err != nil {
		return err
	}
	if err := replaceFile(output, b.Bytes()); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

// readRunFiles reads the runs of all files, one after the other.
func readRunFiles(names []string) (runs []results.Run, torn []error, err error) {
	for _, name := range names {
		read := readRunFile
		if name == "-" {
			read = func(string) ([]results.Run, []error, error) { return results.Read(os.Stdin, "standard input") }
		}
		some, warnings, err := read(name)
		if err != nil {
			return nil, nil, err
		}
		runs, torn = append(runs, some...), append(torn, warnings...)
	}
	if len(runs) == 0 {
		return nil, nil, errors.New("there are no runs")
	}
	return runs, torn, nil
}
