// Command guest is a program for the tests of package vm: as PID 1 it misbehaves as
// its arguments say.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fibchurn/results"
	"fibchurn/vm"
)

func main() {
	vm.Inside(run)
	fmt.Fprintln(os.Stderr, "not in a guest")
	os.Exit(1)
}

func run(args []string, stdout, stderr io.Writer) int {
	switch args[1] {
	case "runs": // N, every milliseconds
		n, _ := strconv.Atoi(args[2])
		pause, _ := strconv.Atoi(args[3])
		return runs(stdout, stderr, n, time.Duration(pause)*time.Millisecond)
	case "exit": // CODE
		fmt.Fprintln(stderr, "a word before the end")
		code, _ := strconv.Atoi(args[2])
		return code
	case "silent":
	case "say": // TEXT
		fmt.Fprintln(stdout, args[2])
	case "read": // FILE
		content, err := os.ReadFile(args[2])
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		fmt.Fprintf(stdout, "%s\n", content)
	case "hostfs": // DIR of the host, to be written to
		if err := unix.Mount("none", "/tmp", "hostfs", 0, args[2]); err != nil {
			fmt.Fprintln(stdout, "mount:", err)
			return 0
		}
		err := os.WriteFile("/tmp/escaped", []byte("x"), 0o644)
		fmt.Fprintln(stdout, "write:", err)
	case "sleep":
		time.Sleep(time.Hour)
	case "die": // PID 1 ends
		runs(stdout, stderr, 1, 0)
		os.Exit(3)
	case "crash": // the kernel oopses
		runs(stdout, stderr, 1, 0)
		_ = os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	case "off": // the machine ends without a word, inside a line
		runs(stdout, stderr, 1, 0)
		if port, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY|unix.O_NOCTTY, 0); err == nil {
			fmt.Fprint(port, `00000000 {"schema":1,"ti`)
			_ = unix.IoctlSetInt(int(port.Fd()), unix.TCSBRK, 1)
		}
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	case "warn": // the kernel complains during the second of three runs
		runs(stdout, stderr, 1, 0)
		_ = os.WriteFile("/dev/kmsg", []byte("<4>WARNING: CPU: 0 PID: 1 at net/ipv4/fib_trie.c:1 resize+0x1/0x2\n"), 0)
		runs(stdout, stderr, 2, 0)
	case "speed": // BYTES of every line, N lines
		return speed(stdout, args[2], args[3])
	}
	return 0
}

func runs(stdout, stderr io.Writer, n int, pause time.Duration) int {
	enc := results.NewEncoder(stdout)
	for i := range n {
		time.Sleep(pause)
		run := &results.Run{
			Schema: results.Schema, Time: time.Now().UTC(), Command: "fake", Cell: "cell", Run: i + 1,
			Spec: []byte("{}"), Verified: true, Environment: results.Environment{Kernel: "?"},
		}
		if err := enc.Encode(run); err != nil {
			fmt.Fprintln(stderr, "results:", err)
			return 1
		}
	}
	return 0
}

// speed says how long lines take to leave.
func speed(stdout io.Writer, bytes, lines string) int {
	size, _ := strconv.Atoi(bytes)
	n, _ := strconv.Atoi(lines)
	text := make([]byte, size)
	for i := range text {
		text[i] = 'x'
	}
	begun := time.Now()
	for range n {
		fmt.Fprintf(stdout, "%s\n", text)
	}
	fmt.Fprintf(stdout, "%v a line of %d bytes\n", time.Since(begun)/time.Duration(n), size)
	return 0
}
