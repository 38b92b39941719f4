package machine

import (
	"os"
	"strings"
)

// cpuidHypervisorLeaf is where a hypervisor of x86 leaves its signature, in
// EBX, ECX and EDX.
const cpuidHypervisorLeaf = 0x40000000

// virtualisation says what the kernel runs on: "none", "kvm", "tcg" (QEMU that
// interprets), "uml" (User-Mode Linux), "xen", "hyperv", "vmware",
// "virtualbox", "unknown" (a hypervisor, but which one is not to be found out),
// or "" where nothing tells whether there is one.
//
// The order is by strength of proof, as in systemd-detect-virt: what the
// processor or the kernel itself says comes before the names that the firmware
// gives, because those name the machine model and not how it is run: QEMU has
// the same DMI strings with KVM and without. Containers are left out: they share
// the kernel that is measured.
func virtualisation(t tree, cpu cpuInfo, commandLine string) string {
	if cpu.vendor == "User Mode Linux" { // show_cpuinfo, arch/um/kernel/um_arch.c
		return "uml"
	}
	if cpu.flags && !cpu.hypervisor && !t.exists("sys/hypervisor/type") {
		// Every hypervisor of x86 that does not hide sets the flag; only Xen PV
		// guests, which have /sys/hypervisor, can miss it.
		return "none"
	}
	for _, hint := range []func(tree) string{cpuidSignature, hypervisorType, deviceTreeHypervisor, clockHypervisor} {
		if name := hint(t); name != "" {
			return name
		}
	}
	if emulatedCPU(cpu) {
		return "tcg"
	}
	return firmwareHypervisor(t, cpu, commandLine)
}

// cpuidSignature reads the hypervisor's signature through the cpuid driver
// (arch/x86/kernel/cpuid.c: the offset is the leaf, the answer is EAX to EDX).
// It is proof, but the driver is not everywhere and wants root.
func cpuidSignature(t tree) string {
	f, err := os.Open(t.path("dev/cpu/0/cpuid"))
	if err != nil {
		return ""
	}
	defer f.Close()
	var registers [16]byte
	if n, err := f.ReadAt(registers[:], cpuidHypervisorLeaf); err != nil || n != len(registers) {
		return ""
	}
	switch strings.TrimRight(string(registers[4:]), "\x00") {
	case "KVMKVMKVM", "Linux KVM Hv":
		return "kvm"
	case "TCGTCGTCGTCG":
		return "tcg"
	case "XenVMMXenVMM":
		return "xen"
	case "VMwareVMware":
		return "vmware"
	case "VBoxVBoxVBox":
		return "virtualbox"
	}
	// "Microsoft Hv" is not taken here: QEMU shows it too, with or without KVM,
	// when it plays Hyper-V for its guest.
	return ""
}

// hypervisorType reads /sys/hypervisor/type, which only Xen registers
// (drivers/xen/sys-hypervisor.c).
func hypervisorType(t tree) string { return t.text("sys/hypervisor/type") }

// deviceTreeHypervisor reads the node that a hypervisor puts into the device
// tree of its guest (arm64, powerpc, riscv).
func deviceTreeHypervisor(t tree) string {
	compatible := t.text("sys/firmware/devicetree/base/hypervisor/compatible")
	switch {
	case compatible == "":
		return ""
	case strings.Contains(compatible, "linux,kvm"):
		return "kvm"
	case strings.Contains(compatible, "xen"):
		return "xen"
	case strings.Contains(compatible, "vmware"):
		return "vmware"
	}
	return "unknown"
}

// clockHypervisor goes by the clock sources that the kernel registers only after
// it has found that hypervisor's CPUID signature: kvm-clock is proof of KVM
// (kvmclock_init, arch/x86/kernel/kvmclock.c). Its absence proves nothing, since
// both sides can turn it off.
func clockHypervisor(t tree) string {
	clocks := t.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
	switch {
	case hasWord(clocks, "kvm-clock"):
		return "kvm"
	case hasWord(clocks, "xen"):
		return "xen"
	case strings.Contains(clocks, "hyperv_clocksource"):
		return "hyperv"
	}
	return ""
}

// emulatedCPU knows the processor models that QEMU makes up when it interprets:
// "-cpu max" is "QEMU TCG CPU" on x86 and implementer 0 part 'Q' on arm64
// (target/i386/cpu.c, target/arm/tcg/cpu64.c). "QEMU Virtual CPU" (qemu64) can run
// under KVM too, but then kvm-clock would have been seen before.
func emulatedCPU(cpu cpuInfo) bool {
	return strings.HasPrefix(cpu.model, "QEMU TCG CPU") ||
		strings.HasPrefix(cpu.model, "QEMU Virtual CPU") ||
		cpu.implementer == "0x00" && cpu.part == "0x051"
}

// firmwareHypervisor goes by the names in DMI, the weakest hint: they name the
// maker of the machine.
func firmwareHypervisor(t tree, cpu cpuInfo, commandLine string) string {
	product := t.text("sys/class/dmi/id/product_name")
	vendor := t.text("sys/class/dmi/id/sys_vendor")
	switch {
	case strings.HasPrefix(vendor, "QEMU"):
		return qemuWithoutProof(cpu, commandLine)
	case product == "KVM", vendor == "Google" && strings.HasPrefix(product, "Google Compute Engine"):
		return "kvm"
	case strings.HasPrefix(vendor, "VMware"):
		return "vmware"
	case vendor == "innotek GmbH", product == "VirtualBox":
		return "virtualbox"
	case strings.HasPrefix(vendor, "Xen"):
		return "xen"
	case vendor == "Microsoft Corporation" && product == "Virtual Machine":
		return "hyperv"
	case vendor == "Amazon EC2" && !strings.Contains(product, ".metal"):
		return "kvm" // Nitro; the older Xen instances have vendor "Xen"
	case cpu.hypervisor:
		return "unknown"
	}
	return "" // no x86: nothing there says "no hypervisor" either
}

// qemuWithoutProof judges a QEMU machine without a sign of KVM. On x86 a guest of
// KVM has kvm-clock unless somebody turned it off, so without that it is TCG. On
// the other architectures KVM leaves no mark.
func qemuWithoutProof(cpu cpuInfo, commandLine string) string {
	if cpu.hypervisor && !hasWord(commandLine, "no-kvmclock") && !hasWord(commandLine, "nopv") {
		return "tcg"
	}
	return "unknown"
}
