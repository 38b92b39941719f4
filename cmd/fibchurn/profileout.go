package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fibchurn/results"
)

func profileOutFlag() cli.Flag {
	return &cli.StringFlag{Name: "profile-out", Usage: "write the profile to `FILE`: a flame graph where that ends in .svg, else folded stacks"}
}

// profileOutOf reads the flag. Whether the command in a guest profiles is known there
// alone; a report is of runs that were made.
func profileOutOf(c *cli.Context) (string, error) {
	path := at(c, "profile-out").String("profile-out")
	switch {
	case path == "":
		return "", nil
	case path == "-":
		return "", usageErrorf("--profile-out -: standard output has the table; ./- is a file of that name")
	case c.Command.Name != "vm" && c.Command.Name != reportCommand && !at(c, "profile").Bool("profile"):
		return "", usageErrorf("--profile-out says where to write a profile; give --profile too")
	}
	return path, nil
}

// A profileFile is where the profile of all runs goes at the end.
type profileFile struct {
	path string        // "": nowhere
	runs []results.Run // profiled
}

// openProfile finds before any work starts what would keep the file from being written:
// it is replaced as a whole, so that it must be a file, in a directory that can be
// written to.
func openProfile(path string) (*profileFile, error) {
	if path == "" {
		return &profileFile{}, nil
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = path, nil
	}
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file, which could be replaced", path)
	}
	return &profileFile{path: target}, tryBeside(target)
}

// take keeps a run that has a profile.
func (f *profileFile) take(run *results.Run) {
	if f.path != "" && run.Profile != nil {
		f.runs = append(f.runs, *run)
	}
}

// write replaces the file as a whole, so that there is never half a file. Where
// no run has a profile it leaves things as they are, and says so on stderr.
func (f *profileFile) write(stderr io.Writer) (err error) {
	switch {
	case f.path == "":
		return nil
	case !results.HasProfile(f.runs):
		_, err := fmt.Fprintf(stderr, "fibchurn: --profile-out: no run has a profile: %s is not written\n", f.path)
		return err
	}
	render := results.WriteFolded
	if strings.EqualFold(filepath.Ext(f.path), ".svg") {
		render = results.WriteFlameGraph
	}
	var content bytes.Buffer
	if err = render(&content, f.runs); err == nil {
		err = replaceWith(f.path, content.Bytes(), 0)
	}
	if err != nil {
		return fmt.Errorf("--profile-out: %w", err)
	}
	return nil
}
