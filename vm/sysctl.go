package vm

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// A Sysctl is a kernel parameter, set before the command starts, in the initial
// network namespace. New namespaces start from the kernel's own defaults for most of
// net.*, whatever the initial one has.
type Sysctl struct {
	Name  string `json:"name"`  // "net.ipv4.fib_sync_mem", or with slashes
	Value string `json:"value"` // as written to /proc/sys
}

// ParseSysctl parses "name=value".
func ParseSysctl(text string) (Sysctl, error) {
	name, value, found := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found || strings.Trim(name, "./") == "" || value == "" || strings.Contains(name, "..") || strings.ContainsAny(name, " \t:") || strings.ContainsFunc(text, unicode.IsControl) {
		return Sysctl{}, fmt.Errorf("%q is no sysctl (such as net.ipv4.fib_sync_mem=65536)", text)
	}
	return Sysctl{name, value}, nil
}

func (s Sysctl) set() error {
	path := s.Name
	if !strings.Contains(path, "/") {
		path = strings.ReplaceAll(path, ".", "/")
	}
	if err := os.WriteFile("/proc/sys/"+path, []byte(s.Value), 0); err != nil {
		return fmt.Errorf("set sysctl %s to %s: %s", s.Name, s.Value, reason(err))
	}
	return nil
}
