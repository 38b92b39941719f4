package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func readStat(t tree, buffer []byte) (cpuStat, error) {
	text, err := readInto(t, "proc/stat", buffer)
	if err != nil {
		return cpuStat{}, err
	}
	return parseStat(text)
}

func readTasks(t tree, buffer []byte) (int, error) {
	text, err := readInto(t, "proc/loadavg", buffer)
	if err != nil {
		return 0, err
	}
	return parseLoadavg(text)
}

// ownCPU is user and system time.
func ownCPU() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read this process's CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// ownRunning counts the threads of this process that run or could. Those that are
// gone by now are not among them.
func ownRunning(t tree, buffer []byte) int {
	tasks, err := os.ReadDir(t.path("proc/self/task"))
	if err != nil {
		return 1 // the thread that asks
	}
	n := 0
	for _, task := range tasks {
		text, err := readInto(t, "proc/self/task/"+task.Name()+"/stat", buffer)
		if err == nil && taskRunning(text) {
			n++
		}
	}
	return max(1, n)
}

// taskRunning reports whether the state is R in "12 (a name) R 1 ..." (do_task_stat,
// fs/proc/array.c). The name may have parentheses in it.
func taskRunning(stat []byte) bool {
	_, rest, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return found && bytes.HasPrefix(rest, []byte("R"))
}

// readInto reads the beginning of a file with one read: the lines of the CPUs are
// all that is needed of /proc/stat (of some 200 CPUs). It does without os.File,
// which would double the system calls: they are dear under User-Mode Linux.
func readInto(t tree, name string, buffer []byte) ([]byte, error) {
	path := t.path(name)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	n, err := unix.Read(fd, buffer)
	_ = unix.Close(fd) // nothing was written, so nothing can be lost
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return buffer[:n], nil
}

// statFields is how many figures the first line of /proc/stat has at least, up to
// steal (since Linux 2.6.11).
const statFields = 8

func parseStat(text []byte) (cpuStat, error) {
	var stat cpuStat
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	values, found := bytes.CutPrefix(first, []byte("cpu "))
	if !found {
		return stat, errors.New("/proc/stat does not begin with the sum over the CPUs")
	}
	var v [statFields]uint64
	n := 0
	for field := range bytes.FieldsSeq(values) {
		if n == len(v) {
			break
		}
		value, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return stat, fmt.Errorf("/proc/stat has %q for a number", field)
		}
		v[n] = value
		n++
	}
	if n < len(v) {
		return stat, fmt.Errorf("/proc/stat has %d figures for the CPUs, want %d", n, len(v))
	}
	stat.busy = v[0] + v[1] + v[2] + v[5] + v[6]
	stat.idle = v[3] + v[4]
	stat.steal = v[7]
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		stat.cpus++
	}
	return stat, nil
}

// parseLoadavg returns the number of tasks that run or could, from "0.02 0.03 0.00
// 1/87 4801" (loadavg_proc_show, fs/proc/loadavg.c).
func parseLoadavg(text []byte) (int, error) {
	fields := bytes.Fields(text)
	if len(fields) < 4 {
		return 0, errors.New("/proc/loadavg has too few fields")
	}
	running, _, found := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.ParseUint(string(running), 10, 31)
	if !found || err != nil {
		return 0, fmt.Errorf("/proc/loadavg has %q for the tasks", fields[3])
	}
	return int(n), nil
}
