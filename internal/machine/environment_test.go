package machine

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fibchurn/results"
)

const (
	clockDir = "sys/devices/system/clocksource/clocksource0/"
	cpuDir   = "sys/devices/system/cpu/"
)

// The machines below are what such machines show, cut to what is read.
func bareMetal() files {
	return files{
		"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\n" +
			"flags\t\t: fpu vme de vmx\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\n" +
			"flags\t\t: fpu vme de vmx\n",
		"proc/cmdline":                           "BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro\n",
		clockDir + "current_clocksource":         "tsc\n",
		clockDir + "available_clocksource":       "tsc hpet acpi_pm \n",
		cpuDir + "cpu0/cpufreq/scaling_governor": "schedutil\n",
		cpuDir + "online":                        "0-1\n",
		"sys/class/dmi/id/sys_vendor":            "Dell Inc.\n",
		"sys/class/dmi/id/product_name":          "PowerEdge R650\n",
		"proc/sys/net/ipv4/fib_sync_mem":         "524288\n",
		"boot/config-6.12.0":                     "CONFIG_NET=y\n# CONFIG_KASAN is not set\nCONFIG_DEBUG_LIST=y\nCONFIG_SLUB_DEBUG=y\n",
	}
}

func kvmGuest() files {
	return files{
		"proc/cpuinfo":                     "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor svm\n",
		clockDir + "current_clocksource":   "kvm-clock\n",
		clockDir + "available_clocksource": "kvm-clock tsc acpi_pm \n",
		"sys/class/dmi/id/sys_vendor":      "QEMU\n",
		"sys/class/dmi/id/product_name":    "Standard PC (Q35 + ICH9, 2009)\n",
	}
}

func tcgGuest() files {
	return files{
		"proc/cpuinfo":                     "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: QEMU Virtual CPU version 2.5+\nflags\t\t: fpu pae hypervisor\n",
		"proc/cmdline":                     "console=ttyS0 quiet\n",
		clockDir + "current_clocksource":   "tsc\n",
		clockDir + "available_clocksource": "tsc hpet acpi_pm \n",
		"sys/class/dmi/id/sys_vendor":      "QEMU\n",
		"sys/class/dmi/id/product_name":    "Standard PC (Q35 + ICH9, 2009)\n",
	}
}

func userModeLinux() files {
	return files{
		"proc/cpuinfo": "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\nmode\t\t: skas\nhost\t\t: Linux host 6.12.0 #1 SMP x86_64\n" +
			"fpu\t\t: yes\nflags\t\t: fpu hypervisor xsave\nbogomips\t: 5190.45\n",
		"proc/cmdline":                     "mem=256M root=98:0\n",
		clockDir + "current_clocksource":   "timer\n",
		clockDir + "available_clocksource": "timer \n",
	}
}

func TestEnvironment(t *testing.T) {
	kernel := kernelName{release: "6.12.0", version: "#1 SMP", machine: "x86_64"}
	tests := []struct {
		name  string
		files files
		want  results.Environment
	}{
		{"bare metal", bareMetal(), results.Environment{
			CommandLine: "BOOT_IMAGE=/vmlinuz-6.12 root=/dev/sda1 ro", CPU: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
			CPUs: 2, Virtualisation: "none", ClockSource: "tsc", Governor: "schedutil", FibSyncMem: 524288, Debug: []string{"DEBUG_LIST"},
		}},
		{"KVM guest", kvmGuest(), results.Environment{
			CPU: "AMD EPYC", CPUs: 1, Virtualisation: "kvm", ClockSource: "kvm-clock", FibSyncMem: -1,
		}},
		{"TCG guest", tcgGuest(), results.Environment{
			CommandLine: "console=ttyS0 quiet", CPU: "QEMU Virtual CPU version 2.5+",
			CPUs: 1, Virtualisation: "tcg", ClockSource: "tsc", FibSyncMem: -1,
		}},
		{"User-Mode Linux", userModeLinux(), results.Environment{
			CommandLine: "mem=256M root=98:0", CPU: "UML", CPUs: 1, Virtualisation: "uml", ClockSource: "timer", FibSyncMem: -1,
		}},
		{"nothing mounted", nil, results.Environment{FibSyncMem: -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.want.Kernel, test.want.KernelVersion, test.want.Arch = kernel.release, kernel.version, kernel.machine
			test.want.Fibchurn = "v1"
			got := environment(fixture(t, test.files), kernel, "v1")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironmentOfThisMachine(t *testing.T) {
	env := Environment("test")
	if env.Kernel == "" || env.KernelVersion == "" || env.Arch == "" || env.Fibchurn != "test" {
		t.Errorf("names missing: %+v", env)
	}
	if env.CPUs < 1 {
		t.Errorf("%d CPUs", env.CPUs)
	}
	if env.Virtualisation == "" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "386") {
		t.Error("no word about virtualisation: x86 always says")
	}
	t.Logf("%+v", env)
}

// A caller on a thread in another network namespace gets the initial one's
// fib_sync_mem.
func TestEnvironmentFromAnotherNamespace(t *testing.T) {
	want := Environment("").FibSyncMem
	if want < 0 {
		t.Skip("fib_sync_mem is not to be read here: Linux before 5.1, or not the initial namespace")
	}
	result := make(chan error)
	got := int64(0)
	go onOwnThread(result, func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if here := fibSyncMem(running); here != -1 {
			t.Errorf("a new namespace has fib_sync_mem %d: not where it is thought to be", here)
		}
		got = Environment("").FibSyncMem
		return nil
	})
	if err := <-result; err != nil {
		if unix.Geteuid() == 0 {
			t.Fatal(err)
		}
		t.Skipf("needs root: %v", err)
	}
	if got != want {
		t.Errorf("fib_sync_mem %d from another namespace, want %d", got, want)
	}
}

func TestCountCPUList(t *testing.T) {
	for list, want := range map[string]int{
		"0": 1, "0-3": 4, "0-3,5": 5, "0,2-3,8-11": 7, "": 0, "a": 0, "3-0": 0, "0-": 0, "-1": 0, "0-9999999": 0,
	} {
		if got := countCPUList(list); got != want {
			t.Errorf("countCPUList(%q) = %d, want %d", list, got, want)
		}
	}
}

func TestParseCPUInfoOfOtherArchitectures(t *testing.T) {
	tests := []struct {
		name, text string
		want       cpuInfo
	}{
		{"arm64", "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
			cpuInfo{processors: 2, model: "ARM implementer 0x41 part 0xd0c", implementer: "0x41", part: "0xd0c"}},
		{"powerpc", "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
			cpuInfo{processors: 1, model: "POWER9, altivec supported"}},
		{"riscv", "processor\t: 0\nhart\t\t: 0\nuarch\t\t: sifive,u74-mc\n",
			cpuInfo{processors: 1, model: "sifive,u74-mc"}},
		{"empty", "", cpuInfo{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := parseCPUInfo([]byte(test.text)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func FuzzParseCPUInfo(f *testing.F) {
	for _, machine := range []files{bareMetal(), kvmGuest(), tcgGuest(), userModeLinux()} {
		f.Add([]byte(machine["proc/cpuinfo"]))
	}
	f.Add([]byte("CPU implementer\t: 0x00\nCPU part\t: 0x051\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		info := parseCPUInfo(text)
		if info.processors < 0 || info.processors > len(text) {
			t.Errorf("%d processors in %d bytes", info.processors, len(text))
		}
		if info.hypervisor && !info.flags {
			t.Error("a hypervisor flag without flags")
		}
		if info != parseCPUInfo(text) {
			t.Error("the same text read twice gives two answers")
		}
	})
}
