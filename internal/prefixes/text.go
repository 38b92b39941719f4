package prefixes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// readText reads a list, or what ip route show prints. A list is that with
// nothing but the destination.
func (c *collector) readText(r *bufio.Reader) error {
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		switch {
		case err == bufio.ErrBufferFull:
			return lineError(line, fmt.Errorf("is longer than %d bytes: not a prefix file", maxLine))
		case err != nil && err != io.EOF:
			return lineError(line, err)
		}
		if err := c.addLine(text); err != nil {
			return lineError(line, err)
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (c *collector) addLine(line []byte) error {
	line, _, _ = bytes.Cut(line, []byte{'#'})
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return nil
	}
	// ip route shows the next hops of a multipath route, and what a cached one
	// holds, below it, indented.
	if (line[0] == ' ' || line[0] == '\t') && (words[0] == "nexthop" || words[0] == "cache") {
		return nil
	}
	unicast := true
	if kind, ok := routeType(words[0]); ok && len(words) > 1 {
		unicast = kind
		words = words[1:]
		c.content.Format = FormatRoute
	}
	if len(words) > 1 {
		if !isRouteAttribute(words[1]) {
			return fmt.Errorf("%s after %s is nothing that ip route shows", quote(words[1]), quote(words[0]))
		}
		c.content.Format = FormatRoute
	}
	p, err := parseDestination(words[0], routeFamily(words[1:]))
	if err != nil {
		return err
	}
	return c.add(p, unicast)
}

// parseDestination parses a prefix, an address, or the word default.
func parseDestination(s string, f Family) (netip.Prefix, error) {
	if s == "default" {
		if f == IPv6 {
			return netip.PrefixFrom(netip.IPv6Unspecified(), 0), nil
		}
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), nil
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s is neither a prefix nor an address", quote(s))
	}
	if a.Zone() != "" {
		return netip.Prefix{}, errors.New("a destination cannot have a zone: " + quote(s))
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// quote shows a word of a file, of which not all need be words.
func quote(s string) string {
	if len(s) > 50 {
		return fmt.Sprintf("%q...", s[:50])
	}
	return fmt.Sprintf("%q", s)
}

// routeType reports whether a word is a route type of iproute2 (rtnl_rtntype_n2a),
// and whether such routes belong in a unicast table.
func routeType(word string) (unicast, ok bool) {
	switch word {
	case "unicast", "blackhole", "unreachable", "prohibit", "throw":
		return true, true
	case "none", "local", "broadcast", "anycast", "multicast", "nat", "xresolve":
		return false, true
	}
	return false, false
}

// isRouteAttribute reports whether a word may follow the destination of a route
// (print_route and print_rta_* in iproute2's ip/iproute.c).
func isRouteAttribute(word string) bool {
	switch strings.TrimLeft(word, `\`) {
	case "from", "tos", "dsfield", "encap", "nhid", "via", "dev", "table", "proto", "scope", "src",
		"metric", "flags", "realm", "realms", "mark", "uid", "pref", "error", "expires", "nexthop", "iif",
		"dead", "onlink", "pervasive", "offload", "trap", "notify", "linkdown", "unresolved",
		"rt_offload", "rt_trap", "rt_offload_failed", "cache", "mtu", "advmss", "hoplimit", "window", "rtt",
		"initcwnd", "initrwnd", "quickack", "congctl", "features", "ttl-propagate", "":
		return true
	}
	return false
}

// routeFamily tells a default route's family from what follows it: IPv6 routes
// show a preference, or their next hop does. "via inet6" is the next hop of an
// IPv4 route (RFC 5549).
func routeFamily(words []string) Family {
	for i, w := range words {
		if w == "pref" || w == "via" && i+1 < len(words) && strings.Contains(words[i+1], ":") {
			return IPv6
		}
	}
	return IPv4
}
