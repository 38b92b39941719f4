package machine

import (
	"fmt"
	"slices"
	"strings"

	"fibchurn/results"
)

// Warnings says what makes every figure of this machine doubtful. The kinds are
//
//	emulation      the processor is interpreted, or may be
//	uml            User-Mode Linux: system calls cost far more than elsewhere
//	debug-kernel   debug options that slow down everything
//	debug-unknown  which debug options are in force could not be found out
//	governor       the processor's frequency follows the load
//	clock          the clock is slow or coarse to read
//
// What depends on the moment (load, steal) is in Load.Since. A virtual machine
// alone is no reason to doubt; see Load.SinceBoot.
func Warnings(env results.Environment) []results.Warning {
	var warnings []results.Warning
	for _, check := range []func(results.Environment) (kind, text string){
		emulationWarning, debugWarning, governorWarning, clockWarning,
	} {
		if kind, text := check(env); kind != "" {
			warnings = append(warnings, results.Warning{Kind: kind, Text: text})
		}
	}
	return warnings
}

func emulationWarning(env results.Environment) (kind, text string) {
	switch env.Virtualisation {
	case "tcg":
		return "emulation", "This machine is emulated by QEMU without KVM: kernel code runs 5 to 10 times slower " +
			"than on a processor, and not evenly so. Compare only with runs of the same emulation."
	case "unknown":
		return "emulation", "This machine runs under a hypervisor that fibchurn does not know; it may be an emulation."
	case "uml":
		return "uml", "This is User-Mode Linux: each system call costs tens of microseconds more than elsewhere, " +
			"so only batched work says something about other kernels."
	}
	return "", ""
}

// debugWarning speaks of heavy options only: light ones are on in the kernels of
// distributions and stay in the record.
func debugWarning(env results.Environment) (kind, text string) {
	if env.Debug == nil {
		return "debug-unknown", "Debug options unknown: the configuration of kernel " + env.Kernel +
			" was found neither in /proc/config.gz nor in /boot nor in /lib/modules."
	}
	heavy := slices.DeleteFunc(slices.Clone(env.Debug), func(name string) bool { return !heavyDebug(name) })
	if len(heavy) == 0 {
		return "", ""
	}
	return "debug-kernel", "This is a debug kernel (" + strings.Join(heavy, ", ") +
		"): it is slower than one without, and not by the same factor everywhere."
}

func governorWarning(env results.Environment) (kind, text string) {
	if env.Governor == "" || env.Governor == "performance" {
		return "", ""
	}
	return "governor", fmt.Sprintf("The CPU frequency governor is %q: the frequency follows the load. "+
		"Set it to \"performance\" for figures that repeat.", env.Governor)
}

func clockWarning(env results.Environment) (kind, text string) {
	switch env.ClockSource {
	case "hpet", "acpi_pm", "pit":
		return "clock", "The clock source " + env.ClockSource +
			" takes a microsecond or more to read: short times are overstated."
	case "jiffies", "refined-jiffies":
		return "clock", "The clock source " + env.ClockSource +
			" counts timer ticks of 1 to 10 ms: short times mean nothing."
	}
	return "", ""
}
