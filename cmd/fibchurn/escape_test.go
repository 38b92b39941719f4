package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fibchurn/internal/netnstest"
)

// No command changes anything of the initial namespace, as root or without, whatever
// its flags; the sysctl that one may change for its time is put back.
func TestHostIsLeftAlone(t *testing.T) {
	netnstest.Root(t)
	dir := openDir(t)
	runs := filepath.Join(dir, "runs.jsonl")
	if code, _, stderr := execute(t, false, "delete-iface", "--subnets", "16", "--runs", "6", "-q", "-o", runs); code != exitOK {
		t.Fatal(stderr)
	}
	if err := os.Chmod(runs, 0o644); err != nil {
		t.Fatal(err)
	}
	const short = " --runs 1 --warmup 0 -q"
	before := readHostState(t)
	for _, line := range []string{
		"delete-iface --subnets 64 --ifaces 2 --setup up -4 -6" + short,
		"delete-iface --subnets 64 --link-kind auto --sync-mem 1M --allow-host-sysctl" + short,
		"delete-iface --subnets 64 --profile --profile-out DIR/p.svg" + short,
		"routes --count 500 --rules 3 --unmerge --table 1000 --tables 2 --listeners 1" + short,
		"routes --count 500 --parallel 2 --parallel-in namespaces" + short,
		"routes --count 500 -6 --layout dfz --order random" + short,
		"addrs --count 50 -4 -6" + short,
		"flap --count 200 --duration 100ms" + short,
		"resize --node-bits 5 --cycles 1 --trace-resize" + short,
		"lookup --routes 200 --under flap --duration 100ms" + short,
		"forward --routes 200 --flows 20 --duration 50ms" + short,
		"flood --duration 50ms" + short,
		"nexthops --routes 100 --paths 1,4" + short,
		"netns --namespaces 3 --subnets 10 --routes 10" + short,
		"suite DIR/my.suite --allow-host-sysctl -q -o DIR/out.jsonl",
		"doctor", "report " + runs, "report --format prometheus -o DIR/r.prom " + runs, "report -o DIR/r.html --plots DIR/plots " + runs, "compare --by cell --force " + runs, "completion bash", "man",
	} {
		for _, rootless := range []bool{false, true} {
			scratch := openDir(t)
			writeFile(t, filepath.Join(scratch, "my.suite"), "routes --count 100 --runs 1\ndelete-iface --subnets 16 --sync-mem 1M --runs 1\n")
			cmd := exec.Command(binary(t), strings.Fields(strings.ReplaceAll(line, "DIR", scratch))...)
			if rootless {
				asOrdinaryUser(cmd)
			}
			withTemporary(cmd, scratch)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != exitOK && code != exitUnsupported {
				t.Errorf("%s (rootless %v): exit %d, %s", line, rootless, code, &stderr)
			}
			mustEndSoon(t)
			mustHoldOnly(t, scratch, "my.suite", "out.jsonl", "r.prom", "p.svg", "r.html", "plots")
			for _, name := range []string{"out.jsonl", "r.prom", "p.svg", "r.html"} {
				if info, err := os.Stat(filepath.Join(scratch, name)); err == nil && info.Mode().Perm()&0o133 != 0 {
					t.Errorf("%s: %s has the mode %v", line, name, info.Mode())
				}
			}
			if mustBeAsBefore(t, before); t.Failed() {
				t.Fatalf("after %s (rootless %v)", line, rootless)
			}
		}
	}
}

// A name that somebody else has put beside an output, such as a symbolic link, is not
// written through.
func TestPlantedLinks(t *testing.T) {
	netnstest.Root(t)
	dir := t.TempDir()
	victim, runs := filepath.Join(dir, "victim"), filepath.Join(dir, "runs.jsonl")
	writeFile(t, victim, "precious\n")
	if code, _, stderr := execute(t, false, "delete-iface", "--subnets", "16", "--runs", "2", "-q", "-o", runs); code != exitOK {
		t.Fatal(stderr)
	}
	// All the names that a process might choose for what it writes aside.
	out := t.TempDir()
	script := `for n in $$ $(seq $$ $(($$ + 40))); do ln -sf ` + victim + ` p.svg.$n.tmp; done
		$FIBCHURN delete-iface --subnets 16 --runs 1 --warmup 0 -q --profile --profile-out p.svg >/dev/null
		$FIBCHURN report --format bench -o r.txt ` + runs + `; true`
	_, _, stderr := inShell(t, false, out, script)
	if got := readFile(t, victim); got != "precious\n" {
		t.Errorf("written through: %.60q, stderr %s", got, stderr)
	}
}
