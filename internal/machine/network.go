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
// (net/ipv4/fib_trie.c) prints for each table, and asks the kernel's configuration
// where there is no table.
func probeTrieCounters(t tree, release string) finding {
	// /proc/net would be that of the main thread.
	text, err := t.read("proc/thread-self/net/fib_triestat", triestatLimit)
	switch {
	case err != nil:
		return finding{Unknown, err.Error()}
	case bytes.Contains(text, []byte("\nCounters:")):
		return finding{OK, "/proc/net/fib_triestat shows them"}
	case bytes.Contains(text, []byte("Aver depth:")):
		return finding{Missing, "/proc/net/fib_triestat shows shapes only"}
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
