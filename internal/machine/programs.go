package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// versionTimeout bounds how long a program may take to say its version.
const versionTimeout = 10 * time.Second

// probeProgram looks for the first of the programs that is in PATH and asks for
// its version, since one that is there may still not start.
func probeProgram(ctx context.Context, names ...string) finding {
	for _, name := range names {
		path, err := exec.LookPath(name)
		if errors.Is(err, exec.ErrDot) {
			continue // a program of the current directory is not taken
		}
		if err == nil {
			return askVersion(ctx, path)
		}
	}
	return finding{Missing, strings.Join(names, " or ") + " is not in PATH"}
}

func askVersion(ctx context.Context, path string) finding {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, "--version")
	command.WaitDelay = time.Second
	output, err := command.Output()
	version := firstLine(output)
	switch {
	case ctx.Err() != nil:
		return finding{Unknown, fmt.Sprintf("%s --version did not end: %v", path, ctx.Err())}
	case err != nil:
		return finding{Unknown, fmt.Sprintf("%s --version failed: %v", path, err)}
	case !strings.ContainsAny(version, "0123456789"):
		return finding{Unknown, path + " --version says no version"}
	}
	return finding{OK, path + ": " + version}
}

func firstLine(output []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(output), []byte("\n"))
	return string(bytes.TrimSpace(line))
}

// An emulator is QEMU for one architecture.
type emulator struct {
	program string
	pkg     string // of Debian
}

// qemuFor names the emulator for a machine that uname calls so.
func qemuFor(machine string) emulator {
	switch machine {
	case "x86_64":
		return emulator{"qemu-system-x86_64", "qemu-system-x86"}
	case "i386", "i486", "i586", "i686":
		return emulator{"qemu-system-i386", "qemu-system-x86"}
	case "aarch64":
		return emulator{"qemu-system-aarch64", "qemu-system-arm"}
	case "ppc64le", "ppc64":
		return emulator{"qemu-system-ppc64", "qemu-system-ppc"}
	}
	if strings.HasPrefix(machine, "armv") {
		return emulator{"qemu-system-arm", "qemu-system-arm"}
	}
	return emulator{"qemu-system-" + machine, "qemu-system"}
}
