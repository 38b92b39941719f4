package machine

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// MemAvailable is how much memory, in bytes, can be had without swapping
// (si_mem_available, mm/show_mem.c).
func MemAvailable() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return parseMemAvailable(b)
}

func parseMemAvailable(b []byte) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), "MemAvailable:")
		if !found {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		if err != nil || kb < 0 || kb > 1<<53 {
			return 0, errors.New("/proc/meminfo has no number for MemAvailable")
		}
		return kb << 10, nil
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}

// PossibleCPUs is how many CPUs the kernel may ever have: it allocates what is
// per CPU for all of them.
func PossibleCPUs() int {
	if n := countCPUList(running.text("sys/devices/system/cpu/possible")); n > 0 {
		return n
	}
	return runtime.NumCPU()
}
