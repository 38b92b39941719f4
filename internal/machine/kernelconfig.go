package machine

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"strings"
)

// configLimit bounds the uncompressed size of a configuration in bytes; a real
// one has some 300 kB.
const configLimit = 16 << 20

// A kernelConfig holds the options of a kernel configuration that are set, by
// name without CONFIG_, with their value ("y", "m", a number, a quoted string).
type kernelConfig map[string]string

func (c kernelConfig) builtin(option string) bool { return c[option] == "y" }

// findConfig returns the running kernel's configuration, or nil where there is
// none to be found. /proc/config.gz is the running kernel's own word; the files
// are found by its release, which a kernel built again under the same name shares,
// so they come after it, and the build directory, which may have moved on, last.
func findConfig(t tree, release string) kernelConfig {
	if c := readConfig(t, "proc/config.gz"); len(c) > 0 {
		return c
	}
	if release == "" || strings.ContainsRune(release, '/') {
		return nil
	}
	for _, name := range []string{
		"boot/config-" + release,
		"lib/modules/" + release + "/config",
		"usr/lib/modules/" + release + "/config",
		"lib/modules/" + release + "/build/.config",
	} {
		if c := readConfig(t, name); len(c) > 0 {
			return c
		}
	}
	return nil
}

// readConfig returns nil where the file cannot be read to its end: half a
// configuration would pass for a kernel without debug options.
func readConfig(t tree, name string) kernelConfig {
	f, err := os.Open(t.path(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil
		}
	}
	c, err := parseConfig(io.LimitReader(r, configLimit))
	if err != nil {
		return nil
	}
	return c
}

func parseConfig(r io.Reader) (kernelConfig, error) {
	c := kernelConfig{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, found := strings.CutPrefix(lines.Text(), "CONFIG_")
		if !found {
			continue // "# CONFIG_X is not set" is no different from not being there
		}
		if name, value, found := strings.Cut(name, "="); found && value != "n" {
			c[name] = strings.TrimSpace(value)
		}
	}
	return c, lines.Err()
}
