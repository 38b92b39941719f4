package results

import (
	"regexp"
	"strings"
	"testing"
)

// LAVA's dispatcher takes a signal apart at its spaces and every part at its only "=",
// and refuses results but four, measurements that are no numbers, and a test case that
// was there before.
func TestLAVAIsRead(t *testing.T) {
	signal := regexp.MustCompile(`^<LAVA_SIGNAL_TESTCASE ([^<>]+)>$`)
	number := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	for name, runs := range formatCases(t) {
		seen := map[string]bool{}
		for line := range strings.Lines(formatted(t, "lava", runs, FormatOptions{})) {
			m := signal.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Errorf("%s: %q", name, line)
				continue
			}
			values := map[string]string{}
			for _, part := range strings.Fields(m[1]) {
				pair := strings.Split(part, "=")
				if len(pair) != 2 || pair[1] == "" {
					t.Errorf("%s: %q in %q", name, part, line)
					continue
				}
				values[pair[0]] = pair[1]
			}
			if seen[values["TEST_CASE_ID"]] || strings.Contains(values["TEST_CASE_ID"], "/") {
				t.Errorf("%s: %q", name, values["TEST_CASE_ID"])
			}
			seen[values["TEST_CASE_ID"]] = true
			if !regexp.MustCompile(`^(pass|fail|skip)$`).MatchString(values["RESULT"]) {
				t.Errorf("%s: %q", name, line)
			}
			if x, ok := values["MEASUREMENT"]; ok && (!number.MatchString(x) || values["UNITS"] == "") {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

func TestLAVAVerdicts(t *testing.T) {
	out := formatted(t, "lava", formatCases(t)["broken"], FormatOptions{})
	for _, want := range []string{"=delete-iface.addrs RESULT=pass>", "=delete-iface.routes RESULT=fail>", "=delete-iface.empty RESULT=skip>"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
}
