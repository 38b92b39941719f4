package machine

import "testing"

func TestVirtualisation(t *testing.T) {
	const (
		x86Bare  = "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu vme\n"
		x86Guest = "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor\n"
		arm      = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
		armMax   = "processor\t: 0\nCPU implementer\t: 0x00\nCPU part\t: 0x051\n"
		vendor   = "sys/class/dmi/id/sys_vendor"
		product  = "sys/class/dmi/id/product_name"
		clocks   = clockDir + "available_clocksource"
		treeNode = "sys/firmware/devicetree/base/hypervisor/compatible"
	)
	tests := []struct {
		name        string
		cpuinfo     string
		commandLine string
		files       files
		cpuid       string
		want        string
	}{
		{name: "no flag", cpuinfo: x86Bare, want: "none"},
		{name: "no flag in a machine of QEMU's maker", cpuinfo: x86Bare, files: files{vendor: "QEMU"}, want: "none"},
		{name: "flag only", cpuinfo: x86Guest, want: "unknown"},
		{name: "flag only, clock of the processor", cpuinfo: x86Guest, files: files{clocks: "tsc hpet"}, want: "unknown"},
		{name: "CPUID says KVM", cpuinfo: x86Guest, cpuid: "KVMKVMKVM", want: "kvm"},
		{name: "CPUID says TCG, model of a real processor", cpuinfo: x86Guest, cpuid: "TCGTCGTCGTCG", want: "tcg"},
		{name: "CPUID says VMware", cpuinfo: x86Guest, cpuid: "VMwareVMware", want: "vmware"},
		{name: "CPUID says Hyper-V, clock says KVM", cpuinfo: x86Guest, cpuid: "Microsoft Hv", files: files{clocks: "kvm-clock tsc"}, want: "kvm"},
		{name: "CPUID of somebody else", cpuinfo: x86Guest, cpuid: "ACRNACRNACRN", want: "unknown"},
		{name: "CPUID without a flag", cpuinfo: x86Bare, cpuid: "KVMKVMKVM", want: "none"},
		{name: "Firecracker", cpuinfo: x86Guest, files: files{clocks: "kvm-clock tsc"}, want: "kvm"},
		{name: "QEMU with KVM and its default processor", cpuinfo: "model name\t: QEMU Virtual CPU version 2.5+\nflags\t: hypervisor\n",
			files: files{clocks: "kvm-clock tsc", vendor: "QEMU"}, want: "kvm"},
		{name: "QEMU without KVM, -cpu max", cpuinfo: "model name\t: QEMU TCG CPU version 2.5+\nflags\t: hypervisor\n", want: "tcg"},
		{name: "QEMU without KVM, model of a real processor", cpuinfo: x86Guest, files: files{clocks: "hpet acpi_pm", vendor: "QEMU"}, want: "tcg"},
		{name: "QEMU, kvm-clock off by hand", cpuinfo: x86Guest, commandLine: "ro no-kvmclock", files: files{clocks: "tsc hpet", vendor: "QEMU"}, want: "unknown"},
		{name: "Xen PV without a flag", cpuinfo: x86Bare, files: files{"sys/hypervisor/type": "xen\n", clocks: "xen tsc"}, want: "xen"},
		{name: "Xen by its clock", cpuinfo: x86Guest, files: files{clocks: "xen tsc"}, want: "xen"},
		{name: "Hyper-V by its clock", cpuinfo: x86Guest, files: files{clocks: "hyperv_clocksource_tsc_page acpi_pm"}, want: "hyperv"},
		{name: "Hyper-V by its name", cpuinfo: x86Guest, files: files{vendor: "Microsoft Corporation", product: "Virtual Machine"}, want: "hyperv"},
		{name: "VirtualBox", cpuinfo: x86Guest, files: files{vendor: "innotek GmbH", product: "VirtualBox"}, want: "virtualbox"},
		{name: "VMware", cpuinfo: x86Guest, files: files{vendor: "VMware, Inc."}, want: "vmware"},
		{name: "arm64, nothing to go by", cpuinfo: arm, want: ""},
		{name: "arm64, -cpu max of QEMU", cpuinfo: armMax, files: files{vendor: "QEMU"}, want: "tcg"},
		{name: "arm64, QEMU with KVM or not", cpuinfo: arm, files: files{vendor: "QEMU"}, want: "unknown"},
		{name: "arm64, device tree of KVM", cpuinfo: arm, files: files{treeNode: "linux,kvm\x00"}, want: "kvm"},
		{name: "arm64, device tree of another", cpuinfo: arm, files: files{treeNode: "acme,visor\x00"}, want: "unknown"},
		{name: "arm64, EC2 guest", cpuinfo: arm, files: files{vendor: "Amazon EC2", product: "c7g.large"}, want: "kvm"},
		{name: "arm64, EC2 metal", cpuinfo: arm, files: files{vendor: "Amazon EC2", product: "c7g.metal"}, want: ""},
		{name: "no cpuinfo", want: ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := fixture(t, test.files)
			if test.cpuid != "" {
				withCPUID(t, root, test.cpuid)
			}
			if got := virtualisation(root, parseCPUInfo([]byte(test.cpuinfo)), test.commandLine); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
