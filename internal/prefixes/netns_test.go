package prefixes

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace runs do in a network namespace of its own, which ends with it. It
// skips the test where the process may not make one.
func inNamespace(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network namespace")
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the namespace
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			do()
		}
	}()
	<-done
	if err != nil {
		t.Fatalf("unshare: %v", err)
	}
}

// install brings the loopback interface up and adds a route to it for every
// prefix, batch by batch. Messages are not acknowledged unless they fail.
func install(t *testing.T, s *Set) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		t.Error(err)
		return
	}
	defer unix.Close(fd)
	send := func(b []byte) {
		if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			t.Errorf("sendto: %v", err)
		}
	}
	send(linkUp())
	var batch []byte
	for i := range s.Len() {
		batch = appendRoute(batch, s, i)
		if len(batch) > 100_000 {
			send(batch)
			batch = batch[:0]
		}
	}
	if len(batch) > 0 {
		send(batch)
	}
	reply := make([]byte, 4096)
	if n, _, err := unix.Recvfrom(fd, reply, unix.MSG_DONTWAIT); err == nil {
		t.Errorf("a route was refused: %v (%d bytes)", unix.Errno(-int32(binary.NativeEndian.Uint32(reply[16:]))), n)
	}
}

func linkUp() []byte {
	b := make([]byte, 32)
	binary.NativeEndian.PutUint32(b, 32)
	binary.NativeEndian.PutUint16(b[4:], unix.RTM_NEWLINK)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(b[20:], 1) // lo
	binary.NativeEndian.PutUint32(b[24:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(b[28:], unix.IFF_UP)
	return b
}

func appendRoute(b []byte, s *Set, i int) []byte {
	start, family := len(b), byte(unix.AF_INET)
	if s.Family() == IPv6 {
		family = unix.AF_INET6
	}
	b = append(b, make([]byte, 16)...)
	b = append(b, family, byte(s.Bits(i)), 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC,
		unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0)
	b = binary.NativeEndian.AppendUint16(b, uint16(4+s.Family().Bits()/8))
	b = binary.NativeEndian.AppendUint16(b, unix.RTA_DST)
	b = s.AppendAddr(b, i)
	b = binary.NativeEndian.AppendUint16(b, 8)
	b = binary.NativeEndian.AppendUint16(b, unix.RTA_OIF)
	b = binary.NativeEndian.AppendUint32(b, 1)
	binary.NativeEndian.PutUint32(b[start:], uint32(len(b)-start))
	binary.NativeEndian.PutUint16(b[start+4:], unix.RTM_NEWROUTE)
	binary.NativeEndian.PutUint16(b[start+6:], unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	return b
}
