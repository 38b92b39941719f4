package vm

import (
	"os"

	"golang.org/x/sys/unix"
)

// A mountPoint is a file system that the guest mounts if the kernel has it.
type mountPoint struct{ kind, dir string }

func mountPoints() []mountPoint {
	return []mountPoint{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"debugfs", "/sys/kernel/debug"},
		{"tracefs", "/sys/kernel/tracing"},
		{"bpf", "/sys/fs/bpf"},
	}
}

// mountAll mounts what there is: a command that needs more says so itself.
func mountAll() {
	if unix.Mount("none", "/dev", "devtmpfs", unix.MS_NOSUID, "") != nil {
		makeDevices()
	}
	for _, m := range mountPoints() {
		_ = unix.Mount("none", m.dir, m.kind, unix.MS_NOSUID|unix.MS_NODEV, "")
	}
	_ = os.Setenv("TMPDIR", "/tmp")
	_ = os.Setenv("HOME", "/tmp")
}

// makeDevices stands in for devtmpfs on kernels without it.
func makeDevices() {
	_ = os.Mkdir("/dev/net", 0o755)
	for _, d := range []struct {
		name         string
		major, minor uint32
	}{
		{"null", 1, 3}, {"zero", 1, 5}, {"random", 1, 8}, {"urandom", 1, 9}, {"kmsg", 1, 11},
		{"ttyS0", 4, 64}, {"ttyS1", 4, 65}, {"net/tun", 10, 200},
	} {
		_ = unix.Mknod("/dev/"+d.name, unix.S_IFCHR|0o600, int(unix.Mkdev(d.major, d.minor)))
	}
}
