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
	netnstest.Root(t)
	cmd := exec.Command(binary(t), args...)
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

// processes lists the processes that execute the program under test.
func processes(t testing.TB) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.TrimSuffix(target, " (deleted)") == binary(t) {
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
