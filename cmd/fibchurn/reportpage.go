package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
	"fibchurn/results/report"
)

// formatHTML is the page, which is made of files alone: a command that measures has
// but its own runs.
const formatHTML = "html"

func reportFormatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: results.FormatText, Usage: "print `FORMAT`: " + strings.Join(append(results.FormatNames(), formatHTML), ", ")}
}

// reportFormat is the format asked for: by name, or else by the name of the output.
func reportFormat(c *cli.Context, opts report.Options) (results.Format, error) {
	format := at(c, "format")
	page := format.String("format") == formatHTML
	if !format.IsSet("format") && !at(c, "json").Bool("json") {
		page = strings.EqualFold(filepath.Ext(at(c, "output").String("output")), ".html")
	}
	if c.IsSet("by") && !page && !c.IsSet("plots") {
		return results.Format{}, usageErrorf("--by: only --format html and --plots have sides")
	}
	switch {
	case !page && format.IsSet("format") && !at(c, "json").Bool("json"):
		if _, ok := results.FormatNamed(format.String("format")); !ok {
			return results.Format{}, usageErrorf("--format %s: must be one of %s", format.String("format"), strings.Join(append(results.FormatNames(), formatHTML), ", "))
		}
		return formatOf(c)
	case !page:
		return formatOf(c)
	case at(c, "json").Bool("json"):
		return results.Format{}, usageErrorf("--json and --format html: one or the other")
	}
	return results.Format{Name: formatHTML, Write: func(w io.Writer, runs []results.Run, _ results.FormatOptions) error {
		return report.Write(w, runs, opts)
	}}, nil
}

// byFile is the key of --by that a record does not have.
const byFile = "file"

// pageOptions are those of the page. By file the files are read once more, one by one.
func (p *program) pageOptions(c *cli.Context, files []string) (report.Options, error) {
	opts := report.Options{By: c.String("by"), Version: programVersion(), FlameGraph: results.WriteFlameGraph}
	if opts.By != byFile {
		return opts, nil
	}
	for _, name := range files {
		if name == "-" {
			return opts, usageErrorf("--by file: standard input is no file with a name")
		}
		runs, _, err := readRunFile(name)
		if err != nil {
			return opts, usageErrorf("report: %v", err)
		}
		opts.Groups = append(opts.Groups, results.Group{Name: results.Plain(groupName(files, name)), Runs: runs})
	}
	return opts, nil
}

// keyError is a usage error where --by names no key.
func keyError(err error) error {
	var unknown *results.KeyError
	if errors.As(err, &unknown) {
		return usageErrorf("--by: %v", err)
	}
	return err
}

// writePlots writes every chart of the page to two files, none of which may be among
// others. What else is in the directory stays.
func (p *program) writePlots(dir string, runs []results.Run, opts report.Options, others []namedFile) error {
	charts, err := report.Charts(runs, opts)
	if err != nil {
		return keyError(err)
	}
	for _, c := range charts {
		for _, extension := range []string{".svg", ".png"} {
			if err := p.keepApart([]namedFile{{"--plots", filepath.Join(dir, c.Name+extension)}}, others); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageErrorf("--plots: %v", err)
	}
	for _, c := range charts {
		for extension, write := range map[string]func(io.Writer) error{".svg": c.Chart.WriteSVG, ".png": c.Chart.WritePNG} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				return fmt.Errorf("draw %s: %w", c.Name, err)
			}
			if err := replaceFile(filepath.Join(dir, c.Name+extension), b.Bytes()); err != nil {
				return fmt.Errorf("--plots: %w", err)
			}
		}
	}
	return nil
}
