package vm

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"fibchurn/internal/machine"
)

const qemuProgram = "qemu-system-x86_64"

// qemuCommands are the ways to boot a kernel with QEMU: with the accelerator asked
// for, or with KVM where it seems to be there and then without.
func qemuCommands(k Kernel, m Machine) ([]*commandLine, error) {
	path, err := exec.LookPath(qemuProgram)
	if err != nil {
		return nil, &UnsupportedError{
			What: "kernel " + k.Label,
			Why:  qemuProgram + " is not in PATH",
			Help: "install it (Debian: qemu-system-x86), or use a User-Mode Linux kernel",
		}
	}
	accels, err := accelerators(m.Accel)
	if err != nil {
		return nil, err
	}
	var commands []*commandLine
	for _, accel := range accels {
		option := accel
		if accel == AccelTCG && m.CPUs > 1 && !patchesSafely(qemuVersion(path)) {
			option += ",thread=single"
		}
		commands = append(commands, &commandLine{virtualisation: accel, argv: qemuArguments(path, accel, option, k, m)})
	}
	return commands, nil
}

// qemuVersion is the first line of what QEMU says of its version; "" where it says
// nothing.
func qemuVersion(path string) string {
	out, _ := exec.Command(path, "-version").Output() // an error shows when it is to boot
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// patchesSafely reports whether that version of QEMU emulates several CPUs, a thread
// each, without a fault that ends one boot in a hundred: before 8.1 a CPU could still
// run a breakpoint that another CPU had patched into the kernel and taken out again,
// and the kernel died of "Oops: int3" (fixed by "accel/tcg: Always lock pages before
// translation"). One thread for all CPUs does without.
func patchesSafely(version string) bool {
	var major, minor int
	_, rest, _ := strings.Cut(version, "version ")
	if n, _ := fmt.Sscanf(rest, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 8 || major == 8 && minor >= 1
}

// qemuArguments make a machine without disks, network or display: two serial ports,
// of which the first is the console. option is the accelerator and how it is to work.
func qemuArguments(path, accel, option string, k Kernel, m Machine) []string {
	cpu, parameters := "host", []string{"console=ttyS0"}
	if accel == AccelTCG {
		// The interpreted TSC is one for all CPUs, but its jitter can make a kernel
		// leave it for the HPET, and another kernel not. Where QEMU itself has to wait for
		// a CPU, the kernel holds the timer for broken and panics (timer_irq_works,
		// arch/x86/kernel/apic/io_apic.c); with KVM it does not ask.
		cpu, parameters = "max", append(parameters, "tsc=reliable", "no_timer_check")
	}
	if option != accel { // which the record then says, in the kernel's command line
		parameters = append(parameters, "fibchurn.accel="+option)
	}
	return []string{
		path,
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-machine", "q35", "-accel", option, "-cpu", cpu,
		"-smp", strconv.Itoa(m.CPUs), "-m", strconv.Itoa(m.MemoryMiB),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=results,fd=%d", resultsFD), "-serial", "chardev:results",
		"-kernel", k.Path, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initramfsFD),
		"-append", strings.Join(m.parameters(parameters...), " "),
	}
}

// accelerators resolves AccelAuto and refuses KVM where it cannot be had.
func accelerators(wanted string) ([]string, error) {
	if wanted == AccelTCG {
		return []string{AccelTCG}, nil
	}
	err := machine.KVM()
	switch {
	case wanted == AccelAuto && err != nil:
		return []string{AccelTCG}, nil
	case wanted == AccelAuto:
		return []string{AccelKVM, AccelTCG}, nil
	case err != nil:
		return nil, &UnsupportedError{
			What: "a machine with KVM",
			Why:  err.Error(),
			Help: "a processor with virtualisation switched on, the kvm module, and access to /dev/kvm (group kvm)",
		}
	}
	return []string{AccelKVM}, nil
}
