package rtnl

import (
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzBodies decodes whatever a dump or a notification may hold.
func FuzzBodies(f *testing.F) {
	hop := append([]byte{16, 0, 0, 0, 1, 0, 0, 0}, nlattr(unix.RTA_GATEWAY, "\xc0\x00\x02\x01")...)
	f.Add(append(make([]byte, unix.SizeofRtMsg), nlattr(unix.RTA_MULTIPATH, string(hop))...))
	f.Add(append(make([]byte, unix.SizeofRtMsg), nlattr(unix.RTA_TABLE, "\x01\x00\x00\x00")...))
	f.Add(nlmsg(unix.RTM_DELNSID, 0, 1, append(make([]byte, 4), nlattr(unix.NETNSA_NSID, "\x01\x00\x00\x00")...)...))
	f.Add([]byte{8, 0, 0, 0, 0, 0, 0, 0, 9, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= unix.SizeofRtMsg {
			if class := hopClass(data); class.Hops > len(data)/unix.SizeofRtNexthop {
				t.Errorf("%d next hops in %d bytes", class.Hops, len(data))
			}
		}
		if n, _ := countHops(data); n > len(data)/unix.SizeofRtNexthop {
			t.Errorf("%d next hops in %d bytes", n, len(data))
		}
		if n, _ := countMessages(data); n > len(data)/unix.SizeofNlMsghdr {
			t.Errorf("%d messages in %d bytes", n, len(data))
		}
		_, _ = WithdrawnNamespaceID(data)
	})
}
