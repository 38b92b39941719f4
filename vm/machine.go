package vm

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Accelerators of QEMU.
const (
	AccelAuto = ""    // KVM where this user can, else TCG
	AccelKVM  = "kvm" // the processor's own virtualisation
	AccelTCG  = "tcg" // interpretation: 5 to 10 times slower, and unevenly so
)

// A Machine is what a kernel is booted on, and how. The zero Machine is a usable one.
type Machine struct {
	CPUs      int           // 0: 2 under QEMU; User-Mode Linux has 1 and takes no other
	MemoryMiB int           // 0: 1024
	Append    []string      // more kernel parameters, after fibchurn's own
	Sysctls   []Sysctl      // set before the command starts
	Modules   string        // directory of the kernel's modules; empty: the usual places
	Files     []string      // files of the host that the command reads: it finds them under the same paths
	Timeout   time.Duration // from start to end, the boot included; 0: 10 minutes
	Accel     string        // one of the accelerators
	Console   io.Writer     // takes what the machine writes to its console, if not nil
	Stdout    io.Writer     // takes what the command prints besides runs, if not nil
	Stderr    io.Writer     // takes what the command and the guest say, if not nil
	Program   string        // static program with Inside in its main; empty: this one
}

const (
	defaultCPUs      = 2
	defaultMemoryMiB = 1024
	defaultTimeout   = 10 * time.Minute

	leastMemoryMiB = 64 // holds the kernel, the initramfs and its content
	mostCPUs       = 255
)

// filled returns the machine for a kernel, with all defaults in place, or the first
// thing that is wrong with it.
func (m Machine) filled(k Kernel) (Machine, error) {
	if m.CPUs == 0 {
		m.CPUs = defaultCPUs
		if k.Kind == UML {
			m.CPUs = 1
		}
	}
	if m.MemoryMiB == 0 {
		m.MemoryMiB = defaultMemoryMiB
	}
	if m.Timeout == 0 {
		m.Timeout = defaultTimeout
	}
	if m.Program == "" {
		m.Program = "/proc/self/exe"
	}
	for _, w := range []*io.Writer{&m.Console, &m.Stdout, &m.Stderr} {
		if *w == nil {
			*w = io.Discard
		}
	}
	return m, m.validate(k)
}

// Check finds out what can be without booting the kernel: whether the machine makes
// sense, QEMU is there where it is needed, and the modules can be read. The error is
// an *UnsupportedError where this host cannot, else one of the machine's values is
// wrong.
func (m Machine) Check(k Kernel) error {
	_, err := prepare(k, m)
	return err
}

func (m Machine) validate(k Kernel) error {
	switch {
	case m.CPUs < 1 || m.CPUs > mostCPUs:
		return fmt.Errorf("%d CPUs: must be 1 to %d", m.CPUs, mostCPUs)
	case m.MemoryMiB < leastMemoryMiB:
		return fmt.Errorf("%d MiB of memory: must be at least %d", m.MemoryMiB, leastMemoryMiB)
	case m.Timeout < 0:
		return fmt.Errorf("timeout %v: must be more than 0", m.Timeout)
	case m.Accel != AccelAuto && m.Accel != AccelKVM && m.Accel != AccelTCG:
		return fmt.Errorf("accelerator %q: must be kvm or tcg", m.Accel)
	case k.Kind == UML && m.CPUs != 1:
		return &UnsupportedError{
			What: fmt.Sprintf("%d CPUs for kernel %s", m.CPUs, k.Label),
			Why:  "User-Mode Linux has one",
			Help: "leave it at 1",
		}
	}
	for _, text := range m.Append {
		if strings.ContainsAny(text, "\n\x00") {
			return fmt.Errorf("kernel parameters %q: must be one line", text)
		}
	}
	if _, err := os.Stat(m.Program); err != nil {
		return fmt.Errorf("the program for the guest: %w", err)
	}
	return nil
}

// parameters are those of every kernel, then the user's. A panic ends the machine at
// once, and an oops is one: what it leaves behind, such as RTNL held for ever, would
// only hang the guest.
func (m Machine) parameters(own ...string) []string {
	return append(append([]string{"panic=-1", "oops=panic"}, own...), m.Append...)
}

// A commandLine starts a machine. Its descriptors are 1 and 2 for the console, 3 for
// the initramfs and 4 for the results.
type commandLine struct {
	argv           []string
	virtualisation string // "kvm", "tcg", "uml"
}

const (
	initramfsFD = 3
	resultsFD   = 4
)
