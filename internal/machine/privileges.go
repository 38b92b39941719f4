package machine

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// privileges are the calling thread's effective capabilities, one bit each.
type privileges uint64

func (p privileges) has(capability int) bool { return p>>capability&1 == 1 }

// readPrivileges asks the kernel and not /proc, which may not be mounted.
func readPrivileges() (privileges, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, fmt.Errorf("capget: %w", err)
	}
	return privileges(uint64(data[1].Effective)<<32 | uint64(data[0].Effective)), nil
}

func probeRoot(t tree) finding {
	p, err := readPrivileges()
	if err != nil {
		return finding{Unknown, err.Error()}
	}
	return judgePrivileges(p, unix.Geteuid(), t.text("proc/self/uid_map"))
}

// judgePrivileges: capabilities held in a user namespace count only for what was
// made in there, so they are not root's.
func judgePrivileges(p privileges, euid int, uidMap string) finding {
	var missing []string
	for _, c := range []struct {
		name string
		bit  int
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN}} {
		if !p.has(c.bit) {
			missing = append(missing, c.name)
		}
	}
	who := fmt.Sprintf("user ID %d", euid)
	switch {
	case len(missing) > 0:
		return finding{Missing, who + " without " + strings.Join(missing, " and ")}
	case uidMap == "":
		return finding{Unknown, who + " with CAP_NET_ADMIN and CAP_SYS_ADMIN, but /proc/self/uid_map does not say in which user namespace"}
	case !initialUserNamespace(uidMap):
		return finding{Missing, who + " of a user namespace: its capabilities count only inside it"}
	}
	return finding{OK, who + " with CAP_NET_ADMIN and CAP_SYS_ADMIN"}
}

// initialUserNamespace knows it by its map of all IDs onto themselves
// (init_user_ns, kernel/user.c).
func initialUserNamespace(uidMap string) bool {
	return strings.Join(strings.Fields(uidMap), " ") == "0 0 4294967295"
}
