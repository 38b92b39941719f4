package churn

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A resizeCounter counts the calling thread's calls of the kernel's resize, by a
// kprobe that belongs to a perf event and goes with the process (the PMU "kprobe",
// kernel/events/core.c; Linux 4.17). nil counts nothing.
type resizeCounter struct{ fd int }

// openResizeCounter returns a counter, or why there can be none.
func openResizeCounter() (counter *resizeCounter, why string) {
	const pmu = "/sys/bus/event_source/devices/kprobe/type"
	text, err := os.ReadFile(pmu)
	if err != nil {
		return nil, "this kernel has no kprobe events (CONFIG_KPROBE_EVENTS)"
	}
	kind, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return nil, fmt.Sprintf("%s: %v", pmu, err)
	}
	symbol, why := resizeSymbol()
	if why != "" {
		return nil, why
	}
	name := append([]byte(symbol), 0)
	attr := unix.PerfEventAttr{
		Type: uint32(kind), Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Ext1: uint64(uintptr(unsafe.Pointer(&name[0]))), // kprobe_func
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	if err != nil {
		return nil, fmt.Sprintf("kprobe on %s: %v", symbol, err)
	}
	return &resizeCounter{fd}, ""
}

// resizeSymbol finds the function in the running kernel: "resize", or with what a
// compiler appends to it ("resize.isra.0").
func resizeSymbol() (symbol, why string) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return "", err.Error()
	}
	defer f.Close()
	var found []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && (fields[2] == "resize" || strings.HasPrefix(fields[2], "resize.")) && strings.EqualFold(fields[1], "t") {
			found = append(found, fields[2])
		}
	}
	if len(found) != 1 {
		return "", fmt.Sprintf("the kernel has %d functions named resize", len(found))
	}
	return found[0], ""
}

// read returns the count so far.
func (c *resizeCounter) read() (int64, error) {
	if c == nil {
		return 0, nil
	}
	var b [8]byte
	if _, err := unix.Read(c.fd, b[:]); err != nil {
		return 0, fmt.Errorf("read the count of resize calls: %w", err)
	}
	return int64(binary.NativeEndian.Uint64(b[:])), nil
}

func (c *resizeCounter) close() {
	if c != nil {
		unix.Close(c.fd)
	}
}

// kernelRelease is uname -r.
func kernelRelease() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}
