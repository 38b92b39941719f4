package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fibchurn/results"
)

func TestWarnings(t *testing.T) {
	// A machine without any reason to doubt.
	good := results.Environment{Virtualisation: "none", ClockSource: "tsc", Governor: "performance", Debug: []string{}}
	tests := []struct {
		name   string
		change func(*results.Environment)
		want   []string // kinds
	}{
		{"good", func(*results.Environment) {}, nil},
		{"no frequency scaling", func(e *results.Environment) { e.Governor = "" }, nil},
		{"KVM is no reason", func(e *results.Environment) { e.Virtualisation = "kvm" }, nil},
		{"TCG", func(e *results.Environment) { e.Virtualisation = "tcg" }, []string{"emulation"}},
		{"unknown hypervisor", func(e *results.Environment) { e.Virtualisation = "unknown" }, []string{"emulation"}},
		{"User-Mode Linux", func(e *results.Environment) { e.Virtualisation = "uml" }, []string{"uml"}},
		{"debug kernel", func(e *results.Environment) { e.Debug = []string{"KASAN", "DEBUG_LIST"} }, []string{"debug-kernel"}},
		{"slab debugging", func(e *results.Environment) { e.Debug = []string{"slub_debug"} }, []string{"debug-kernel"}},
		{"option of a later version", func(e *results.Environment) { e.Debug = []string{"NEWSAN"} }, []string{"debug-kernel"}},
		{"distribution kernel", func(e *results.Environment) { e.Debug = []string{"UBSAN", "DEBUG_LIST"} }, nil},
		{"debug options unknown", func(e *results.Environment) { e.Debug = nil }, []string{"debug-unknown"}},
		{"governor", func(e *results.Environment) { e.Governor = "schedutil" }, []string{"governor"}},
		{"slow clock", func(e *results.Environment) { e.ClockSource = "hpet" }, []string{"clock"}},
		{"coarse clock", func(e *results.Environment) { e.ClockSource = "jiffies" }, []string{"clock"}},
		{"all at once", func(e *results.Environment) {
			*e = results.Environment{Virtualisation: "tcg", ClockSource: "acpi_pm", Governor: "powersave", Debug: []string{"LOCKDEP"}}
		}, []string{"emulation", "debug-kernel", "governor", "clock"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := good
			test.change(&env)
			got := Warnings(env)
			if diff := cmp.Diff(test.want, kinds(got)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			checkSentences(t, got)
		})
	}
}

func TestDebugWarningNamesHeavyOptionsOnly(t *testing.T) {
	got := Warnings(results.Environment{Debug: []string{"KASAN", "PROVE_RCU", "DEBUG_LIST"}})
	if len(got) != 1 || !strings.Contains(got[0].Text, "(KASAN, PROVE_RCU)") {
		t.Errorf("got %v", got)
	}
}

func kinds(warnings []results.Warning) []string {
	var found []string
	for _, w := range warnings {
		found = append(found, w.Kind)
	}
	return found
}

func checkSentences(t *testing.T, warnings []results.Warning) {
	t.Helper()
	for _, w := range warnings {
		if !strings.HasSuffix(w.Text, ".") || strings.Contains(w.Text, "\n") || strings.Contains(w.Text, "%!") {
			t.Errorf("%s: not one line of sentences: %q", w.Kind, w.Text)
		}
	}
}
