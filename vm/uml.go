package vm

import "fmt"

// umlCommand starts a User-Mode Linux program: console on its standard output, the
// second serial line on the results descriptor, nothing on any terminal. uml_dir
// names a place that cannot be, so that no directory in the user's home is made
// (arch/um/os-Linux/umid.c), for a killed one would leave it there. hostfs, built into
// Debian's kernel, may show the guest nothing of this machine: all its mounts are below
// a place that cannot be either (fs/hostfs/hostfs_kern.c).
func umlCommand(k Kernel, m Machine) *commandLine {
	return &commandLine{virtualisation: "uml", argv: append([]string{
		k.Path,
		fmt.Sprintf("mem=%dM", m.MemoryMiB),
		fmt.Sprintf("initrd=/proc/self/fd/%d", initramfsFD),
		"uml_dir=/dev/null/", "hostfs=/dev/null/",
		"con=null", "con0=null,fd:1", "ssl=null", fmt.Sprintf("ssl1=null,fd:%d", resultsFD),
	}, m.parameters()...)}
}
