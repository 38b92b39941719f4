package machine

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// triestatLimit is read of /proc/net/fib_triestat, in bytes: the first tables are
// enough, for all have counters or none.
const triestatLimit = 1 << 16

// probeTrieCounters looks for the section that fib_triestat_seq_show
// (net/ipv4/fib_trie.c) prints for each table. Where there is no table yet, as in
// a guest that was just booted, it looks in a namespace that has one, and last in
// the kernel's configuration.
func probeTrieCounters(t tree, release string) finding {
	text, err := readTriestat(t)
	if err != nil {
		return finding{Unknown, err.Error()}
	}
	if f := judgeTriestat(text); f.status != Unknown {
		return f
	}
	if text, err = triestatOfNewNamespace(t); err == nil {
		if f := judgeTriestat(text); f.status != Unknown {
			return f
		}
	}
	config := findConfig(t, release)
	switch {
	case config == nil:
		return finding{Unknown, "/proc/net/fib_triestat has no table here, and the kernel's configuration was not found"}
	case config.builtin("IP_FIB_TRIE_STATS"):
		return finding{OK, "the kernel's configuration has them"}
	}
	return finding{Missing, "the kernel's configuration does not have them"}
}

func judgeTriestat(text []byte) finding {
	switch {
	case bytes.Contains(text, []byte("\nCounters:")):
		return finding{OK, "/proc/net/fib_triestat shows them"}
	case bytes.Contains(text, []byte("Aver depth:")):
		return finding{Missing, "/proc/net/fib_triestat shows shapes only"}
	}
	return finding{Unknown, "/proc/net/fib_triestat has no table"}
}

// readTriestat reads that of the calling thread; /proc/net is the main thread's.
func readTriestat(t tree) ([]byte, error) {
	return t.read("proc/thread-self/net/fib_triestat", triestatLimit)
}

// triestatOfNewNamespace makes a namespace with a table: bringing up its loopback
// device gives that its address (inetdev_event), and so a local table.
func triestatOfNewNamespace(t tree) (text []byte, err error) {
	result := make(chan error)
	go onOwnThread(result, func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		text, err = readTriestat(t)
		return err
	})
	err = <-result
	return text, err
}

// loopbackUp works in the calling thread's namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, loopback); err != nil {
		return err
	}
	loopback.SetUint16(loopback.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, loopback)
}

// probeIPv6 makes a socket and closes it: inet6_init does not register the family
// with ipv6.disable=1.
func probeIPv6(t tree) finding {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd) // nothing was sent, so nothing can fail
	}
	return judgeIPv6(t, err)
}

func judgeIPv6(t tree, err error) finding {
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return finding{Missing, "this kernel has no IPv6, or it was disabled at boot"}
	case err != nil:
		return finding{Unknown, "socket(AF_INET6): " + err.Error()}
	case t.text("proc/sys/net/ipv6/conf/default/disable_ipv6") == "1":
		return finding{OK, "there, but off by default here (net.ipv6.conf.default.disable_ipv6 is 1)"}
	}
	return finding{OK, "there"}
}
