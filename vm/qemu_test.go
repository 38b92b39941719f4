package vm

import (
	"strings"
	"testing"
)

func TestPatchesSafely(t *testing.T) {
	for version, want := range map[string]bool{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)": false,
		"QEMU emulator version 8.0.5":                                    false,
		"QEMU emulator version 8.1.0":                                    true,
		"QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)":            true,
		"QEMU emulator version eight":                                    false,
		"":                                                               false,
	} {
		if got := patchesSafely(version); got != want {
			t.Errorf("patchesSafely(%q) = %v", version, got)
		}
	}
}

// How the CPUs are emulated is in the guest's command line, and so in the record.
func TestAcceleratorIsRecorded(t *testing.T) {
	for option, want := range map[string]bool{"tcg,thread=single": true, "tcg": false} {
		line := strings.Join(qemuArguments("qemu", AccelTCG, option, Kernel{Path: "k"}, Machine{CPUs: 2}), " ")
		if got := strings.Contains(line, " fibchurn.accel="+option); got != want || !strings.Contains(line, "-accel "+option+" ") {
			t.Errorf("%s: %s", option, line)
		}
	}
}
