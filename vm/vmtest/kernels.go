// Package vmtest finds the kernels that tests boot: Debian's, as
// vm/testdata/fetch-kernels.sh unpacks them.
package vmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The kernels.
const (
	Linux61  = "linux-6.1"  // Debian's cloud kernel 6.1, by QEMU
	Linux612 = "linux-6.12" // Debian's cloud kernel 6.12, by QEMU
	UML      = "uml"        // Debian's User-Mode Linux
)

// directory is FIBCHURN_KERNELS, or fibchurn/kernels in the user's cache.
func directory() (string, error) {
	if dir := os.Getenv("FIBCHURN_KERNELS"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "fibchurn", "kernels"), err
}

// Tour is the directory in which docs/tour/build-kernels.sh builds for the tests: what
// it has built is used again.
func Tour() (string, error) {
	dir, err := directory()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(filepath.Dir(dir), "tour")
	return dir, os.MkdirAll(dir, 0o755)
}

// Kernel returns the path of a kernel's image. Where it is not there, or the program
// that boots it is not, the test is skipped; with FIBCHURN_REQUIRE_VM or CI in the
// environment it fails.
func Kernel(t testing.TB, name string) string {
	t.Helper()
	dir, err := directory()
	if err != nil {
		t.Fatal(err)
	}
	image := "boot/vmlinuz-*"
	if name == UML {
		image = "usr/bin/linux.uml"
	} else if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		missing(t, "qemu-system-x86_64 is not in PATH (Debian: qemu-system-x86)")
	}
	found, err := filepath.Glob(filepath.Join(dir, name, image))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		missing(t, "no kernel "+name+" in "+dir+": vm/testdata/fetch-kernels.sh fetches it")
	}
	return found[0]
}

func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("FIBCHURN_REQUIRE_VM") != "" || os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
