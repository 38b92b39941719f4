package machine

import (
	"os"
	"strings"
)

// Boot returns the kernel's boot_id (random_boot_id, drivers/char/random.c), which
// is new with every boot, or "" where it cannot be read.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Rootless reports whether this process runs in a user namespace that is not the
// initial one, whose uid_map alone maps all users to themselves
// (user_namespaces(7)).
func Rootless() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !initialUserNamespace(string(b))
}
