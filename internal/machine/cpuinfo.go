package machine

import (
	"bytes"
	"strings"
)

// cpuInfo is what /proc/cpuinfo says about the first processor, and how many
// processors it lists. The keys differ by architecture (show_cpuinfo in each
// arch/*/kernel).
type cpuInfo struct {
	processors  int
	vendor      string // "vendor_id": x86, s390; "User Mode Linux" under UML
	model       string // "model name" or what the architecture has in its place
	implementer string // "CPU implementer", arm64: MIDR_EL1 bits 31-24
	part        string // "CPU part", arm64: MIDR_EL1 bits 15-4
	flags       bool   // there is an x86 flags line at all
	hypervisor  bool   // x86 flag: CPUID leaf 1, ECX bit 31
}

// parseCPUInfo reads the text of /proc/cpuinfo. It accepts anything: what it
// does not know it leaves empty.
func parseCPUInfo(data []byte) cpuInfo {
	var info cpuInfo
	for line := range bytes.Lines(data) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		info.set(string(bytes.TrimSpace(key)), string(bytes.TrimSpace(value)))
	}
	if info.model == "" && info.implementer != "" {
		info.model = strings.TrimSpace("ARM implementer " + info.implementer + " part " + info.part)
	}
	return info
}

func (c *cpuInfo) set(key, value string) {
	switch key {
	case "processor":
		c.processors++
	case "vendor_id":
		setOnce(&c.vendor, value)
	case "model name", "cpu model", "cpu", "uarch", "Model Name":
		setOnce(&c.model, value)
	case "CPU implementer":
		setOnce(&c.implementer, value)
	case "CPU part":
		setOnce(&c.part, value)
	case "flags":
		c.flags = true
		if !c.hypervisor {
			c.hypervisor = hasWord(value, "hypervisor")
		}
	}
}

func setOnce(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// hasWord reports whether word is one of the words of text.
func hasWord(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if w == word {
			return true
		}
	}
	return false
}
