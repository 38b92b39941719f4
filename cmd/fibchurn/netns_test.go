package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
)

func TestNetnsUsageErrors(t *testing.T) {
	refused(t, [][2]string{
		{"netns --namespaces 0", "--namespaces 0: must be 1 to 65536"},
		{"netns --namespaces 65537", "--namespaces 65537: must be 1 to 65536"},
		{"netns --namespaces 3,3", "--namespaces 3: given twice"},
		{"netns --namespaces x", `"x" is no count`},
		{"netns --subnets -1", `"-1" is no count`},
		{"netns --routes 8M", "there are 7667712 IPv4 /24 subnets"},
		{"netns --as routs", "--as routs: must be one of"},
		{"netns --as empty --as empty", "--as empty: given twice"},
		{"netns --as addrs --subnets 0", "--subnets 0: --as addrs has nothing to add"},
		{"netns --as both --routes 0", "--routes 0: --as both has nothing to add"},
		{"netns --loops 4 --routes 5", "--loops makes bare namespaces"},
		{"netns --loops 4 --as bare", "--loops makes bare namespaces"},
		{"netns --loops 2000", "--loops 2000: must be at most 1024"},
		{"netns --loops 1000 --namespaces 60k", "--namespaces 60000: that takes some"},
		{"netns --link-kind tun", "--link-kind tun"},
		{"netns --link-kind dumy", "--link-kind dumy"},
		{"netns 16", `unexpected argument "16"`},
	})
}

// Rootless or not, the runs are verified samples of all cells.
func TestNetnsRecords(t *testing.T) {
	for _, rootless := range []bool{false, true} {
		code, stdout, stderr := execute(t, rootless, "netns", "--namespaces", "2,3", "--routes", "50", "--subnets", "50", "--runs", "1", "--warmup", "0", "-j", "-q")
		if code != 0 {
			t.Fatalf("rootless %v: exit %d: %s", rootless, code, stderr)
		}
		cells := map[string]bool{}
		for _, r := range readRuns(t, stdout) {
			if !r.Sample() || r.Phase("dismantle") == nil {
				t.Errorf("run: %+v", r)
			}
			cells[r.Cell] = true
		}
		if len(cells) != 6 || !cells["2 addrs"] || !cells["3 empty"] {
			t.Errorf("rootless %v: cells %v", rootless, cells)
		}
	}
}

// Killed at any moment it leaves no process, and with its processes end all
// references to its namespaces, which have neither names nor mounts.
func TestNetnsKilledLeavesNothing(t *testing.T) {
	netnstest.Root(t)
	for range 5 {
		cmd := exec.Command(binary(t), "netns", "--namespaces", "20", "--routes", "100", "--subnets", "100", "-q")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+rand.IntN(300)) * time.Millisecond)
		if err := cmd.Process.Signal(os.Kill); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		if left := processes(t, binary(t)); len(left) != 0 {
			t.Errorf("processes left: %v", left)
		}
	}
}
