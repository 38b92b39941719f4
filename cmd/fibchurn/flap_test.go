package main

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
)

// Bad input to addrs, flap and the flags of listeners and of the host's sysctl gives
// one line on stderr, nothing on stdout, and exit 2.
func TestChurnUsageErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"addrs --count 0", "--count 0: must be at least 1"},
		{"addrs --count x", `"x" is no count`},
		{"addrs --count 1k,1000", "--count 1000: given twice"},
		{"addrs --count 8M", "there are 7667712 IPv4 /24 subnets"},
		{"addrs --batch 0", "--batch 0: must be 1 to"},
		{"addrs --order up", "--order up: must be added, reverse or random"},
		{"addrs --promote", "there are none to promote without --secondaries"},
		{"addrs -6 --secondaries --promote", "IPv6 addresses are not primary or secondary"},
		{"addrs --prefix-len 0", "--prefix-len 0"},
		{"addrs --prefix-len 33", "--prefix-len 33: must be 8 to 32"},
		{"addrs --secondaries --count 255 --prefix-len 24", "an IPv4 /24 holds 254 addresses"},
		{"addrs --link-kind dumy", "--link-kind dumy: must be auto"},
		{"addrs 8192", `unexpected argument "8192"`},
		{"addrs --slow", "--slow: there are no --listeners"},
		{"addrs --listeners 1k", "--listeners 1000: must be 0 to 256"},
		{"routes --listeners -1", `"-1" is no count`},
		{"routes --slow", "--slow: there are no --listeners"},
		{"flap --rate 0", "--rate 0: must be at least 1, or max"},
		{"flap --rate fast", `"fast" is no count`},
		{"flap --rate -1", `"-1" is no count`},
		{"flap --rate 1G", "--rate 1000000000: must be 1 to 10000000, or max"},
		{"flap --duration 0", "--duration 0s: must be more than 0"},
		{"flap --duration -1s", "--duration -1s: must be more than 0"},
		{"flap --duration 60", "invalid value"},
		{"flap --duration 48h", "at most 24h0m0s"},
		{"flap --flap-batch 0", "--flap-batch 0: must be 1 to"},
		{"flap --count 0", "--count 0: must be at least 1"},
		{"flap --slow", "--slow: there are no --listeners"},
		{"flap fast", `unexpected argument "fast"`},
		{"routes --sync-mem 1Mi", "--allow-host-sysctl allows it"},
		{"routes --sync-mem 1 --allow-host-sysctl", "--sync-mem 1: the kernel takes 65536 to 67108864 bytes"},
		{"routes --sync-mem 0 --allow-host-sysctl", "--sync-mem 0: the kernel takes"},
		{"routes --sync-mem 65Mi --allow-host-sysctl", "--sync-mem 68157440: the kernel takes"},
		{"--sync-mem 1Mi addrs", "--allow-host-sysctl allows it"},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := call(strings.Split(test.args, " ")...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, want %d; stdout %q", code, exitUsage, stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fibchurn: ") || !strings.Contains(stderr, test.want) {
				t.Errorf("stderr %q, want one line with %q", stderr, test.want)
			}
		})
	}
}

// addrs and flap with listeners, as lines, rootless and not.
func TestChurnRecords(t *testing.T) {
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "addrs", "--count", "50,60", "--runs", "2", "-4", "-6", "--listeners", "2", "-j", "-q")
		if runs := readRuns(t, stdout); code != 0 || len(runs) != 4 || !runs[0].Sample() || runs[0].Listeners == nil || runs[0].Phase("add").Each == nil {
			t.Errorf("rootless %v: exit %d, %s: %+v", rootless, code, stderr, runs)
		}
		code, stdout, stderr = execute(t, rootless, "flap", "--count", "50", "--rate", "max", "--duration", "200ms", "--listeners", "1", "--slow", "-j", "-q")
		runs := readRuns(t, stdout)
		if code != 0 || len(runs) != 1 || !runs[0].Sample() || runs[0].Listeners == nil || !runs[0].Listeners.Slow || runs[0].Flap == nil {
			t.Errorf("rootless %v: exit %d, %s: %+v", rootless, code, stderr, runs)
		}
	}
}

// The first signal ends the flapping at once, and reports it.
func TestFlapStopsAtTheFirstSignal(t *testing.T) {
	netnstest.Root(t)
	cmd := exec.Command(binary(t), "flap", "--count", "1k", "--duration", "1h", "--rate", "1k")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	waitAtMost(t, cmd, 5*time.Second)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	if !bytes.Contains(stdout.Bytes(), []byte("was stopped after")) || !bytes.Contains(stdout.Bytes(), []byte("its table was complete again")) {
		t.Errorf("no report: %s", &stdout)
	}
}
