package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A namedFile is a file as a command line names it.
type namedFile struct {
	role string // its flag, or what else it is
	path string // "": not given
}

// inputs are files of one kind.
func inputs(role string, paths ...string) (found []namedFile) {
	for _, path := range paths {
		if path == "-" {
			found = append(found, namedFile{"standard input", "/dev/stdin"})
			continue
		}
		found = append(found, namedFile{role, path})
	}
	return found
}

// outputs are the files that a measuring command writes.
func (m *measure) outputs() []namedFile {
	return []namedFile{{"--output", m.output}, {"--profile-out", m.profileOut}}
}

// keepApart refuses a command line that would write over what it reads, or write two
// things to one file: an output that is the same regular file as an input, as another
// output or as what standard output is redirected to. Whatever else may be shared, and
// what the shell has opened is the shell's.
func (p *program) keepApart(outputs, inputs []namedFile) error {
	others := append([]namedFile{}, inputs...)
	if p.stdout == os.Stdout {
		others = append(others, namedFile{"standard output", "/dev/stdout"})
	}
	if p.stderr == os.Stderr {
		others = append(others, namedFile{"standard error", "/dev/stderr"})
	}
	for _, output := range outputs {
		for _, other := range others {
			if sameFile(output.path, other.path) {
				return usageErrorf("%s %s: is the same file as %s, and would spoil it", output.role, output.path, other)
			}
		}
		others = append(others, output)
	}
	return nil
}

// String names the file, and how it came to be named.
func (f namedFile) String() string {
	if strings.HasPrefix(f.path, "/dev/std") {
		return f.role
	}
	return f.role + " " + f.path
}

// sameFile reports whether two paths lead to one regular file, or to one that is not
// there yet.
func sameFile(a, b string) bool {
	const devices = "/dev/"
	if a == "" || b == "" || strings.HasPrefix(a, devices) && strings.HasPrefix(b, devices) {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	switch {
	case errA == nil && errB == nil:
		return infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
	case !errors.Is(errA, fs.ErrNotExist) || !errors.Is(errB, fs.ErrNotExist):
		return false
	}
	a, b = created(a), created(b)
	dirA, errA := os.Stat(filepath.Dir(a))
	dirB, errB := os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(dirA, dirB) && filepath.Base(a) == filepath.Base(b)
}

// created is where a file comes to be that is made by the name of path: a symbolic link
// to what is not there yet is followed.
func created(path string) string {
	const most = 40 // links, as the kernel has it (MAXSYMLINKS)
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}
