package vm

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// guest is PID 1: it sets the machine up, executes the command and powers off. What
// goes wrong before there is a channel goes to the console.
func guest(run Run) {
	defer powerOff()
	mountAll()
	ch, err := openChannel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fibchurn guest: no results channel:", err)
		return
	}
	log := openKernelLog()
	s, err := setUp(ch)
	if err != nil {
		ch.send(&message{Guest: messageFail, Text: err.Error()})
		return
	}
	out := &runWriter{ch: ch, log: log}
	out.complaints() // of the boot
	ch.send(&message{Guest: messageStart, Release: kernelRelease()})
	stdout, stderr := newLineWriter(out.line), newLineWriter(func(line []byte) error {
		fmt.Fprintf(os.Stderr, "%s\n", line)
		return ch.send(&message{Guest: messageStderr, Text: string(line)})
	})
	code := run(s.Args, stdout, stderr)
	_ = stdout.flush()
	_ = stderr.flush()
	out.complaints()
	ch.send(&message{Guest: messageEnd, Exit: code, Runs: out.runs})
}

// setUp loads the modules and sets the sysctls.
func setUp(ch *channel) (*spec, error) {
	content, err := os.ReadFile("/" + guestSpec)
	if err != nil {
		return nil, err
	}
	s := &spec{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("/%s: %w", guestSpec, err)
	}
	for _, m := range s.Modules {
		if err := loadModule(m); err != nil {
			// Whether the command needs it will be seen.
			ch.send(&message{Guest: messageStderr, Text: err.Error()})
		}
	}
	for _, sysctl := range s.Sysctls {
		if err := sysctl.set(); err != nil {
			return nil, err
		}
	}
	_ = os.Chdir(s.Dir) // one that a mount hides, such as /dev/shm, is not there
	return s, quietConsole()
}

func loadModule(m specModule) error {
	path := "/" + guestModules + "/" + m.File
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		err = unix.FinitModule(int(f.Fd()), m.Params, 0)
	}
	_ = os.Remove(path) // its memory is for the measurement
	if err != nil && err != unix.EEXIST {
		_, name, _ := strings.Cut(strings.TrimSuffix(m.File, ".ko"), "-")
		return fmt.Errorf("load module %s: %s", name, reason(err))
	}
	return nil
}

// quietConsole keeps messages below a warning off the console from here on: the
// kernel writes them there with its own time, which would be the measurement's.
// They stay in the log.
func quietConsole() error {
	const consoleLevel, warnings = 8, 5 // SYSLOG_ACTION_CONSOLE_LEVEL
	if _, _, errno := unix.Syscall(unix.SYS_SYSLOG, consoleLevel, 0, warnings); errno != 0 {
		return fmt.Errorf("quiet the console: %w", errno)
	}
	return nil
}

func kernelRelease() string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
}

// powerOff ends the machine. It has no disk; sync is for what a command may have
// mounted.
func powerOff() {
	if failure := recover(); failure != nil {
		panic(failure) // PID 1 dies of it, and the kernel says so on the console
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	for { // neither is to be had: the host ends the machine
		_ = unix.Pause()
	}
}
