package vm

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// startKeeper starts a keeper as the first process of a PID namespace: when it dies, of
// whatever kind of death, the kernel kills all processes in there before anybody learns of
// it (zap_pid_ns_processes, kernel/pid_namespace.c). Where there can be none, the keeper
// is an ordinary process, and unconfined says why.
//
// The machine needs no other /proc for it: the host's knows every process by its number
// outside, and /proc/self is who looks at it.
func startKeeper(keeper exec.Cmd) (started *exec.Cmd, unconfined, err error) {
	var refused error
	for _, attributes := range confinements() {
		c := keeper
		c.SysProcAttr = attributes
		err := c.Start()
		switch confined := attributes.Cloneflags != 0; {
		case err == nil && confined:
			return &c, nil, nil
		case err == nil:
			return &c, refused, nil
		}
		refused = err
	}
	return nil, nil, refused
}

// confinements are the ways to start a keeper, the next for where one is refused. Its
// process group is its own in each, so that a Ctrl-C on the terminal does not reach it
// past us.
func confinements() []*syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	return []*syscall.SysProcAttr{
		{Setpgid: true, Cloneflags: unix.CLONE_NEWPID},
		// What an ordinary user may do. He stays who he is: files and /dev/kvm, which is
		// for a group, are his as before.
		{
			Setpgid: true, Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		},
		{Setpgid: true},
	}
}

// sayUnconfined says what may be left where a machine has no PID namespace: of QEMU, which
// is one process and has a death signal, nothing.
func (b *boot) sayUnconfined(why error) {
	if why != nil && b.kernel.Kind == UML {
		fmt.Fprintf(b.machine.Stderr, "no PID namespace for User-Mode Linux (%s): should this program and its keeper be killed at the same moment, processes are left\n", reason(why))
	}
}
