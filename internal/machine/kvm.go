package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// kvmAPIVersion is the only one since Linux 2.6.22 (Documentation/virt/kvm/api.rst).
const kvmAPIVersion = 12

// KVM returns nil where /dev/kvm makes virtual machines, else an error that says why it
// does not. What they boot is not tried.
func KVM() error {
	if f := judgeKVM(tryKVM(running)); f.status != OK {
		return errors.New(f.detail)
	}
	return nil
}

func probeKVM(t tree) finding {
	f := judgeKVM(tryKVM(t))
	if f.status == OK && pvmOnly(t) {
		return finding{Missing, "/dev/kvm is driven by PVM, which boots only kernels made as its guests"}
	}
	return f
}

// pvmOnly reports whether KVM's only driver is PVM, a patch set for machines
// without virtualisation in hardware. It makes virtual machines and runs the
// firmware's first instructions, but a kernel that was not built for it hangs.
func pvmOnly(t tree) bool {
	return t.exists("sys/module/kvm_pvm") && !t.exists("sys/module/kvm_intel") && !t.exists("sys/module/kvm_amd")
}

// tryKVM makes a virtual machine without memory and CPUs and closes it: the device
// can be there without a processor that can do it.
func tryKVM(t tree) error {
	f, err := os.OpenFile(t.path("dev/kvm"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	version, err := kvmCall(f, 0) // KVM_GET_API_VERSION
	if err != nil {
		return fmt.Errorf("%s: KVM_GET_API_VERSION: %w", f.Name(), err)
	}
	if version != kvmAPIVersion {
		return fmt.Errorf("%s: API version %d, want %d", f.Name(), version, kvmAPIVersion)
	}
	vm, err := kvmCall(f, 1) // KVM_CREATE_VM
	if err != nil {
		return fmt.Errorf("%s: KVM_CREATE_VM: %w", f.Name(), err)
	}
	return unix.Close(vm)
}

// kvmCall does the ioctl _IO(KVMIO, number) with argument 0, the default type of
// machine.
func kvmCall(f *os.File, number uintptr) (int, error) {
	const kvmIO = 0xAE << 8
	request := kvmIO | number
	if slices.Contains([]string{"ppc64", "ppc64le", "mips", "mipsle", "mips64", "mips64le"}, runtime.GOARCH) {
		request |= 1 << 29 // _IOC_NONE is 1 there
	}
	for {
		result, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, 0)
		switch errno {
		case 0:
			return int(result), nil
		case unix.EINTR: // KVM_CREATE_VM, while it takes the locks of all mappings
		default:
			return 0, errno
		}
	}
}

func judgeKVM(err error) finding {
	switch {
	case err == nil:
		return finding{OK, "/dev/kvm makes virtual machines"}
	case errors.Is(err, fs.ErrNotExist):
		return finding{Missing, "there is no /dev/kvm"}
	case errors.Is(err, fs.ErrPermission):
		return finding{Missing, "/dev/kvm is not for this user"}
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return finding{Missing, "/dev/kvm is there, but no driver for this processor"}
	}
	return finding{Unknown, err.Error()}
}
