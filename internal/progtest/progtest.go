// Package progtest is for tests that execute a program of this module.
package progtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// A Program is built when it is first asked for.
type Program struct {
	pkg  string // relative to the test's own
	once sync.Once
	dir  string
	err  error
}

// New is the program of the package at a path relative to the test's own.
func New(pkg string) *Program { return &Program{pkg: pkg} }

func (p *Program) build() {
	if p.dir, p.err = os.MkdirTemp("", "fibchurn-test-"); p.err != nil {
		return
	}
	if p.err = os.Chmod(p.dir, 0o755); p.err != nil { // an ordinary user executes it too
		return
	}
	// As the Makefile builds it: what one has compiled the other need not.
	cmd := exec.Command("go", "build", "-trimpath", "-o", p.path(), p.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // PID 1 of a guest has no libraries
	if out, err := cmd.CombinedOutput(); err != nil {
		p.err = fmt.Errorf("%v: %s", err, out)
	}
}

func (p *Program) path() string { return filepath.Join(p.dir, "fibchurn") }

// Path is the executable.
func (p *Program) Path(t testing.TB) string {
	t.Helper()
	if p.once.Do(p.build); p.err != nil {
		t.Fatal(p.err)
	}
	return p.path()
}

// Remove removes the program, if it was built.
func (p *Program) Remove() { os.RemoveAll(p.dir) } // "" removes nothing

// Run runs the tests, for TestMain, and removes the program.
func (p *Program) Run(m *testing.M) (code int) {
	defer p.Remove()
	return m.Run()
}
