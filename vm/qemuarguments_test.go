package vm

import (
	"strings"
	"testing"
)

// An emulated machine may be so slow that its kernel would hold the timer for broken.
func TestEmulatedTimerIsTrusted(t *testing.T) {
	for accel, want := range map[string]bool{AccelTCG: true, AccelKVM: false} {
		args := strings.Join(qemuArguments("qemu", accel, accel, Kernel{Path: "bzImage"}, Machine{CPUs: 1, MemoryMiB: 512}), " ")
		for _, parameter := range []string{"tsc=reliable", "no_timer_check"} {
			if strings.Contains(args, " "+parameter) != want {
				t.Errorf("%s: %s in %s", accel, parameter, args)
			}
		}
	}
}
