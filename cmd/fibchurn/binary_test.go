package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fibchurn/internal/netnstest"
	"fibchurn/internal/progtest"
)

// built is the program, made once a test process.
var built = progtest.New(".")

func TestMain(m *testing.M) { os.Exit(built.Run(m)) }

func binary(t testing.TB) string {
	t.Helper()
	return built.Path(t)
}

// execute runs the program as a process of its own, as an ordinary user where
// rootless is set.
func execute(t testing.TB, rootless bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return executeProgram(t, binary(t), rootless, args...)
}

// ownProgram is the program under a name of the test's own, by which its processes are
// told from those of tests beside it.
func ownProgram(t testing.TB) string {
	t.Helper()
	path := filepath.Join(openDir(t), "fibchurn")
	if err := os.Link(binary(t), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func executeProgram(t testing.TB, program string, rootless bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	netnstest.Root(t)
	cmd := exec.Command(program, args...)
	if rootless {
		asOrdinaryUser(cmd)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// asOrdinaryUser makes cmd run as nobody.
func asOrdinaryUser(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// processes lists the processes that execute a program.
func processes(t testing.TB, program string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.TrimSuffix(target, " (deleted)") == program {
			found = append(found, link)
		}
	}
	return found
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
