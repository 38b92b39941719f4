package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"fibchurn/internal/netnstest"
	"fibchurn/results"
)

// The delete phase agrees with an outside witness of the same system call:
// strace -T, which stamps the call's entry and exit from another process. The
// median of the differences must be within 3 % or 0.5 ms.
func TestDeleteAgreesWithStrace(t *testing.T) {
	netnstest.Root(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is needed (make test installs it): ", err)
	}
	call := regexp.MustCompile(`nlmsg_type=(?:0x11|RTM_DELLINK)[ ,].* <([0-9.]+)>`)
	var differences, walls []float64
	for range 7 {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, "-ff", "-T", "--seccomp-bpf", "-e", "trace=sendto", "-o", trace,
			binary(t), "delete-iface", "--as", "addrs", "--subnets", "4096", "--runs", "1", "--warmup", "0", "-q", "-j")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		var run results.Run
		if err := json.Unmarshal(stdout.Bytes(), &run); err != nil {
			t.Fatal(err)
		}
		text := traces(t, trace)
		m := call.FindSubmatch(text)
		if m == nil {
			t.Fatalf("strace saw no removal of a link in %d bytes", len(text))
		}
		seconds, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		wall := float64(run.Phase("delete").Wall)
		walls = append(walls, wall)
		differences = append(differences, wall-seconds*1e9)
	}
	slices.Sort(differences)
	slices.Sort(walls)
	difference, wall := differences[len(differences)/2], walls[len(walls)/2]
	allowed := math.Max(0.03*wall, float64(500*time.Microsecond))
	t.Logf("wall %.3f ms, minus strace's %.3f ms (differences %.3f to %.3f ms)", wall/1e6, difference/1e6,
		differences[0]/1e6, differences[len(differences)-1]/1e6)
	if math.Abs(difference) > allowed {
		t.Errorf("the delete phase differs from strace by %.3f ms, allowed are %.3f ms", difference/1e6, allowed/1e6)
	}
}

// traces are what strace wrote, a file for each thread: in one file a call that
// another thread's interrupts would be torn in two lines.
func traces(t *testing.T, prefix string) []byte {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*")
	if err != nil || len(files) == 0 {
		t.Fatal("no trace", err)
	}
	var all []byte
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}
