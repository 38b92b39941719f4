package packets

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Counters are what the kernel counted in a network namespace, by name: those of
// /proc/net/snmp, netstat and snmp6 as "Ip InReceives", "TcpExt SyncookiesSent" and
// "Ip6InReceives", and those of /proc/net/dev as "fc0 tx_dropped".
type Counters map[string]int64

// CountersHere reads those of the calling thread's namespace.
func CountersHere() (Counters, error) {
	c := Counters{}
	for _, file := range []struct {
		name  string
		parse func(string) error
	}{{"snmp", c.pairs}, {"netstat", c.pairs}, {"snmp6", c.lines}, {"dev", c.devices}} {
		b, err := os.ReadFile("/proc/thread-self/net/" + file.name)
		if errors.Is(err, os.ErrNotExist) {
			continue // no IPv6
		}
		if err == nil {
			err = file.parse(string(b))
		}
		if err != nil {
			return nil, fmt.Errorf("read /proc/net/%s: %w", file.name, err)
		}
	}
	return c, nil
}

// Since is how much each counter grew.
func (c Counters) Since(before Counters) Counters {
	grown := Counters{}
	for name, value := range c {
		grown[name] = value - before[name]
	}
	return grown
}

// pairs reads lines of names, each followed by a line of values (snmp_seq_show and
// netstat_seq_show, net/ipv4/proc.c).
func (c Counters) pairs(text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines)%2 != 0 {
		return fmt.Errorf("%d lines, not pairs of them", len(lines))
	}
	for i := 0; i < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(names) == 0 || len(names) != len(values) || names[0] != values[0] {
			return fmt.Errorf("no pair of lines: %q", lines[i])
		}
		group := strings.TrimSuffix(names[0], ":")
		for n := 1; n < len(names); n++ {
			if err := c.set(group+" "+names[n], values[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines reads a name and a value a line (snmp6_seq_show, net/ipv6/proc.c).
func (c Counters) lines(text string) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return fmt.Errorf("no name and value: %q", line)
		}
		if err := c.set(fields[0], fields[1]); err != nil {
			return err
		}
	}
	return nil
}

// devices reads a line for each interface below two of headings (dev_seq_show,
// net/core/net-procfs.c).
func (c Counters) devices(text string) error {
	columns := map[int]string{0: "rx_bytes", 1: "rx_packets", 2: "rx_errors", 3: "rx_dropped", 8: "tx_bytes", 9: "tx_packets", 10: "tx_errors", 11: "tx_dropped"}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[min(2, len(lines)):] {
		name, rest, found := strings.Cut(line, ":")
		values := strings.Fields(rest)
		if !found || len(values) < 12 {
			return fmt.Errorf("no interface: %q", line)
		}
		for column, what := range columns {
			if err := c.set(strings.TrimSpace(name)+" "+what, values[column]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Counters) set(name, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q is no number", name, value)
	}
	c[name] = n
	return nil
}
